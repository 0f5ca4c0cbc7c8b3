package diskpool

import (
	"fmt"
	"slices"
	"time"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Status implements system.Reporter: what is rendered, then the nodes, then the pools on
// them. A node that is down explains its pools.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	var r health.Report
	var before []*krm.Object
	for _, o := range spec.Before {
		if o.GroupKind() == poolGroupKind() {
			before = append(before, o)
		}
	}
	live := func(o *krm.Object) *krm.Object { return facts.Object(o.ID()) }
	rendered := r.Step("object")
	switch {
	case finding.Failed(out.Findings):
		rendered.Add(health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(out.Findings)})
	case len(before) == 0 && !hasPools(facts, spec):
		p := health.Problem{Phase: health.Progressing, Reason: health.NotRendered, Message: "nothing is rendered for it yet; run poolwright render, commit and apply what it writes"}
		for _, f := range out.Findings {
			if f.Rule == "no-pools" {
				p.Message = f.Message
			}
		}
		rendered.Add(p)
	case len(before) > 0 && !slices.ContainsFunc(before, func(o *krm.Object) bool { return live(o) != nil }):
		rendered.Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotApplied,
			Message: fmt.Sprintf("rendered (%s), but not in the cluster yet; commit and apply it", finding.Count(len(before), "pool")),
		})
	}
	down := checkNodes(facts, r.Step("node"), before)
	step := r.Step("pool")
	var warned []string
	for _, o := range before {
		step.Count()
		p := problemOf(facts, live(o), down[o.Node.Str("spec", "node")])
		p.Subject, p.Node, p.Storage = o.Name, o.Node.Str("spec", "node"), o.Name
		if p.Phase != health.OK {
			step.Add(p)
		} else if p.Note != "" {
			warned = append(warned, o.Name+" ("+p.Note+")")
		}
		r.PartOf(o.Ref, p.Node, o.Name, "the pool is online")
	}
	leaving(facts, spec, before, step)
	well := fmt.Sprintf("%d of %s healthy", len(before), finding.Count(len(before), "pool"))
	if len(warned) > 0 { // a pool may be gone, and its status stays as it was
		well += "; warned last: " + finding.Names(warned)
	}
	return r.Status(spec.Object.Ref, well)
}

// hasPools reports whether a pool of the spec is in the cluster.
func hasPools(facts *inventory.Facts, spec *system.Spec) bool {
	return slices.ContainsFunc(facts.Objects(group, poolKind), func(o *krm.Object) bool { return o.Owner() == spec.Object.OwnerKey() })
}

// checkNodes reports the nodes that are missing or not ready.
func checkNodes(facts *inventory.Facts, step *health.Step, pools []*krm.Object) (down map[string]bool) {
	down = map[string]bool{}
	seen := map[string]bool{}
	for _, o := range pools {
		name := o.Node.Str("spec", "node")
		if seen[name] {
			continue
		}
		seen[name] = true
		step.Count()
		n := facts.Node(name)
		p := health.Problem{Phase: health.Error, Outage: true, Subject: name, Node: name}
		if n == nil {
			down[name] = true
			p.Reason, p.What = "NodeMissing", "missing from the cluster"
			step.Add(p)
			continue
		}
		for _, c := range n.Object.Node.Seq("status", "conditions") {
			if c.Str("type") == "Ready" && c.Str("status") != "True" {
				down[name] = true
				p.Reason, p.What, p.Note = "NodeNotReady", "not ready", c.Str("reason")
				p.Since, _ = time.Parse(time.RFC3339, c.Str("lastTransitionTime"))
				step.Add(p)
			}
		}
	}
	return down
}

// problemOf is what is amiss with a live pool.
func problemOf(facts *inventory.Facts, o *krm.Object, nodeDown bool) health.Problem {
	s := stateOf(o)
	s.addPurge(o)
	s.addWarnings(facts.Warnings(o))
	p := health.Problem{Phase: s.phase, Made: s.reason == degraded, Reason: s.reason, What: s.what, Note: s.note(), Outage: s.outage}
	if s.reason == "Terminating" { // it is rendered, so that it is not our doing
		p.Phase, p.What, p.Outage = health.Error, "being deleted, and not by Poolwright", true
	}
	if nodeDown && p.Phase == health.Progressing {
		p.Note = "its node is down"
	}
	return p
}

// leaving reports pools that exist and are no longer rendered.
func leaving(facts *inventory.Facts, spec *system.Spec, before []*krm.Object, step *health.Step) {
	for _, o := range facts.Objects(group, poolKind) {
		isRendered := slices.ContainsFunc(before, func(b *krm.Object) bool { return b.ID() == o.ID() })
		if o.Owner() != spec.Object.OwnerKey() || isRendered {
			continue
		}
		p := health.Problem{Phase: health.Progressing, Reason: "NotRendered", What: "there and no longer rendered", Subject: o.Name, Node: o.Node.Str("spec", "node")}
		if s := stateOf(o); s.reason == "Terminating" {
			s.addPurge(o)
			s.addWarnings(facts.Warnings(o))
			p.Reason, p.What, p.Note = "Terminating", "being deleted", s.note()
		}
		step.Count()
		step.Add(p)
	}
}
