package drain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/finding"
)

// Volume is a volume of cStor as far as its replicas go.
type Volume struct {
	Namespace, Name string
	Claim           string // <namespace>/<name> of its claim, "" where there is none
	Unknown         string // what the facts lack of it, in words, or ""
	Pinned          string // why it cannot be moved, as it is: its phase, its version, a snapshot; or ""

	Source   string   // the volume that it is a clone of, or ""
	Bytes    int64    // its size
	Pools    []string // where its replicas are to be: spec.policy.replicaPoolInfo
	Placed   []string // where the operators have put them: status.poolInfo
	Count    int      // how many it was made with: spec.provision.replicaCount
	Replicas []Replica
	// Of its CStorVolume: the phase, how many replicas the target works with, and how many it
	// is to work with.
	Target          string
	Factor, Desired int

	Owned  bool    // the live CStorVolumeConfig is owned by the config that is rendered
	Memory Partial // what the live CStorVolumeConfig remembers
}

// Replica is a CStorVolumeReplica.
type Replica struct {
	Name, Pool string
	Fault      string // why it is not whole, or ""
	Broken     bool   // nothing is under way that would mend that
	Silent     bool   // itself, or the target of the volume, says that it serves nothing
}

// NoneHealthy says what is wrong with each replica of a volume of which none is healthy, or "":
// nothing comes of others that were asked for.
func (v *Volume) NoneHealthy() string {
	var faults []string
	for _, r := range v.Replicas {
		if r.Fault == "" {
			return ""
		}
		faults = append(faults, r.Pool+": "+r.Fault)
	}
	return finding.Clauses(faults)
}

// String names the volume as people know it.
func (v *Volume) String() string {
	if v.Claim == "" {
		return v.Name
	}
	return v.Name + " (claim " + v.Claim + ")"
}

// On reports whether a pool has, or is to have, a replica of the volume.
func (v *Volume) On(name string) bool {
	return slices.Contains(v.Pools, name) || slices.Contains(v.Placed, name) ||
		slices.ContainsFunc(v.Replicas, func(r Replica) bool { return r.Pool == name })
}

// ByPool lists the volumes that have, or are to have, a replica on each pool, in their order.
func ByPool(volumes []Volume) map[string][]*Volume {
	on := map[string][]*Volume{}
	for i := range volumes {
		v := &volumes[i]
		add := func(name string) {
			if n := len(on[name]); n == 0 || on[name][n-1] != v {
				on[name] = append(on[name], v)
			}
		}
		for _, names := range [][]string{v.Pools, v.Placed} {
			for _, name := range names {
				add(name)
			}
		}
		for _, r := range v.Replicas {
			add(r.Pool)
		}
	}
	return on
}

// count is how many replicas a volume is to have that has fewer because some were let go, or
// 0. What was asked for says so, or what the live object remembers; or else it has an owner,
// and has the number that it was made with.
func (p *planner) count(v *Volume) int {
	switch asked := p.before[v.Name]; {
	case asked.Leaves == "" && asked.Replicas > 0:
		return asked.Replicas
	case !v.Owned:
		return 0
	case v.Memory.Replicas > 0:
		return v.Memory.Replicas
	}
	return v.Count
}

// unsettled says what the operators have not carried out yet of what was asked for, or "".
// Until then the webhook takes no other edit.
func (p *planner) unsettled(v *Volume) string {
	switch {
	case !pool.SameNames(v.Pools, v.Placed):
		return fmt.Sprintf("the operators put its replicas on %s, and have them on %s", finding.Names(v.Pools), finding.Names(v.Placed))
	case v.Factor != v.Desired:
		return fmt.Sprintf("its target works with %s, and is to work with %d", finding.Count(v.Factor, "replica"), v.Desired)
	case v.Desired != len(v.Pools):
		return fmt.Sprintf("its target is to work with %s, and it is to have %d", finding.Count(v.Desired, "replica"), len(v.Pools))
	}
	for _, r := range v.Replicas {
		if !slices.Contains(v.Pools, r.Pool) && !p.absent(r.Pool) {
			return "the operators have not taken replica " + r.Name + " away yet"
		}
	}
	return ""
}

// blocked says why the operators carry out no change of the replicas of a volume now, or "".
func (p *planner) blocked(v *Volume) string { return cmp.Or(p.unsettled(v), p.belowQuorum(v)) }

