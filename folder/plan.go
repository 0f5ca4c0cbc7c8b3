package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
)

// Action is what is to become of a file of the output folder.
type Action string

// The actions.
const (
	Add    Action = "add"
	Change Action = "change"
	Remove Action = "remove"
)

// FileChange is one file that a render would touch.
type FileChange struct {
	Action Action
	Name   string                // as it is to be shown
	path   string                // relative to the output folder
	write  func(io.Writer) error // what it is to hold
}

// Path is the path of the file in the output folder, with slashes.
func (c FileChange) Path() string { return filepath.ToSlash(c.path) }

// Content is what the file is to hold, nil where it is removed.
func (c FileChange) Content() ([]byte, error) {
	if c.Action == Remove {
		return nil, nil
	}
	b := bytes.NewBuffer([]byte{})
	err := c.write(b)
	return b.Bytes(), err
}

func (c FileChange) String() string { return string(c.Action) + " " + c.Name }

// IsKustomization reports whether it is a file that lists others.
func (c FileChange) IsKustomization() bool { return filepath.Base(c.path) == kustomizationFile }

// Plan is what is to be done to an output folder. Making one touches nothing.
type Plan struct {
	Changes   []FileChange // sorted by name
	Unchanged int          // files of ours that stay as they are
	target    string
}

// NewPlan compares the output folder with what was rendered. The lock is what
// was read from there: files that hold none of our objects are a person's, and
// stay. An error names the file that is in the way, and nothing was touched.
func NewPlan(target string, rendered []fn.Rendered, p Package) (*Plan, error) {
	plan := &Plan{target: target}
	old := oldFiles{pkg: p, target: target, ours: map[string][]byte{}, foreign: map[string][][]byte{}}
	if p.memory != nil || sameDir(p.LockDir, target) {
		old.index(p.Lock)
	}
	want := join(rendered)
	lists := listFiles(rendered)
	for path, data := range want {
		for _, raw := range old.foreign[path] {
			data = append(append(data, separator...), raw...)
		}
		want[path] = data
	}
	if err := old.kustomizations(old.folders(lists)); err != nil {
		return nil, err
	}
	maps.Copy(want, lists)
	for _, path := range slices.Sorted(maps.Keys(want)) {
		have, ours := old.ours[path]
		switch {
		case !ours && p.has(filepath.Join(target, path)):
			return nil, fmt.Errorf("%s is in the way: it is not one of Poolwright's files, and would be overwritten; move it out of the folder",
				filepath.Join(target, path))
		case !ours:
			plan.add(Add, path, bytesOf(want[path]))
		case !bytes.Equal(unixLines(have), unixLines(want[path])):
			plan.add(Change, path, bytesOf(want[path]))
		default:
			plan.Unchanged++
		}
	}
	for path := range old.ours {
		if _, wanted := want[path]; wanted {
			continue
		}
		if rest := old.foreign[path]; len(rest) > 0 {
			plan.add(Change, path, bytesOf(bytes.Join(rest, []byte(separator))))
		} else {
			plan.add(Remove, path, nil)
		}
	}
	plan.sort()
	return plan, nil
}

// NewFilePlan is the plan that gives files of a folder other contents, by path with slashes; nil
// removes one.
func NewFilePlan(target string, files map[string][]byte) *Plan {
	plan := &Plan{target: target}
	for name, data := range files {
		if data == nil {
			plan.add(Remove, filepath.FromSlash(name), nil)
		} else {
			plan.add(Change, filepath.FromSlash(name), bytesOf(data))
		}
	}
	plan.sort()
	return plan
}

func (p *Plan) add(a Action, path string, write func(io.Writer) error) {
	p.Changes = append(p.Changes, FileChange{Action: a, Name: filepath.Join(p.target, path), path: path, write: write})
}

func (p *Plan) sort() {
	slices.SortFunc(p.Changes, func(a, b FileChange) int { return strings.Compare(a.Name, b.Name) })
}

// bytesOf is a content that is in memory.
func bytesOf(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// Count is the number of changes of one kind.
func (p *Plan) Count(a Action) int {
	n := 0
	for _, c := range p.Changes {
		if c.Action == a {
			n++
		}
	}
	return n
}

const separator = "---\n"

// unixLines is a text without the line ends of Windows, to which Git may have
// turned those that were written. They say the same. A text without any is not copied.
func unixLines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// join puts the documents of each file together.
func join(rendered []fn.Rendered) map[string][]byte {
	documents := map[string][][]byte{} // by file
	for _, r := range rendered {
		documents[r.Path] = append(documents[r.Path], r.Object.Raw)
	}
	files := make(map[string][]byte, len(documents))
	for path, texts := range documents {
		files[filepath.FromSlash(path)] = bytes.Join(texts, []byte(separator))
	}
	return files
}

// oldFiles are the files of an output folder that hold objects of ours, and the
// documents of other people in them.
type oldFiles struct {
	pkg     Package
	target  string
	ours    map[string][]byte
	foreign map[string][][]byte
}

func (f *oldFiles) index(lock []*krm.Object) {
	for _, o := range lock {
		path := filepath.FromSlash(o.Path)
		if o.RenderedFor() != "" {
			f.ours[path] = o.Source.Data
		} else {
			f.foreign[path] = append(f.foreign[path], o.Raw)
		}
	}
}

// folders are those that have, had or are to have a kustomization of ours: the output
// folder, and the levels in it.
func (f *oldFiles) folders(lists map[string][]byte) []string {
	folders := []string{"."}
	for path := range lists {
		folders = append(folders, filepath.Dir(path))
	}
	for path := range f.ours {
		if level := levelOf(filepath.ToSlash(path)); level != "" {
			folders = append(folders, filepath.FromSlash(level))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// kustomizations finds the files that list others, and makes sure that no other
// kustomization is in a folder that is to have one.
func (f *oldFiles) kustomizations(folders []string) error {
	for _, folder := range folders {
		for _, name := range kustomizationNames() {
			path := filepath.Join(folder, name)
			data, err := f.pkg.readFile(filepath.Join(f.target, path))
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return fmt.Errorf("%s cannot be read: %w", filepath.Join(f.target, path), cause(err))
			case name == kustomizationFile && bytes.HasPrefix(unixLines(data), []byte(madeBy)):
				f.ours[path] = data
			default:
				return fmt.Errorf("%s is not Poolwright's: it does not start with %q; move it out of the folder, or render into another with -O",
					filepath.Join(f.target, path), strings.TrimSpace(madeBy))
			}
		}
	}
	return nil
}
