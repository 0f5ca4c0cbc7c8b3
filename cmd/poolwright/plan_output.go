package main

import (
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// output warns of the files of the output folder that a render would write although no
// object in them changes: a kustomization that was lost leaves all objects as they are,
// and nothing of them is applied.
func (p *plan) output(l loaded, rendered []fn.Rendered) error {
	target, err := l.input.Target()
	if err != nil {
		return err
	}
	files, err := folder.NewPlan(target, rendered, l.Package)
	if err != nil {
		return err
	}
	for _, c := range files.Changes {
		lost := c.IsKustomization() && c.Action == folder.Add && len(ours(l.Lock)) > 0
		if len(p.changes) > 0 && !lost {
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
		p.findings = append(p.findings, finding.Finding{
			Severity: finding.Warning, Rule: "output-file", Pos: document.Position{File: c.Name}, Message: message + "; run poolwright render",
		})
		p.files++
	}
	return nil
}
