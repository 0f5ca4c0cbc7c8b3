package folder

import (
	"io"
	"os"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// ReadDumps reads every object in files, whatever they are called and packed with gzip or
// not, in the YAML and JSON files of folders, and for "-" in a stream. The error is a *UsageError.
func ReadDumps(paths []string, stdin io.Reader) ([]*krm.Object, []finding.Finding, error) {
	r := &reader{packed: true}
	for i, path := range paths {
		for _, other := range paths[:i] {
			if path == other || sameDir(path, other) {
				return nil, nil, usage("%s is named twice", path)
			}
		}
		switch info, err := os.Stat(path); {
		case path == Stdin:
			r.stream(stdin)
		case err != nil:
			return nil, nil, usage("%s: %v", path, cause(err))
		case info.IsDir():
			r.tree(path)
		default:
			r.file(path, path)
		}
	}
	return r.objects, finding.Sort(r.findings), nil
}
