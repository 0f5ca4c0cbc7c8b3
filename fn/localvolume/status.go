package localvolume

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Status implements system.Reporter: what the checks say, then what the node agent says.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	if spec.Object.Kind == templateKind {
		return templateStatus(facts, spec, out)
	}
	var r health.Report
	if finding.Failed(out.Findings) {
		r.Step("object").Add(health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(out.Findings)})
	}
	o := spec.Object
	live := facts.Object(o.ID())
	s := stateOf(facts, live)
	switch {
	case spec.Gone && s.reason == reasonTerminating:
		s.phase = health.Progressing
	case spec.Gone:
		s.phase, s.reason, s.what = health.Progressing, "TakenOut", "no longer in the package, and still in the cluster; render, commit, and have the engine delete it"
	case s.reason == reasonTerminating:
		s.what += ", and it is still in the package; take it out, or put back what was deleted under another name"
	}
	if live != nil {
		r.Unchanged(s.since)
	}
	if s.phase != health.OK {
		message := "is " + s.what
		if s.message != "" {
			message += ": " + s.message
		}
		if warnings := facts.Warnings(live); len(warnings) > 0 && s.phase == health.Error {
			message += "; warned last: " + warnings[0].String()
		}
		r.Step("object").Add(health.Problem{Phase: s.phase, Reason: s.reason, Message: message, Node: o.Node.Str("spec", "nodeName"), Since: s.since})
	}
	return r.Status(o.Ref, healthyMessage(facts, spec))
}

// healthyMessage says what there is.
func healthyMessage(facts *inventory.Facts, spec *system.Spec) string {
	if spec.Object.Kind == groupKind {
		g := readGroup(spec.Object)
		return fmt.Sprintf("the group %s is there on node %s", g.vg, g.node)
	}
	v := readVolume(spec.Object)
	if claim := boundTo(facts, v.name); claim != "" {
		return fmt.Sprintf("is there on node %s, bound to %s", v.node, claim)
	}
	return fmt.Sprintf("is there on node %s, and no claim has it", v.node)
}
