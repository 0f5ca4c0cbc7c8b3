package main

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/cmd/internal/scaffold"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// initFacts is the inventory that a new package begins with.
type initFacts struct {
	from    string // the folder, "" for none
	objects []*krm.Object
	files   map[string][]byte // to be copied, by name
	there   []string          // names of files that are in the package
}

// readFacts reads the inventory that a package in dir begins with, if there is one: the
// folder that --inventory names, or else that of dir.
func readFacts(s program, dir, named string) (initFacts, error) {
	own := filepath.Join(dir, inventory.Folder)
	from := cmp.Or(named, own)
	_, err := os.Stat(own)
	same := samePath(from, own)
	switch {
	case err != nil && same && named == "":
		return initFacts{}, nil
	case err == nil && !same:
		return initFacts{}, usage("--inventory %s: %s is there already; leave --inventory out, or remove the folder", from, own)
	}
	p, fs, err := s.read(folder.Input{Dir: from})
	if err != nil {
		return initFacts{}, err
	}
	if i := slices.IndexFunc(fs, func(f finding.Finding) bool { return f.Severity == finding.Error }); i >= 0 {
		return initFacts{}, errors.New(fs[i].String())
	}
	for _, o := range p.Objects {
		o.Path = path.Join(inventory.Folder, o.Path)
	}
	facts := initFacts{from: from, objects: p.Objects}
	files, ours, err := folder.ReadSnapshot(from)
	switch {
	case err != nil:
		return initFacts{}, err
	case same:
		facts.there = slices.Sorted(maps.Keys(files))
	case ours:
		facts.files, facts.there = files, slices.Sorted(maps.Keys(files))
	}
	return facts, nil
}

func samePath(a, b string) bool {
	first, errFirst := filepath.Abs(a)
	second, errSecond := filepath.Abs(b)
	return errFirst == nil && errSecond == nil && first == second
}

// files are those of the package, by path.
func (f *initFlags) files(facts initFacts) (map[string][]byte, error) {
	files, err := scaffold.New(f.system, f.dir, f.Choices, facts.listed(), facts.objects)
	if err != nil {
		return nil, err
	}
	files[path.Join(fn.RenderedFolder, "kustomization.yaml")] = folder.EmptyKustomization()
	facts.copyTo(files)
	return files, nil
}

// listed names the files of the inventory for the kustomization.
func (facts *initFacts) listed() []string {
	var names []string
	for _, name := range facts.there {
		names = append(names, path.Join(inventory.Folder, name))
	}
	return names
}

// copyTo adds the files of an inventory that lies elsewhere to those of a package.
func (facts *initFacts) copyTo(files map[string][]byte) {
	for name, text := range facts.files {
		files[path.Join(inventory.Folder, name)] = text
	}
}

// try checks a spec, and with an inventory renders it, in memory.
func try(s program, name string, spec []byte, facts []*krm.Object) error {
	objects, err := krm.Parse(&document.Source{Name: name, Data: spec})
	if err != nil {
		return err
	}
	fs := s.function.Vet(fn.Package{Objects: objects})
	if !finding.Failed(fs) && len(facts) > 0 {
		fs = s.function.Render(fn.Package{Objects: append(objects, facts...)}).Findings
	}
	fs = slices.DeleteFunc(fs, func(f finding.Finding) bool { return f.Severity != finding.Error || f.Pos.File != name })
	if err := report(s.streams, fs); err != nil {
		terminal.Printf(s.err, "poolwright: %s was not made, because this spec could not be rendered: change the flags\n", filepath.Dir(name))
		return err
	}
	return nil
}

// next says how to go on.
func next(dir string, facts initFacts) string {
	target := filepath.Join(dir, inventory.Folder)
	output := " -O " + quote(target)
	if target == inventory.Folder {
		output = ""
	}
	explain := "poolwright explain" + argument(dir)
	look := ", poolwright doctor" + argument(dir) + ", then " + explain
	switch {
	case facts.from == "":
		return "poolwright inventory" + output + look
	case facts.there == nil:
		return "poolwright inventory --from " + quote(facts.from) + output + look
	}
	return strings.TrimPrefix(look, ", ")
}

// argument is a folder as the argument of a command, "" for the current one.
func argument(dir string) string {
	if filepath.Clean(dir) == "." {
		return ""
	}
	return " " + quote(dir)
}

// quote makes a word for a shell of a path.
func quote(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+,:@%", r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
