package folder

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Input is what was read, for fn.
func (p Package) Input() fn.Package { return fn.Package{Objects: p.Objects, Output: p.Lock} }

// Render renders what was read, with the findings of reading it. If a part could not be read,
// the rest is only checked: choosing from half an inventory would be choosing wrongly.
func (p Package) Render(function *fn.Function, findings []finding.Finding) fn.Result {
	if finding.Failed(findings) {
		return fn.Result{Findings: finding.Sort(append(findings, function.Vet(p.Input())...))}
	}
	result := function.Render(p.Input())
	result.Findings = finding.Sort(append(result.Findings, findings...))
	return result
}

// WithoutSpec adds a finding where the package has no spec, and that is not for an error:
// a pipeline that renders the wrong folder would be green for ever. Where output is left of a
// spec that is gone, it is the right one. dir is how a person calls the folder.
func (p Package) WithoutSpec(function *fn.Function, dir string, fs []finding.Finding, severity finding.Severity) []finding.Finding {
	if finding.Failed(fs) || function.HasSpec(p.Objects) || len(p.Ours()) > 0 {
		return fs
	}
	var kinds []string
	for _, k := range function.Kinds().In(system.RoleSpec) {
		kinds = append(kinds, k.Kind)
	}
	return append(fs, finding.Finding{
		Severity: severity, Rule: "no-spec", Pos: document.Position{File: dir},
		Message: "there is no spec in it (" + strings.Join(kinds, ", ") + "), so there is nothing to render; is it the right one?",
	})
}

// Ours is the lock without what lies in the output folder and is not Poolwright's.
func (p Package) Ours() []*krm.Object { return Ours(p.Lock) }

// Ours leaves out of an output folder what is not Poolwright's.
func Ours(objects []*krm.Object) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool { return o.RenderedFor() == "" })
}
