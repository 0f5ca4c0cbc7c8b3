package plan

import (
	"slices"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Between compares two outputs of a package, with what both remember of specs that are applied
// as they stand.
func Between(function *fn.Function, old, wanted []*krm.Object) []*change.Change {
	whole := func(output []*krm.Object) []*krm.Object { return slices.Concat(output, function.Remembered(output)) }
	return change.Between(whole(old), whole(wanted))
}

// AddFiles warns of the files of the output folder that a render would write although no
// object in them changes: a kustomization that was lost leaves all objects as they are,
// and nothing of them is applied. hasOutput says that the folder has output of ours.
func (p *Plan) AddFiles(files []folder.FileChange, hasOutput bool) {
	for _, c := range files {
		lost := c.IsKustomization() && c.Action == folder.Add && hasOutput
		if len(p.Changes) > 0 && !lost {
			continue // it follows from them
		}
		message := map[folder.Action]string{
			folder.Add:    "is not there",
			folder.Change: "is not what render writes",
			folder.Remove: "is there still",
		}[c.Action]
		if c.IsKustomization() {
			message += ": kustomize, Argo CD and Flux apply what it lists"
		}
		p.Findings = append(p.Findings, finding.Finding{
			Severity: finding.Warning, Rule: "output-file", Pos: document.Position{File: c.Name}, Message: message + "; run poolwright render",
		})
		p.Files++
	}
}
