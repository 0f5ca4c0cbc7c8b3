package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/finding"
)

// unfinished is what of the last step the facts show not to be done. Of what they do not tell
// nothing is concluded.
type unfinished struct {
	wait string   // what is waited for, a clause that follows "until"; "" where all is done
	kind stepKind // of the step
	what string   // what it does, a clause
	// open says that nothing of it is applied yet, so that more of its kind may be added to it.
	open bool
}

// takes reports whether a step of a kind may be added to the last, or that is done.
func (u unfinished) takes(kind stepKind) bool { return u.wait == "" || u.open && u.kind == kind }

// findUnfinished looks at everything that was rendered of a CStorPoolCluster but the pools that
// are gone.
func findUnfinished(in *input, of *standing.Cluster, gone func(*standing.Pool) bool) unfinished {
	rendered, settings := in.rendered(of, gone), false
	if of.Current != nil {
		step := admission.NewStep(of.Current, rendered)
		if u := in.unapplied(step); u.wait != "" {
			return u
		}
		settings = step.Settings && in.lacksSettings(of.Current)
	}
	if u := in.unmade(rendered); u.wait != "" {
		return u
	}
	if settings {
		return unfinished{wait: "the live CStorPoolCluster has the settings that are rendered", kind: stepSettings, what: settingsChange, open: true}
	}
	return unfinished{}
}

// unmade says what the operators have not made yet of a CStorPoolCluster that is applied.
func (e *existing) unmade(c *pool.Cluster) unfinished {
	for _, i := range e.state.Leftover(c) {
		return unfinished{wait: goneSoon(i), kind: stepRemove, what: poolGoes(nodeName(e.facts, i.Hostname))}
	}
	for _, p := range c.Pools {
		if u := e.unbuilt(p); u.wait != "" {
			return u
		}
	}
	return unfinished{}
}

// rendered is a CStorPoolCluster with the pools as they stand by now, but for some.
func (in *input) rendered(of *standing.Cluster, without func(*standing.Pool) bool) *pool.Cluster {
	rendered := *of.Before
	rendered.AllowedTags = in.spec.Object.Annotation(pool.AnnotationAllowedTags)
	rendered.Pools = nil
	for _, p := range in.standing.PoolsOf(of) {
		if !without(p) {
			rendered.Pools = append(rendered.Pools, p.Pool)
		}
	}
	return &rendered
}

// noPool leaves none out.
func noPool(*standing.Pool) bool { return false }

// unapplied says what of what was rendered the live CStorPoolCluster does not have.
func (e *existing) unapplied(s admission.Step) unfinished {
	var what []string
	switch {
	case len(s.Moved) > 0:
		m := s.Moved[0]
		return underMove(m.From.Hostname, m.To)
	case len(s.Replaced) > 0 && !s.Replaced[0].Cache:
		for _, r := range s.Replaced {
			what = append(what, diskReplaces(r.In, r.Out, nodeName(e.facts, r.Host)))
		}
		r := s.Replaced[0]
		return unfinished{wait: fmt.Sprintf("the live CStorPoolCluster has %s in the place of %s in the pool on %s", r.In, r.Out, r.Host), kind: stepReplace, what: finding.Clauses(what), open: true}
	case len(s.Removed) > 0:
		for _, p := range s.Removed {
			what = append(what, poolGoes(nodeName(e.facts, p.Hostname)))
		}
		return unfinished{wait: "the pool on " + s.Removed[0].Hostname + " is gone from the live cluster", kind: stepRemove, what: finding.Clauses(what)}
	case len(s.Added) > 0:
		for _, p := range s.Added {
			what = append(what, poolComes(nodeName(e.facts, p.Hostname)))
		}
		return unfinished{wait: "the pool on " + s.Added[0].Hostname + " is in the live CStorPoolCluster", kind: stepAdd, what: finding.Clauses(what)}
	case len(s.Grown) > 0:
		for _, g := range s.Grown {
			what = append(what, poolGets(nodeName(e.facts, g.Old.Hostname), slices.Concat(g.Groups...)))
		}
		return unfinished{wait: "the live CStorPoolCluster has the new disks of the pool on " + s.Grown[0].Old.Hostname, kind: stepGrow, what: finding.Clauses(what)}
	}
	return unfinished{}
}

// underMove is what a pool waits for that is on its way from another host.
func underMove(from string, p *pool.Pool) unfinished {
	return unfinished{
		wait: fmt.Sprintf("the pool that moves from host %s to host %s is there", from, p.Hostname),
		kind: stepMove, what: fmt.Sprintf("the pool moves from host %s to host %s", from, p.Hostname),
	}
}

// unbuilt says what the operators have not made yet of a live pool. What waits for a disk that
// is not there never comes, and is for a replacement to mend.
func (e *existing) unbuilt(p *pool.Pool) unfinished {
	i, node := e.live.running(p), nodeName(e.facts, p.Hostname)
	switch {
	case i == nil && e.facts.Tells(cstorGroup, poolInstanceKind, e.namespace) && e.host(p.Hostname) != nil:
		if from := e.live.elsewhere(p); from != "" {
			return underMove(from, p)
		}
		return unfinished{wait: "the pool on " + p.Hostname + " has a CStorPoolInstance", kind: stepAdd, what: poolComes(node)}
	case i != nil && i.Object.Deleting():
		return unfinished{wait: "CStorPoolInstance " + i.Name + " on " + i.Hostname + ", which is being deleted, is recreated", kind: stepAdd, what: poolComes(node)}
	case i != nil && i.Rebuilds():
		return unfinished{wait: "the resilver of CStorPoolInstance " + i.Name + " on " + i.Hostname + " is over", kind: stepReplace, what: "the pool on node " + node + " copies its data to a disk"}
	}
	grows := i != nil && len(i.Pool.Data) > 0
	for _, group := range p.Data {
		if slices.ContainsFunc(group, e.unwell) {
			continue
		}
		for _, name := range group {
			shown := !grows || slices.Contains(i.Pool.Disks(), name)
			u := e.unbound(name, node)
			if u.wait == "" && !shown {
				u = unfinished{wait: "CStorPoolInstance " + i.Name + " on " + i.Hostname + " shows block device " + name}
			}
			switch {
			case u.wait == "":
				continue
			case !shown && u.kind != stepReplace:
				u.kind, u.what = stepGrow, poolGets(node, slices.DeleteFunc(p.Data.Disks(), func(d string) bool { return slices.Contains(i.Pool.Disks(), d) }))
			}
			return u
		}
	}
	return unfinished{}
}

// unbound says that the claim of a disk of a pool is not bound yet, or that the disk still takes
// the place of another.
func (e *existing) unbound(name, node string) unfinished {
	d := e.facts.Device(e.namespace, name)
	if d == nil {
		return unfinished{}
	}
	switch claim := e.facts.ClaimOf(d); {
	case claim == nil:
	case claim.Predecessor != "":
		return unfinished{
			wait: "block device " + name + " has taken the place of " + claim.Predecessor + ", and the resilver is over (openebs.io/bd-predecessor of BlockDeviceClaim " + claim.Name + ")",
			kind: stepReplace, what: diskReplaces(name, claim.Predecessor, node),
		}
	case claim.Phase != "" && claim.Phase != "Bound":
		return unfinished{wait: "BlockDeviceClaim " + claim.Name + " of block device " + name + " is bound", kind: stepAdd, what: poolComes(node)}
	}
	return unfinished{}
}

// unwell reports whether a disk is not there, or not Active.
func (e *existing) unwell(name string) bool {
	d := e.disk(name)
	return d.Missing() || d.Device != nil && d.Device.State != "Active"
}
