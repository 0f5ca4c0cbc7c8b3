package folder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// InventoryFile is a file that a snapshot gives. Write may be called several
// times, and writes the same each time.
type InventoryFile struct {
	Name  string // nodes.yaml
	Write func(io.Writer) error
}

// NewInventoryPlan compares a folder with the files of a snapshot. Files that an
// earlier snapshot wrote there and this one does not are to be removed, and those
// of people stay. The error is a *UsageError for a folder that cannot be one, or
// names all files that are in the way.
func NewInventoryPlan(target string, files []InventoryFile) (*Plan, error) {
	return newInventoryPlan(target, onDisk(target), files)
}

// PlanInventory is NewInventoryPlan for the inventory of a package in memory.
func (m Memory) PlanInventory(files []InventoryFile) (*Plan, error) {
	return newInventoryPlan(inventory.Folder, m, files)
}

// inventoryFolder is a folder that a snapshot is to be written to.
type inventoryFolder interface {
	manifests() ([]string, error) // names of regular files
	occupied(name string) bool    // there is a file or folder
	open(name string) (io.ReadCloser, error)
}

func newInventoryPlan(target string, dir inventoryFolder, files []InventoryFile) (*Plan, error) {
	plan := &Plan{target: target}
	ours, err := snapshotFiles(target, dir)
	if err != nil {
		return nil, err
	}
	var inTheWay []string
	for _, f := range files {
		path := filepath.Join(target, f.Name)
		switch {
		case !ours[f.Name] && dir.occupied(f.Name):
			inTheWay = append(inTheWay, path)
		case !ours[f.Name]:
			plan.add(Add, f.Name, f.Write)
		default:
			same, err := isSame(dir, f.Name, f.Write)
			if err != nil {
				return nil, fmt.Errorf("%s cannot be read: %w", path, cause(err))
			}
			if same {
				plan.Unchanged++
			} else {
				plan.add(Change, f.Name, f.Write)
			}
		}
		delete(ours, f.Name)
	}
	for name := range ours {
		plan.add(Remove, name, nil)
	}
	plan.sort()
	if len(inTheWay) > 0 {
		return nil, fmt.Errorf("in the way, since poolwright inventory did not write it (label %s: %s): %s; delete it if the snapshot is to take its place, or move it out of the folder",
			krm.LabelManagedBy, krm.ManagedBy, strings.Join(inTheWay, ", "))
	}
	return plan, nil
}

// snapshotFiles are the files of a folder that a snapshot wrote.
func snapshotFiles(target string, dir inventoryFolder) (map[string]bool, error) {
	names, err := dir.manifests()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be read: %w", target, cause(err))
	}
	files := map[string]bool{}
	for _, name := range names {
		ours, err := isSnapshot(dir, name)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", filepath.Join(target, name), cause(err))
		}
		if ours {
			files[name] = true
		}
	}
	return files, nil
}

// NotedMissing is what the last snapshot in a folder noted of missing nodes, "" if there is none.
func NotedMissing(dir string) string { return notedMissing(onDisk(dir)) }

// NotedMissing is the same for the inventory of a package in memory.
func (m Memory) NotedMissing() string { return notedMissing(m) }

func notedMissing(dir inventoryFolder) string {
	for _, name := range []string{"nodes.yaml", "nodes.json"} {
		if ours, err := isSnapshot(dir, name); err != nil || !ours {
			continue
		}
		data, err := readAll(dir, name)
		if err != nil {
			continue
		}
		if head, _, found := bytes.Cut(data, []byte("\nitems:")); found {
			data = head
		}
		if objects, err := krm.Parse(&document.Source{Data: data}); err == nil && len(objects) == 1 {
			return objects[0].Annotation(krm.AnnotationMissing)
		}
	}
	return ""
}

func readAll(dir inventoryFolder, name string) ([]byte, error) {
	f, err := dir.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// onDisk is a folder on the disk.
type onDisk string

func (d onDisk) manifests() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && isManifest(e.Name()) && !hidden(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d onDisk) occupied(name string) bool { return exists(filepath.Join(string(d), name)) }
func (d onDisk) open(name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), name))
}

func (m Memory) manifests() ([]string, error) {
	var names []string
	for name := range m {
		if base, found := strings.CutPrefix(name, inventory.Folder+"/"); found && !strings.Contains(base, "/") && isManifest(base) && !hidden(base) {
			names = append(names, base)
		}
	}
	return names, nil
}

func (m Memory) occupied(name string) bool {
	name = inventory.Folder + "/" + name
	return m[name] != nil || slices.ContainsFunc(m.names(), func(other string) bool { return strings.HasPrefix(other, name+"/") })
}

func (m Memory) open(name string) (io.ReadCloser, error) {
	src := m[inventory.Folder+"/"+name]
	if src == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(src.Data)), nil
}

// headSize is how much of a file shows what it is.
const headSize = 4 << 10

// isSnapshot looks at the head of a file only, as long as that shows: an inventory
// may be large, and one that a merge left with conflicts in it is still one.
func isSnapshot(dir inventoryFolder, name string) (bool, error) {
	f, err := dir.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, headSize)
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if i := bytes.Index(head, []byte("\nitems:")); i >= 0 {
		return isMarked(head[:i+1]), nil
	}
	i := bytes.Index(head, []byte(`"items"`))
	if i < 0 {
		return isMarked(head), nil
	}
	if head = bytes.Clone(head[:i]); isMarked(append(bytes.TrimRight(head, " \t\r\n,"), '}')) {
		return true, nil
	}
	// Where a tool sorted the keys, the metadata come last.
	if !bytes.Contains(head, []byte(`"poolwright.io/`)) {
		return false, nil
	}
	data, err := io.ReadAll(in)
	return err == nil && isMarked(data), err
}

// isMarked reports whether a text is an Inventory with the mark of a snapshot.
func isMarked(text []byte) bool {
	objects, err := krm.Parse(&document.Source{Data: text})
	return err == nil && len(objects) == 1 && objects[0].Group() == "poolwright.io" && objects[0].Kind == "Inventory" &&
		objects[0].Label(krm.LabelManagedBy) == krm.ManagedBy
}

// isSame compares a file with a content, without holding either.
func isSame(dir inventoryFolder, name string, write func(io.Writer) error) (bool, error) {
	f, err := dir.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	c := &comparison{file: bufio.NewReaderSize(f, 64<<10)}
	switch err := write(c); {
	case errors.Is(err, errDiffers):
		return false, nil
	case err != nil:
		return false, err
	}
	_, err = c.file.ReadByte()
	return errors.Is(err, io.EOF), nil
}

var errDiffers = errors.New("the content differs")

// comparison is written to as if it were the file, and stops at the first byte
// that is not there.
type comparison struct {
	file *bufio.Reader
	buf  []byte
}

func (c *comparison) Write(data []byte) (int, error) {
	c.buf = slices.Grow(c.buf[:0], len(data))[:len(data)]
	if _, err := io.ReadFull(c.file, c.buf); err != nil || !bytes.Equal(c.buf, data) {
		return 0, errDiffers
	}
	return len(data), nil
}
