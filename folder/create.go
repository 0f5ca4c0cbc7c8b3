package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
)

// initBase names the hidden folder in which a package is made.
const initBase = "init"

// CheckNew refuses a folder that cannot become a package: one that holds anything but
// what Git keeps and an inventory.
func CheckNew(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cannot be used: %w", dir, cause(err))
	}
	for _, e := range entries {
		left := strings.HasPrefix(e.Name(), tempPrefix(initBase)) // by a run that was killed
		if !left && !slices.Contains([]string{".git", ".gitattributes", ".gitignore", inventory.Folder}, e.Name()) {
			return fmt.Errorf("%s is not empty: name a new folder, or empty this one first", dir)
		}
	}
	return nil
}

// Create writes files, by path with slashes, into a folder that CheckNew accepts. They
// are made in a hidden folder first, so that after a failure nothing is there that was
// not there before.
func Create(ctx context.Context, dir string, files map[string][]byte) error {
	if err := CheckNew(dir); err != nil {
		return err
	}
	target, err := realPath(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, cause(err))
	}
	made, err := makeFolders(target)
	if err != nil {
		return fmt.Errorf("%s cannot be made: %w; nothing was changed", dir, cause(err))
	}
	if err := create(ctx, target, files); err != nil {
		for _, m := range slices.Backward(made) {
			_ = os.Remove(m) // not empty: somebody else uses it by now
		}
		return fmt.Errorf("%s cannot be made: %w; nothing was changed", dir, err)
	}
	return nil
}

// makeFolders makes a folder and those above it, and returns the new ones. After an
// error there are none.
func makeFolders(path string) (made []string, err error) {
	var missing []string
	for p := path; !exists(p); p = filepath.Dir(p) {
		missing = append(missing, p)
	}
	for _, p := range slices.Backward(missing) {
		if err := os.Mkdir(p, 0o777); err != nil {
			for _, m := range slices.Backward(made) {
				_ = os.Remove(m)
			}
			return nil, err
		}
		made = append(made, p)
	}
	return made, nil
}

// create makes the files in a hidden folder inside of the target, which may be where
// the shell stands and cannot be exchanged, and moves them up.
func create(ctx context.Context, target string, files map[string][]byte) error {
	removeStale(target, initBase)
	next, err := makeTemp(target, initBase)
	if err != nil {
		return cause(err)
	}
	defer os.RemoveAll(next)
	root, err := os.OpenRoot(next)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o777); err != nil {
			return fmt.Errorf("%s: %w", name, cause(err))
		}
		if err := root.WriteFile(filepath.FromSlash(name), files[name], 0o666); err != nil {
			return fmt.Errorf("%s: %w", name, cause(err))
		}
	}
	return moveUp(next, target)
}

// moveUp moves what is in one folder into another, all or nothing.
func moveUp(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return cause(err)
	}
	for i, e := range entries {
		place := filepath.Join(to, e.Name())
		if exists(place) { // since it was looked at
			err = fs.ErrExist
		} else {
			err = os.Rename(filepath.Join(from, e.Name()), place)
		}
		if err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.Rename(filepath.Join(to, moved.Name()), filepath.Join(from, moved.Name())))
			}
			return fmt.Errorf("%s: %w", e.Name(), cause(err))
		}
	}
	return nil
}

// ReadSnapshot returns the files of an inventory folder, by name, and whether
// poolwright inventory has written all of them. Other folders are left alone.
func ReadSnapshot(dir string) (map[string][]byte, bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false, fmt.Errorf("%s cannot be read: %w", dir, cause(err))
	}
	files, all := map[string][]byte{}, true
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || !isManifest(path) {
			continue
		}
		ours, err := isSnapshot(onDisk(dir), e.Name())
		if err == nil {
			files[e.Name()], err = os.ReadFile(path)
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s cannot be read: %w", path, cause(err))
		}
		all = all && ours
	}
	return files, all && len(files) > 0, nil
}

// EmptyKustomization is the list of an output folder in which nothing is yet: with it
// the folder can be listed before the first render.
func EmptyKustomization() []byte {
	return append(kustomizationHead(fn.RenderedFolder), "resources: []\n"...)
}
