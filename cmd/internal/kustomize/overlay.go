package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// overlay is the disk with files in memory over it, and with mirrors: folders
// that show the files of another one. Nothing of it is ever written to the disk.
type overlay struct {
	filesys.FileSystem                   // the disk
	files              map[string][]byte // by absolute path
	folders            map[string]string // folders in memory; of a mirror, what it shows
	facts              facts
	readings           *readings
}

func newOverlay(shortcut bool, r *readings) *overlay {
	return &overlay{
		FileSystem: filesys.MakeFsOnDisk(),
		files:      map[string][]byte{},
		folders:    map[string]string{},
		facts:      facts{enabled: shortcut, files: map[string][]byte{}},
		readings:   r,
	}
}

// stepPrefix starts the names of all folders in memory.
const stepPrefix = ".poolwright-step-"

// folder makes an empty folder beside dir. It must not be inside: kustomize
// takes a step into a subfolder and back for a cycle.
func (o *overlay) folder(dir string) string {
	path := filepath.Join(filepath.Dir(dir), fmt.Sprintf("%s%d", stepPrefix, len(o.folders)))
	o.folders[path] = ""
	return path
}

// mirror makes a folder beside dir that shows the files of dir.
func (o *overlay) mirror(dir string) string {
	path := o.folder(dir)
	o.folders[path] = dir
	return path
}

func (o *overlay) write(path string, data []byte) { o.files[path] = data }

func (o *overlay) writeKustomization(dir, name string, k *types.Kustomization) error {
	data, err := yaml.Marshal(k)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	o.write(filepath.Join(dir, name), data)
	return nil
}

// outermost finds the folder in memory in which a path lies. Folders in memory
// lie beside those that they show, so a path can go through several: the
// outermost comes first.
func (o *overlay) outermost(path string) (folder string, ok bool) {
	for i := 0; i < len(path); {
		start := strings.Index(path[i:], string(filepath.Separator)+stepPrefix)
		if start < 0 {
			return "", false
		}
		end := i + start + 1
		for end < len(path) && path[end] != filepath.Separator {
			end++
		}
		if _, ok := o.folders[path[:end]]; ok {
			return path[:end], true
		}
		i = end
	}
	return "", false
}

// place is what a path of the overlay leads to.
type place struct {
	real     string // the path after all mirrors
	data     []byte // of a file in memory
	inMemory bool   // a file in memory
	folder   bool   // a folder in memory
}

func (o *overlay) find(path string) place {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for {
		if data, ok := o.files[path]; ok {
			return place{real: path, data: data, inMemory: true}
		}
		if _, ok := o.folders[path]; ok {
			return place{real: path, folder: true}
		}
		shown, ok := o.through(path)
		if !ok {
			return place{real: path}
		}
		path = shown
	}
}

// behind is the path of the disk that a path stands for, whatever is in memory.
func (o *overlay) behind(path string) string {
	for {
		shown, ok := o.through(path)
		if !ok {
			return path
		}
		path = shown
	}
}

// through leads a path through one mirror.
func (o *overlay) through(path string) (shown string, ok bool) {
	folder, ok := o.outermost(path)
	if !ok || o.folders[folder] == "" {
		return "", false
	}
	return o.folders[folder] + path[len(folder):], true
}

// withoutSteps words an error as if there were no steps.
func (o *overlay) withoutSteps(err error) error {
	text := err.Error()
	for {
		head, quoted, found := strings.Cut(text, "accumulating components: accumulateDirectory: ")
		inner, unquoteErr := strconv.Unquote(quoted)
		rest, isStep := strings.CutPrefix(inner, "recursed accumulation of path '")
		path, rest, _ := strings.Cut(rest, "': ")
		if !found || unquoteErr != nil || !isStep || !o.find(path).folder {
			break
		}
		text = head + rest
	}
	// A path that goes through several mirrors shows the next one only when it
	// has been led through those before.
	for before := ""; before != text; {
		before = text
		for folder, shows := range o.folders {
			if shows != "" {
				text = strings.ReplaceAll(text, folder+string(filepath.Separator), shows+string(filepath.Separator))
			}
		}
	}
	return errors.New(text)
}

// CleanedAbs implements filesys.FileSystem. A mirror is a folder of its own
// here, not a link, so that its files are files inside of it.
func (o *overlay) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", "", err
	}
	if _, ok := o.folders[path]; ok {
		return filesys.ConfirmedDir(path), "", nil
	}
	if _, ok := o.files[path]; ok {
		return filesys.ConfirmedDir(filepath.Dir(path)), filepath.Base(path), nil
	}
	folder, ok := o.outermost(path)
	if !ok {
		return o.FileSystem.CleanedAbs(path)
	}
	shows := o.folders[folder]
	if shows == "" {
		return "", "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	dir, file, err := o.CleanedAbs(shows + path[len(folder):])
	if err == nil && dir.HasPrefix(filesys.ConfirmedDir(shows)) {
		dir = filesys.ConfirmedDir(folder + string(dir)[len(shows):])
	}
	return dir, file, err
}

// IsDir implements filesys.FileSystem.
func (o *overlay) IsDir(path string) bool {
	at := o.find(path)
	return at.folder || !at.inMemory && o.FileSystem.IsDir(at.real)
}

// Exists implements filesys.FileSystem.
func (o *overlay) Exists(path string) bool {
	at := o.find(path)
	return at.folder || at.inMemory || o.FileSystem.Exists(at.real)
}

// ReadFile implements filesys.FileSystem.
func (o *overlay) ReadFile(path string) ([]byte, error) {
	at := o.find(path)
	if at.inMemory {
		return at.data, nil
	}
	data, err := o.readings.read(at.real, o.FileSystem.ReadFile)
	if err != nil {
		return nil, err
	}
	return o.facts.read(at.real, data), nil
}

// Open implements filesys.FileSystem.
func (o *overlay) Open(path string) (filesys.File, error) {
	data, err := o.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &memoryFile{Reader: bytes.NewReader(data), name: filepath.Base(path)}, nil
}

// ReadDir implements filesys.FileSystem.
func (o *overlay) ReadDir(path string) ([]string, error) {
	return o.FileSystem.ReadDir(o.find(path).real)
}

// Glob implements filesys.FileSystem.
func (o *overlay) Glob(pattern string) ([]string, error) {
	real := o.find(pattern).real
	found, err := o.FileSystem.Glob(real)
	for i := range found {
		if rel, relErr := filepath.Rel(filepath.Dir(real), found[i]); relErr == nil {
			found[i] = filepath.Join(filepath.Dir(pattern), rel)
		}
	}
	return found, err
}

// memoryFile is a file that is only read.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Write([]byte) (int, error)  { return 0, os.ErrPermission }
func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return false }
func (f *memoryFile) Sys() any                   { return nil }
