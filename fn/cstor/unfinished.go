package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// findUnfinished says what of the last step the facts show not to be done, a clause that
// follows "until", or "". pending is the kind of step, replacements or settings, that waits for
// no more than to be applied; else stepKinds. Of what the facts do not tell nothing is
// concluded. Pools that are gone are not looked at.
func findUnfinished(in *input, of *poolCluster, gone func(*nodePool) bool) (wait string, pending stepKind) {
	rendered, settings := in.rendered(of, gone), false
	if of.current != nil {
		step := admission.NewStep(of.current, rendered)
		if why := unapplied(step); why != "" {
			if len(step.Replaced) > 0 && len(step.Added)+len(step.Removed)+len(step.Moved)+len(step.Grown) == 0 {
				return why, stepReplace
			}
			return why, stepKinds
		}
		settings = step.Settings
	}
	for _, i := range in.state.Leftover(rendered) {
		return goneSoon(i), stepKinds
	}
	for _, p := range rendered.Pools {
		if why := in.unbuilt(p); why != "" {
			return why, stepKinds
		}
	}
	if settings {
		return "the live CStorPoolCluster has the settings that are rendered", stepSettings
	}
	return "", stepKinds
}

// rendered is a CStorPoolCluster with the pools as the lock has them by now, but for some.
func (in *input) rendered(of *poolCluster, without func(*nodePool) bool) *pool.Cluster {
	rendered := *of.before
	rendered.AllowedTags = in.spec.Object.Annotation(pool.AnnotationAllowedTags)
	rendered.Pools = nil
	for _, p := range in.lock.poolsOf(of) {
		if !without(p) {
			rendered.Pools = append(rendered.Pools, p.Pool)
		}
	}
	return &rendered
}

// noPool leaves none out.
func noPool(*nodePool) bool { return false }

// unapplied says which pools of what was rendered the live CStorPoolCluster does not have as
// they are rendered, or "".
func unapplied(s admission.Step) string {
	switch {
	case len(s.Moved) > 0:
		return fmt.Sprintf("the pool that moves from host %s to host %s is there", s.Moved[0].From.Hostname, s.Moved[0].To.Hostname)
	case len(s.Removed) > 0:
		return "the pool on " + s.Removed[0].Hostname + " is gone from the live cluster"
	case len(s.Added) > 0:
		return "the pool on " + s.Added[0].Hostname + " is in the live CStorPoolCluster"
	case len(s.Grown) > 0:
		return "the live CStorPoolCluster has the new disks of the pool on " + s.Grown[0].Old.Hostname
	case len(s.Replaced) > 0 && !s.Replaced[0].Cache:
		return fmt.Sprintf("the live CStorPoolCluster has %s in the place of %s in the pool on %s", s.Replaced[0].In, s.Replaced[0].Out, s.Replaced[0].Host)
	}
	return ""
}

// unbuilt says what the operators have not made yet of a live pool, or "". What waits for a
// disk that is not there never comes, and is for a replacement to mend.
func (in *input) unbuilt(p *pool.Pool) string {
	i := in.live.running(p)
	switch {
	case i == nil && in.facts.Tells(cstorGroup, poolInstanceKind, in.namespace) && in.host(p.Hostname) != nil:
		if from := in.live.elsewhere(p); from != "" {
			return fmt.Sprintf("the pool that moves from host %s to host %s is there", from, p.Hostname)
		}
		return "the pool on " + p.Hostname + " has a CStorPoolInstance"
	case i != nil && i.Object.Deleting():
		return "CStorPoolInstance " + i.Name + " on " + i.Hostname + ", which is being deleted, is made anew"
	case i != nil && i.Rebuilds():
		return "the resilver of CStorPoolInstance " + i.Name + " on " + i.Hostname + " is over"
	}
	for _, group := range p.Data {
		if slices.ContainsFunc(group, in.unwell) {
			continue
		}
		for _, name := range group {
			if why := in.unbound(name); why != "" {
				return why
			}
			if i != nil && len(i.Pool.Data) > 0 && !slices.Contains(i.Pool.Disks(), name) {
				return "CStorPoolInstance " + i.Name + " on " + i.Hostname + " shows block device " + name
			}
		}
	}
	return ""
}

// unbound says that the claim of a disk is not bound yet, or that the disk still takes the
// place of another, or "".
func (in *input) unbound(name string) string {
	d := in.facts.Device(in.namespace, name)
	if d == nil {
		return ""
	}
	switch claim := in.facts.ClaimOf(d); {
	case claim == nil:
	case claim.Predecessor != "":
		return "block device " + name + " has taken the place of " + claim.Predecessor + ", and the resilver is over (openebs.io/bd-predecessor of BlockDeviceClaim " + claim.Name + ")"
	case claim.Phase != "" && claim.Phase != "Bound":
		return "BlockDeviceClaim " + claim.Name + " of block device " + name + " is bound"
	}
	return ""
}

// unwell reports whether a disk is not there, or not Active.
func (in *input) unwell(name string) bool {
	d := in.disk(name)
	return d.Missing() || d.Device != nil && d.Device.State != "Active"
}