// belowQuorum says that a volume has too few healthy replicas for any change of them, or "". The
// target needs more than half of replicationFactor (consistencyFactor): below that it rebuilds
// nothing, and a request to remove a replica waits in the CStorVolumeConfig, which the webhook lets
// nobody undo, until one comes back.
func (p *planner) belowQuorum(v *Volume) string {
	healthy, need := 0, v.Factor/2+1
	for _, r := range v.Replicas {
		if p.fault(v, r.Pool) == "" {
			healthy++
		}
	}
	if healthy >= need {
		return ""
	}
	return fmt.Sprintf("it is below quorum, with %d of %s healthy, and needs %d for its replicas to change", healthy, finding.Count(v.Factor, "replica"), need)
}

// armed is what the live object asks for below quorum: it deletes a replica as soon as that, or
// another, is back.
func (p *planner) armed(v *Volume) (r Removal, armed bool) {
	goes := pool.Without(v.Placed, v.Pools)
	if v.Unknown != "" || len(goes) != 1 || len(v.Pools) >= len(v.Placed) {
		return r, false
	}
	r = Removal{Volume: v, Pool: goes[0], Why: p.belowQuorum(v)}
	return r, r.Why != ""
}

func (p *planner) isArmed(v *Volume) bool {
	_, armed := p.armed(v)
	return armed
}

// Stray is a volume of which the live CStorVolumeConfig names a pool that is not there: the
// operators try for ever to put a replica on it. Of such a list the webhook lets names change, and
// not their number.
type Stray struct {
	Volume *Volume
	Pool   string
	Pools  []string // the list with pools that are there, nil where there are too few
}

// stray is the first pool that a volume is to be on and that is not there, or "".
func (p *planner) stray(v *Volume) string {
	for _, name := range pool.Without(v.Pools, v.Placed) {
		if p.pools[name] == nil {
			return name
		}
	}
	return ""
}

// astray is the way out for a volume with a pool that is not there.
func (p *planner) astray(v *Volume) (a Stray, astray bool) {
	if v.Unknown != "" || p.stray(v) == "" {
		return a, false
	}
	a = Stray{Volume: v, Pool: p.stray(v)}
	gone := slices.DeleteFunc(pool.Without(v.Pools, v.Placed), func(name string) bool { return p.pools[name] != nil })
	spots, _ := p.spots(v, gone, len(gone), nil)
	if len(spots) < len(gone) {
		return a, true
	}
	a.Pools = pool.Without(v.Pools, gone)
	for _, s := range spots {
		a.Pools = append(a.Pools, s.Pool)
	}
	return a, true
}

func (p *planner) unsettledOr(v *Volume, otherwise string) string {
	if why := p.unsettled(v); why != "" {
		return why
	}
	return otherwise
}

// fault says why the replica of a volume on a pool does not count as healthy, or "".
func (p *planner) fault(v *Volume, name string) string {
	i := slices.IndexFunc(v.Replicas, func(r Replica) bool { return r.Pool == name })
	switch {
	case i < 0:
		return "it has no replica on " + name + " yet"
	case p.absent(name):
		return "the node of " + name + " is missing from the inventory, so that its replica there does not count"
	case v.Replicas[i].Fault != "":
		return "its replica on " + name + " is not healthy: " + v.Replicas[i].Fault
	}
	return ""
}

// cannotSpare says why a volume cannot do without its replica on a pool now, or "": the
// operators have carried out all that was asked for, and every other replica is healthy. So
// is that one, or it is of no use.
func (p *planner) cannotSpare(v *Volume, name string) string {
	if why := p.blocked(v); why != "" {
		return why
	}
	for _, other := range v.Pools {
		if other == name {
			continue
		}
		if why := p.fault(v, other); why != "" {
			return why
		}
	}
	broken := slices.ContainsFunc(v.Replicas, func(r Replica) bool { return r.Pool == name && r.Broken })
	switch why := p.fault(v, name); {
	case v.Target != "" && v.Target != "Healthy" && (!broken || v.Target != "Degraded"):
		return "its CStorVolume is " + v.Target + ", not Healthy"
	case why != "" && (!broken || len(v.Pools) == 1):
		return why
	}
	return ""
}

// cannotRelease says why a volume cannot give up its replica on a pool that is lost, or "". dead is
// one of which too little is left for that.
func (p *planner) cannotRelease(v *Volume, name string) (why string, dead bool) {
	if len(pool.Without(v.Pools, []string{name})) == 0 {
		return "its only replica was on " + name, true
	}
	if !pool.SameNames(v.Pools, v.Placed) { // of the factors the target knows nothing good
		return p.unsettled(v), false
	}
	why = p.belowQuorum(v)
	return why, why != ""
}

func (p *planner) absent(name string) bool {
	known := p.pools[name]
	return known == nil || known.Absent
}
