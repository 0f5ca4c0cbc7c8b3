package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// loaded is a package as it was read, and what there is to say about it.
type loaded struct {
	folder.Package
	input    folder.Input
	findings []finding.Finding
}

// pkg is what was read, for fn.
func (l loaded) pkg() fn.Package {
	return fn.Package{Objects: l.Objects, Output: l.Lock}
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

// render renders what was read. If a part could not be read, the rest is only
// checked: choosing from half an inventory would be choosing wrongly.
func (l loaded) render(s program) fn.Result {
	defer terminal.Progress(s.err, "rendering")()
	if finding.Failed(l.findings) {
		return fn.Result{Findings: finding.Sort(append(l.findings, s.function.Vet(l.pkg())...))}
	}
	result := s.function.Render(l.pkg())
	l.addPlace(result.Findings)
	result.Findings = finding.Sort(append(result.Findings, l.findings...))
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
			fs[i].Message += " -o " + quote(filepath.Join(l.input.Dir, inventory.Folder))
		}
	}
}

// withoutSpec adds a finding where a package has no spec, and that is not for an error:
// a pipeline that renders the wrong folder would be green for ever. Where output is left of a
// spec that is gone, it is the right one.
func (l loaded) withoutSpec(function *fn.Function, fs []finding.Finding, severity finding.Severity) []finding.Finding {
	if finding.Failed(fs) || function.HasSpec(l.Objects) || len(ours(l.Lock)) > 0 {
		return fs
	}
	var kinds []string
	for _, k := range function.Kinds().In(system.RoleSpec) {
		kinds = append(kinds, k.Kind)
	}
	return append(fs, finding.Finding{
		Severity: severity, Rule: "no-spec", Pos: document.Position{File: l.input.Dir},
		Message: "there is no spec in it (" + strings.Join(kinds, ", ") + "), so there is nothing to render; is it the right one?",
	})
}

// dirArg is the argument DIR of a verb.
func dirArg(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}
