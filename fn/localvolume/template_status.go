package localvolume

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// templateStatus is one line of all objects of a template: the worst first.
func templateStatus(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	var r health.Report
	isOurs := func(o *krm.Object) bool { return o.Group() == group && o.Owner() == spec.Object.OwnerKey() }
	var before []*krm.Object
	for _, o := range spec.Before {
		if isOurs(o) {
			before = append(before, o)
		}
	}
	var extra []*krm.Object
	for _, kind := range []string{volumeKind, groupKind} {
		for _, o := range facts.Objects(group, kind) {
			if isOurs(o) && !slices.ContainsFunc(before, func(b *krm.Object) bool { return b.ID() == o.ID() }) {
				extra = append(extra, o)
			}
		}
	}
	rendered := r.Step("object")
	switch {
	case finding.Failed(out.Findings):
		rendered.Add(health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(out.Findings)})
	case len(before) == 0 && len(extra) == 0:
		rendered.Add(health.Problem{Phase: health.Progressing, Reason: health.NotRendered, Message: "nothing is rendered for it yet; run poolwright render, commit and apply what it writes"})
	}
	step := r.Step(noun(spec.Object))
	for _, o := range before {
		s := stateOf(facts, facts.Object(o.ID()))
		node := o.Node.Str("spec", "nodeName")
		step.Count()
		r.Unchanged(s.since)
		if s.phase != health.OK {
			step.Add(health.Problem{Phase: s.phase, Reason: s.reason, What: s.what, Note: s.message, Subject: o.Name, Node: node, Storage: o.Name, Since: s.since})
		}
		r.PartOf(o.Ref, node, o.Name, "it is there")
	}
	for _, o := range extra {
		p := health.Problem{Phase: health.Progressing, Reason: "NotRendered", What: "there and no longer rendered", Subject: o.Name, Node: o.Node.Str("spec", "nodeName")}
		if s := stateOf(facts, o); s.reason == reasonTerminating {
			p.Reason, p.What, p.Note = reasonTerminating, "being deleted", s.message
		}
		step.Count()
		step.Add(p)
	}
	return r.Status(spec.Object.Ref, fmt.Sprintf("%d of %s healthy", len(before), finding.Count(len(before), noun(spec.Object))))
}

// noun is what a template renders.
func noun(o *krm.Object) string {
	if o.Node.Str("spec", "template", "kind") == groupKind {
		return groupKind
	}
	return volumeKind
}
