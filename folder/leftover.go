package folder

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A killed run can leave two kinds of folders beside its target: the new
// content, ".<base>.poolwright-<pid>-<n>", which is worth nothing, and, where two
// renames make the swap, the old content, which is then the only lock there is.
const oldSuffix = "-old"

func tempPrefix(base string) string { return "." + base + ".poolwright-" }

// leftover is such a folder.
type leftover struct {
	name string
	pid  int
	old  bool // it holds the old content
}

// findLeftovers lists them by name. What has not exactly their name is not ours.
func findLeftovers(parent, base string) []leftover {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil // whoever needs the folder says so
	}
	var found []leftover
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), tempPrefix(base))
		if !ok || !e.IsDir() {
			continue
		}
		numbers, old := strings.CutSuffix(rest, oldSuffix)
		first, second, _ := strings.Cut(numbers, "-")
		pid, okPID := number(first)
		if _, okN := number(second); okPID && okN {
			found = append(found, leftover{name: e.Name(), pid: pid, old: old})
		}
	}
	return found
}

// number reads digits without a sign or leading zeros.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == s
}

// leftovers refuses to go on without a lock where a killed run moved it away.
// The folder is called by name in the message.
func (r *reader) leftovers(dir, name string) {
	if dir == "" || exists(dir) {
		return
	}
	real, err := realPath(dir)
	if err != nil {
		return
	}
	for _, l := range findLeftovers(filepath.Dir(real), filepath.Base(real)) {
		if !l.old {
			continue
		}
		old := filepath.Join(filepath.Dir(name), l.name)
		r.fail(at(name), "the folder is missing, but an interrupted render left its content in %s: move it back with \"mv %s %s\", or delete it to choose nodes and disks again",
			old, old, name)
	}
}

// removeStale removes the new content that killed runs left behind. A folder
// whose process may still be there stays, and so does old content.
func removeStale(parent, base string) {
	for _, l := range findLeftovers(parent, base) {
		if l.old || !isGone(l.pid) {
			continue
		}
		// The process may run where its number means nothing to this system, and
		// be about to put its folder into place: take the name away first, so
		// that it fails instead of showing a half removed folder.
		mine, err := makeTemp(parent, base)
		if err != nil {
			return
		}
		_ = os.Rename(filepath.Join(parent, l.name), filepath.Join(mine, l.name))
		_ = os.RemoveAll(mine)
	}
}

// RemoveLeftovers removes what killed runs left beside a folder that they were about to replace.
func RemoveLeftovers(target string) { removeStale(filepath.Dir(target), filepath.Base(target)) }
