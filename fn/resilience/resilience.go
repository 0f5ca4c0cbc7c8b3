// Package resilience says what survives the loss of nodes and disks: the state of every volume and pool
// before and after some changes. A system declares a Rule for each of its volumes and pools, made once of
// the facts; a Situation is what is lost or down, and asks only the rules that depend on it. So the loss of
// every node, one after the other, costs little more than one look.
package resilience

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// State is how a volume or a pool fares.
type State string

// The states, from the best to the worst. Unknown is none of them: the facts allow several.
const (
	Safe     State = "safe"     // all copies
	Degraded State = "degraded" // it serves with fewer
	Stops    State = "stops"    // no I/O, a copy survives
	Lost     State = "lost"     // no copy left
	Unknown  State = "unknown"
)

// rank orders the states, the best first.
func (s State) rank() int {
	switch s {
	case Safe:
		return 0
	case Degraded:
		return 1
	case Stops:
		return 2
	}
	return 3
}

// WorseThan reports whether a state is worse than another: safe < degraded < stops < lost.
func (s State) WorseThan(other State) bool { return s.rank() > other.rank() }

// Compare orders states, the best first.
func (s State) Compare(other State) int { return s.rank() - other.rank() }

// Worse is the worse of some states.
func Worse(states ...State) State {
	worst := Safe
	for _, s := range states {
		if s.WorseThan(worst) {
			worst = s
		}
	}
	return worst
}

// Listed orders the states as a summary lists them, the worst first.
func Listed(s State) int {
	return slices.Index([]State{Lost, Stops, Degraded, Unknown, Safe}, s)
}

// None is a number of copies that is not known.
const None = -1

// Verdict is the state of a volume or a pool in a situation. Worst is the worst that the facts allow: the
// State, unless that is Unknown. Left is the number of healthy copies, or None.
type Verdict struct {
	State, Worst State
	Left         int
}

// Between is the verdict if the facts allow any state from best to worst, with so many healthy copies left at most and
// at least.
func Between(best, worst State, most, least int) Verdict {
	v := Verdict{State: best, Worst: worst, Left: most}
	if best != worst {
		v.State = Unknown
	}
	if most != least {
		v.Left = None
	}
	return v
}

// Unclear is the verdict if the facts lack what the rule needs.
func Unclear() Verdict { return Verdict{State: Unknown, Worst: Lost, Left: None} }

// Best is the best state that the facts may allow.
func (v Verdict) Best() State {
	if v.State == Unknown {
		return Safe
	}
	return v.State
}

// servesAs reports whether a verdict is the same as another one to the rules that ask: see Rule.On.
func (v Verdict) servesAs(other Verdict) bool {
	serving := func(s State) State {
		if s == Degraded {
			return Safe
		}
		return s
	}
	return serving(v.State) == serving(other.State) && serving(v.Worst) == serving(other.Worst)
}

// Rule judges a volume or a pool, or several that fare alike. It depends on nothing but what it names.
type Rule struct {
	Nodes   []string     // names
	Disks   []*disk.Disk // any report of a disk
	Zones   []string
	Pools   []krm.ID // that a change may lose or stop by their names
	On      []*Rule  // that Judge asks whether they serve, stop or are lost: to it, safe and degraded are the same
	AnyNode bool     // it depends on every node
	Judge   func(at *Situation) Verdict

	id    int // its place among the rules of a Ledger, from 1
	depth int // 0 if it asks no other rule, else one more than any that it asks
}

// Where a copy that is gone can be made again.
const (
	Elsewhere = "elsewhere"
	Here      = "here"
	nowhere   = "none" // there is nothing to rebuild, or no place for it
	unsure    = "unknown"
)

// Rebuild is where copies that are gone are made again, and at most how many bytes of them; None if that is not known.
type Rebuild struct {
	Where string
	Bytes int64
}

// Nothing is rebuilt: nothing is gone, or nothing is left, or there is no place.
func Nothing() Rebuild { return Rebuild{Where: nowhere} }

// Unsure is the rebuild of what the facts do not show.
func Unsure() Rebuild { return Rebuild{Where: unsure, Bytes: None} }

// Advice is what a system says of a volume or a pool that is not safe.
type Advice struct {
	Remedy  string // what to do, in the imperative
	Rebuild Rebuild
}

// Item is a volume or a pool.
type Item struct {
	System     string // cstor, mayastor, ceph, local
	Object     finding.Ref
	Want, Need int // copies that it is to have, and needs to serve; None if that is not known
	Rule       *Rule
	// Advise is asked of what is not safe in a situation.
	Advise func(at *Situation, v Verdict) Advice
}

// Storage is the volumes and pools of a system.
type Storage struct {
	Volumes, Pools []Item
	// VolumeKind is the kind by which the facts list the volumes.
	VolumeKind krm.GroupKind
	// Covered are the PersistentVolumes, by name, that are among the volumes or below the pools.
	Covered []string
	// Empty counts the volumes that are no volumes yet: they have no data that could be lost.
	Empty int
}

// ClaimedBytes is the size of a PersistentVolume by its claim; None if that is not known.
func ClaimedBytes(facts *inventory.Facts, v *inventory.Volume) int64 {
	claim := facts.Object(krm.ID{Kind: "PersistentVolumeClaim", Namespace: v.Claim.Namespace, Name: v.Claim.Name})
	if claim == nil {
		return None
	}
	if size := quantity.Bytes(cmp.Or(claim.Node.Str("status", "capacity", "storage"), claim.Node.Str("spec", "resources", "requests", "storage"))); size > 0 {
		return size
	}
	return None
}
