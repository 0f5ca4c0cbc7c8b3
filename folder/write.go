package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write carries the plan out. The new folder is made beside the old one, and
// then takes its place in one step, so that at any time and after any failure
// either the old content is there or the new one. Files that do not change keep
// their time stamp. Without changes nothing is touched at all.
func (p *Plan) Write(ctx context.Context) error {
	if len(p.Changes) == 0 {
		return nil
	}
	target, err := realPath(p.target)
	if err != nil {
		return fmt.Errorf("%s: %w", p.target, cause(err))
	}
	parent := filepath.Dir(target)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w; nothing was changed", filepath.Dir(p.target), cause(err))
	}
	removeStale(parent, filepath.Base(target))
	next, err := makeTemp(parent, filepath.Base(target))
	if err != nil {
		return fmt.Errorf("the folder %s cannot be written: %w; the output is made there, beside %s; nothing was changed",
			filepath.Dir(p.target), cause(err), filepath.Base(p.target))
	}
	defer os.RemoveAll(next)
	if err := p.fill(ctx, target, next); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", p.target, err)
	}
	if err := swap(target, next); err != nil {
		return fmt.Errorf("%s cannot be replaced: %w", p.target, err)
	}
	return nil
}

// fill makes the new folder: what stays is linked or copied, the rest written.
func (p *Plan) fill(ctx context.Context, target, next string) error {
	gone := map[string]bool{}
	for _, c := range p.Changes {
		gone[c.path] = true
	}
	if exists(target) {
		if err := carry(ctx, target, next, gone); err != nil {
			return err
		}
	}
	// A person may have put a link to another place into the output folder: the
	// root keeps every file inside.
	root, err := os.OpenRoot(next)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, c := range p.Changes {
		if ctx.Err() != nil {
			return errInterrupted
		}
		if c.Action == Remove {
			continue
		}
		if err := writeFile(root, c, target); err != nil {
			return fmt.Errorf("%s cannot be written: %w", c.path, cause(err))
		}
	}
	for _, c := range p.Changes {
		if c.Action == Remove {
			dropEmpty(root, filepath.Dir(c.path))
		}
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// makeTemp makes the folder for the new content. It is hidden, so that a
// package never holds what a killed run left behind.
func makeTemp(parent, base string) (string, error) {
	for i := 0; ; i++ {
		path := filepath.Join(parent, fmt.Sprintf("%s%d-%d", tempPrefix(base), os.Getpid(), i))
		if err := os.Mkdir(path, 0o777); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// dropEmpty removes a folder and those above it, as far as nothing is in them.
func dropEmpty(root *os.Root, dir string) {
	for ; dir != "."; dir = filepath.Dir(dir) {
		if root.Remove(dir) != nil {
			return
		}
	}
}

// carry brings everything but the given files over to the new folder.
func carry(ctx context.Context, from, to string, except map[string]bool) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			return errInterrupted
		}
		rel, _ := filepath.Rel(from, path)
		if err == nil && !except[rel] {
			err = carryOne(path, filepath.Join(to, rel), e)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be carried over: %w", rel, cause(err))
		}
		return nil
	})
}

func carryOne(from, to string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	switch {
	case e.IsDir():
		return makeDir(to, info)
	case e.Type()&fs.ModeSymlink != 0:
		dest, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(dest, to)
	}
	// A link keeps everything as it is; not every file system has them.
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to, info)
}

func copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// makeDir makes a folder with the permissions of the one that it stands for.
func makeDir(path string, like fs.FileInfo) error {
	if err := os.Mkdir(path, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(path, like.Mode().Perm())
}

// writeFile writes a file with the permissions of the one in target that it
// replaces.
func writeFile(root *os.Root, c FileChange, target string) error {
	if err := root.MkdirAll(filepath.Dir(c.path), 0o777); err != nil {
		return err
	}
	f, err := root.Create(c.path)
	if err != nil {
		return err
	}
	if err := errors.Join(c.write(f), f.Close()); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(target, c.path)); err == nil {
		return root.Chmod(c.path, info.Mode().Perm())
	}
	return nil
}
