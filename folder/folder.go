// Package folder is the file side of Poolwright: it reads the objects of a
// package folder and of the output folder, and writes the output so that a
// reader of the disk sees either the old files or the new ones, never a mixture.
package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Stdin is the name that stands for the standard input, and Stdout for the
// standard output.
const (
	Stdin  = "-"
	Stdout = "-"
)

// UsageError is a mistake in how a command was called: a folder that is not
// there, an output that cannot be one.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

func usage(format string, args ...any) error {
	return &UsageError{Msg: fmt.Sprintf(format, args...)}
}

// Package is what was read.
type Package struct {
	Objects []*krm.Object // everything outside the output folder
	Lock    []*krm.Object // what the output folder holds
	LockDir string        // that folder, "" where there is none

	memory Memory // where it was read from, nil for the disk
}

// readFile reads a file of the package.
func (p Package) readFile(name string) ([]byte, error) {
	if p.memory == nil {
		return os.ReadFile(name)
	}
	if src := p.memory[filepath.ToSlash(name)]; src != nil {
		return src.Data, nil
	}
	return nil, fs.ErrNotExist
}

// has reports whether there is a file or folder.
func (p Package) has(name string) bool {
	if p.memory == nil {
		return exists(name)
	}
	_, err := p.readFile(name)
	return err == nil
}

// Input names what is to be read.
type Input struct {
	Dir    string    // a folder, a file, or "-" for a stream of documents
	Output string    // as given by -o: "" for the default, "-" for the standard output, or a folder
	Stdin  io.Reader // what "-" stands for
	Memory Memory    // the folder itself if it is on no disk; Dir is "." then

	// Refuse says why the objects of a folder are no package; nil for nothing to say.
	Refuse func(objects []*krm.Object, dir string) []finding.Finding
}

// Read reads a package and its lock. The findings say what could not be read;
// all of them are collected in one run. The error is a *UsageError.
func Read(in Input) (Package, []finding.Finding, error) {
	if in.Memory != nil {
		return in.Memory.read(in)
	}
	rendered, err := in.renderedDir()
	if err != nil {
		return Package{}, nil, err
	}
	target := ""
	if in.Output != "" && in.Output != Stdout {
		target = in.Output
		if err := checkTarget(in.Dir, target); err != nil {
			return Package{}, nil, err
		}
	}
	r := &reader{}
	var p Package
	switch info, err := os.Stat(in.Dir); {
	case in.Dir == Stdin:
		r.stream(in.Stdin)
	case err == nil && info.IsDir():
		r.tree(in.Dir, rendered, target)
		if in.Refuse != nil {
			if refused := in.Refuse(r.objects, in.Dir); len(refused) > 0 {
				return Package{}, refused, nil
			}
		}
	default:
		r.file(in.Dir, filepath.Base(in.Dir))
	}
	p.Objects, r.objects = r.objects, nil
	r.findings = append(r.findings, unreadFindings(r.unread, ", or hide it in "+ignoreFile)...)

	// The output folder is the lock only if it holds something of ours: a new
	// -o starts from what was rendered so far.
	r.output = true
	if exists(target) {
		r.tree(target)
		if anyOwned(r.objects) || sameDir(target, rendered) {
			p.Lock, p.LockDir = r.objects, target
			return p, finding.Sort(r.findings), nil
		}
		r.objects = nil
	}
	if target != "" && !sameDir(target, rendered) {
		r.leftovers(target, target)
	}
	r.leftovers(rendered, rendered)
	if exists(rendered) {
		r.tree(rendered)
		p.Lock, p.LockDir = r.objects, rendered
	}
	return p, finding.Sort(r.findings), nil
}

// ReadRendered reads an output folder, which messages call by name. One that is
// not there is empty.
func ReadRendered(dir, name string) ([]*krm.Object, []finding.Finding) {
	r := &reader{output: true}
	r.leftovers(dir, name)
	if exists(dir) {
		r.treeAs(dir, name)
	}
	return r.objects, finding.Sort(r.findings)
}

// HoldsFiles reports whether a folder or one below it has a file that is not hidden:
// Git keeps no empty folders, so people put a hidden file there, and init the list of
// an empty output folder. What cannot be read may have one.
func HoldsFiles(dir string) bool {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case path == dir && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case path != dir && hidden(e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir():
			if data, err := os.ReadFile(path); err == nil && bytes.Equal(data, EmptyKustomization()) {
				return nil
			}
			return errHolds
		}
		return nil
	})
	return err != nil
}

var errHolds = errors.New("a file is there")

// Target is the folder that a render of the input writes to, "" for none.
func (in Input) Target() (string, error) {
	if in.Output != "" {
		if in.Output == Stdout {
			return "", nil
		}
		return in.Output, nil
	}
	if in.Dir == Stdin {
		return "", usage("the package comes from the standard input, so there is no folder to render into: name one with -O, or print with -o -")
	}
	return in.renderedDir()
}

// renderedDir is the default output folder, "" for a stream.
func (in Input) renderedDir() (string, error) {
	switch {
	case in.Dir == Stdin:
		return "", nil
	case in.Memory != nil:
		return fn.RenderedFolder, nil
	}
	info, err := os.Stat(in.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usage("%s: no such folder or file", in.Dir)
	case err != nil:
		return "", usage("%s: %v", in.Dir, cause(err))
	case !info.IsDir():
		return filepath.Join(filepath.Dir(in.Dir), fn.RenderedFolder), nil
	}
	return filepath.Join(in.Dir, fn.RenderedFolder), nil
}

// checkTarget refuses an output folder that is no folder, or that holds the
// package itself: writing replaces the whole folder.
func checkTarget(dir, target string) error {
	info, err := os.Stat(target)
	if err == nil && !info.IsDir() {
		return usage("-O %s: not a folder; name a folder, or - for the standard output", target)
	}
	if dir == Stdin {
		return nil
	}
	pkg, err := realPath(dir)
	if err != nil {
		return nil
	}
	out, err := realPath(target)
	if err != nil {
		return nil // writing says why
	}
	own := filepath.Join(dir, fn.RenderedFolder)
	if within(out, pkg) {
		return usage("-O %s: the output folder must not be the package or hold it; name a folder of its own, such as %s", target, own)
	}
	above := filepath.Dir(out)
	if within(filepath.Join(pkg, fn.RenderedFolder), above) || madeByRender(above) != "" {
		return usage("-O %s: lies in an output folder, which is written as a whole, and where everything is the lock; name a folder of its own, such as %s", target, own)
	}
	if rel, err := filepath.Rel(pkg, out); err == nil && within(pkg, out) && fn.InInventory(filepath.ToSlash(rel)+"/") {
		return usage("-O %s: lies in an inventory, where everything is a fact; name a folder of its own, such as %s", target, own)
	}
	return nil
}

func anyOwned(objects []*krm.Object) bool {
	for _, o := range objects {
		if o.RenderedFor() != "" {
			return true
		}
	}
	return false
}

// cause strips the operation and the path of an error of package os: both are
// in the message already.
func cause(err error) error {
	var pe *fs.PathError
	for errors.As(err, &pe) { // os.Root puts one into another
		err = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
