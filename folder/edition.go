package folder

import (
	"io/fs"
	"os"
)

// Edition distinguishes a folder from the one that is put into its place later, or that is
// the same and has other files then.
type Edition struct{ info fs.FileInfo }

// EditionOf is the folder as it is now, which may not be there.
func EditionOf(dir string) Edition {
	info, err := os.Stat(dir)
	if err != nil {
		return Edition{}
	}
	return Edition{info}
}

// Equal compares by identity and by time: the file system may give the identity of a
// folder that was removed to a new one.
func (e Edition) Equal(other Edition) bool {
	if e.info == nil || other.info == nil {
		return e.info == other.info
	}
	return os.SameFile(e.info, other.info) && e.info.ModTime().Equal(other.info.ModTime())
}

// rereads is how often a folder is read that is exchanged all the time.
const rereads = 5

// asOne reads a folder, and reads it again if it was exchanged meanwhile: what was
// read is then a mixture of two snapshots, and of two clusters in the worst case.
func (r *reader) asOne(dir, name string, read func()) {
	objects, findings, unread := len(r.objects), len(r.findings), len(r.unread)
	for range rereads {
		before := EditionOf(dir)
		read()
		if before.Equal(EditionOf(dir)) {
			return
		}
		r.objects, r.findings, r.unread = r.objects[:objects], r.findings[:findings], r.unread[:unread]
	}
	r.fail(at(name), "was exchanged each of the %d times that it was read, so that nothing is known for sure; wait until nobody writes it, and try again", rereads)
}
