package cstor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// annotationReplace is, on a spec, the block devices that a person knows to have failed.
const annotationReplace = "poolwright.io/replace"

// replacement puts other disks in the place of those that failed. While any disk of the
// cluster is not Active the webhook refuses every edit that leaves it in, so that all of
// them are replaced in one step, or none.
type replacement struct {
	*input
	named map[string]bool // by the annotation; true once it has a meaning
}

func newReplacement(in *input) *replacement {
	r := &replacement{in, map[string]bool{}}
	for _, name := range in.spec.Object.AnnotationList(annotationReplace) {
		r.named[name] = false
	}
	return r
}

// failedDisks lists the disks of a live pool that are not Active, and not missing.
func (in *input) failedDisks(p *pool.Pool) []string {
	return slices.DeleteFunc(p.Disks(), func(name string) bool {
		d := in.facts.Device(in.namespace, name)
		return d == nil || d.State == "Active"
	})
}

// ask asks for the replacement of the disks of a member that failed. candidates picks a disk
// that nobody has and that fits: the spare first; settle hears which of them goes.
func (r *replacement) ask(m *member, candidates func(fits func(*inventory.BlockDevice) bool) *inventory.BlockDevice, settle func(old string, d *inventory.BlockDevice, wait string)) {
	if m.before == nil || !r.live.isRunning(m.before.Pool) {
		return
	}
	for _, name := range r.failedDisks(m.before.Pool) {
		if _, named := r.named[name]; named {
			r.named[name] = true
		}
		if !r.isReplaced(name) {
			continue
		}
		s := step{kind: stepReplace, out: name, what: fmt.Sprintf("another disk takes the place of %s in the pool on node %s", name, m.name)}
		why := r.obstacle(m.before.Pool, name)
		var d *inventory.BlockDevice
		if why == "" {
			d, why = r.find(m, r.disk(name).Size(), candidates)
		}
		if why != "" {
			severity := finding.Warning
			if r.named[name] && m.before.RAIDType == pool.Stripe && m.leaving == "" {
				severity = finding.Error // a person asks for what can never be, and has not taken the other way
			}
			r.report(severity, "replacement-waits", "", "block device %s of the pool on node %s is not replaced: %s", name, m.name, why)
			s.wait = "since it is not replaced: " + why
			r.steps(m.of).ask(s)
			continue
		}
		s.what = diskReplaces(d.Name, name, m.name)
		s.edit = func(c *pool.Cluster) {
			p := c.Host(m.hostname)
			p.Data = replaced(p.Data, name, d.Name)
		}
		s.settle = func(wait string) { settle(name, d, wait) }
		r.steps(m.of).ask(s)
	}
}

// find picks a disk of at least a capacity, in bytes, or says why there is none. The webhook
// refuses one that is the predecessor of any claim: it is being replaced itself.
//
// Source: cstor-operators, admission webhook (replacement of a disk), 3.6.0, measured.
func (r *replacement) find(m *member, capacity int64, candidates func(fits func(*inventory.BlockDevice) bool) *inventory.BlockDevice) (d *inventory.BlockDevice, why string) {
	leaving := ""
	if capacity > 0 {
		d = candidates(func(d *inventory.BlockDevice) bool {
			claim := r.facts.SuccessorOf(d.Namespace, d.Name)
			if claim != nil && d.Capacity >= capacity {
				leaving = fmt.Sprintf(" (BlockDeviceClaim %s names block device %s as its predecessor, so the webhook refuses it: delete the claim if that replacement was refused)", claim.Name, d.Name)
			}
			return claim == nil && d.Capacity >= capacity
		})
	}
	if d == nil {
		why = "node " + m.name + " has no spare, and no other disk that can be used and is as large" + leaving + "; add one"
	}
	return d, why
}

// isReplaced reports whether a disk that failed is to be replaced: a person says so, or the spec
// trusts snapshots.
func (in *input) isReplaced(name string) bool {
	return in.cfg.Spec.PoolConfig.AutoReplace || slices.Contains(in.spec.Object.AnnotationList(annotationReplace), name)
}

// obstacle says why a disk of a pool cannot be replaced, and what to do, or "".
func (in *input) obstacle(p *pool.Pool, name string) string {
	if slices.Contains(p.Cache.Disks(), name) {
		return "it belongs to the write cache, which the cStor operator does not change; put the disk back, or recreate the pool: drain its node"
	}
	if p.RAIDType == pool.Stripe {
		return "the pool is a stripe, and its data is lost with the disk; recreate the pool: drain its node, with consent, and allow it again"
	}
	if !in.state.Checks(p.Hostname) {
		return fmt.Sprintf("the hostname label of the node (%s) is not its name, so that the webhook claims no disk and the operator waits for one for ever; give the node its name as label, or make the claim of the new disk yourself, with the annotation %s: %s", p.Hostname, inventory.AnnotationPredecessor, name)
	}
	for _, group := range p.Data {
		if !slices.Contains(group, name) {
			continue
		}
		for _, other := range group {
			switch d := in.facts.Device(in.namespace, other); {
			case d == nil:
				return "block device " + other + " of its RAID group is gone, so the webhook cannot compare sizes; bring it back, or recreate the pool"
			case other != name && d.State != "Active":
				return "block device " + other + " of its RAID group is " + d.State + ", too, and one disk of a group is replaced at a time; bring one of them back"
			}
			if claim := in.claimOf(other); claim != nil && claim.Predecessor != "" && other != name {
				return "a replacement in its RAID group is under way, which the claim of " + other + " shows (" + inventory.AnnotationPredecessor + "); it waits for that"
			}
		}
	}
	switch i := in.live.running(p); {
	case i == nil:
		return "the pool has no CStorPoolInstance"
	case i.Rebuilds():
		return "CStorPoolInstance " + i.Name + " is replacing a disk already; it waits for that"
	case i.Phase != "ONLINE" && i.Phase != "DEGRADED":
		return "CStorPoolInstance " + i.Name + " is " + cmp.Or(i.Phase, "in an unknown phase") + ", not ONLINE or DEGRADED; look at the pool"
	}
	return ""
}

func (in *input) claimOf(name string) *inventory.Claim {
	if d := in.facts.Device(in.namespace, name); d != nil {
		return in.facts.ClaimOf(d)
	}
	return nil
}

// tell says what names in the annotation have no effect.
func (r *replacement) tell() {
	pooled := map[string]bool{}
	for _, p := range r.standing.Pools() {
		for _, name := range p.Disks() {
			pooled[name] = true
		}
	}
	names := make([]string, 0, len(r.named))
	for name, used := range r.named {
		if !used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		severity, why := finding.Info, "is in no pool (any more); remove it"
		switch d := r.facts.Device(r.namespace, name); {
		case pooled[name] && d != nil && d.State == "Active":
			why = "is Active, and stays"
		case pooled[name] && d == nil:
			severity, why = finding.Warning, "is missing from the inventory, so that the webhook cannot compare sizes: it cannot be replaced; bring the BlockDevice back, or let the pool go"
		case pooled[name]:
			continue // its pool does not live
		case d == nil:
			severity, why = finding.Warning, "is not among the block devices; correct it, or remove it"
		}
		r.Collect(r.spec.AnnotationFinding(severity, "replace-idle", annotationReplace, name, "which "+why))
	}
}
