package main

import (
	"os"
	"path/filepath"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// loaded is a package as it was read, and what there is to say about it.
type loaded struct {
	folder.Package
	input    folder.Input
	findings []finding.Finding
}

// load reads a package. The error is one of usage.
func load(s program, dir, output string) (loaded, error) {
	defer terminal.Progress(s.err, "reading "+dir)()
	in := folder.Input{Dir: dir, Output: output, Stdin: s.in, Memory: s.memory}
	p, fs, err := s.read(in)
	return loaded{Package: p, input: in, findings: fs}, err
}

// read reads a package or a snapshot. A folder with packages below it is neither.
func (p program) read(in folder.Input) (folder.Package, []finding.Finding, error) {
	in.Refuse, in.Memory = p.function.RefuseNested, p.memory
	return folder.Read(in)
}

// render renders what was read.
func (l loaded) render(s program) fn.Result {
	defer terminal.Progress(s.err, "rendering")()
	result := l.Render(s.function, l.findings)
	l.addPlace(result.Findings)
	return result
}

// addPlace ends what is said of a missing inventory with where it is to lie: fn knows
// no folders.
func (l loaded) addPlace(fs []finding.Finding) {
	if filepath.Clean(l.input.Dir) == "." {
		return
	}
	if info, err := os.Stat(l.input.Dir); err != nil || !info.IsDir() {
		return
	}
	for i := range fs {
		if fs[i].Rule == "no-inventory" {
			fs[i].Message += " -O " + quote(filepath.Join(l.input.Dir, inventory.Folder))
		}
	}
}

// dirArg is the argument DIR of a verb.
func dirArg(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}
