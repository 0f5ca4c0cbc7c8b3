package resilience

import (
	"iter"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Condition is how a node, a zone, a disk or a pool fares.
type Condition uint8

// The conditions, the best first.
const (
	Up      Condition = iota
	Stopped           // down for now: the data survive
	Gone              // for good
)

// Damage is what is lost or down.
type Damage struct {
	Nodes map[string]Condition // by name
	Zones map[string]Condition
	Disks map[*disk.Disk]bool // lost; each with all of its reports
	Pools map[krm.ID]Condition
}

// NewDamage is none.
func NewDamage() *Damage {
	return &Damage{Nodes: map[string]Condition{}, Zones: map[string]Condition{}, Disks: map[*disk.Disk]bool{}, Pools: map[krm.ID]Condition{}}
}

// lossOf is the loss of some nodes.
func lossOf(nodes ...string) *Damage {
	d := &Damage{Nodes: make(map[string]Condition, len(nodes))}
	for _, name := range nodes {
		d.Nodes[name] = Gone
	}
	return d
}

// today is what is down already: the nodes that are not ready.
//
// Source: Kubernetes, NodeCondition (Ready), 1.36.
func today(facts *inventory.Facts) *Damage {
	d := NewDamage()
	for _, n := range facts.Nodes {
		if n.Readiness() != inventory.Ready {
			d.Nodes[n.Name] = Stopped
		}
	}
	return d
}

// Situation is some damage on top of another situation. It remembers what the rules said.
type Situation struct {
	ledger *Ledger
	base   *Situation // nil for today
	damage *Damage

	hit      []*Rule          // that depend on the damage; of today none, since all do
	verdicts map[int]*Verdict // of the rules that were judged; of a rule that is hit and not judged yet nil
}

// Node is the condition of a node. One that the facts lack is stopped.
func (s *Situation) Node(name string) Condition {
	if s.ledger.nodes != nil && !s.ledger.nodes[name] {
		return max(Stopped, s.of(func(d *Damage) Condition { return d.Nodes[name] }))
	}
	return s.of(func(d *Damage) Condition { return d.Nodes[name] })
}

// Zone is the condition of a zone.
func (s *Situation) Zone(name string) Condition {
	return s.of(func(d *Damage) Condition { return d.Zones[name] })
}

// Pool is the condition of a pool that changes name.
func (s *Situation) Pool(id krm.ID) Condition {
	return s.of(func(d *Damage) Condition { return d.Pools[id] })
}

// IsLost reports whether a disk is lost by itself: not with its node.
func (s *Situation) IsLost(d *disk.Disk) bool {
	for at := s; at != nil; at = at.base {
		if len(at.damage.Disks) > 0 && at.damage.Disks[d] {
			return true
		}
	}
	return false
}

// Damaged lists the nodes that are stopped or gone by the damage, each once.
func (s *Situation) Damaged() iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := s; at != nil; at = at.base {
			for name := range at.damage.Nodes {
				if !s.repeats(at, name) && !yield(name) {
					return
				}
			}
		}
	}
}

// repeats reports whether the damage of a situation above another one has a node, too.
func (s *Situation) repeats(below *Situation, name string) bool {
	for at := s; at != below; at = at.base {
		if at.damage.Nodes[name] != Up {
			return true
		}
	}
	return false
}

// Disks lists the disks that are lost by themselves.
func (s *Situation) Disks() iter.Seq[*disk.Disk] {
	return func(yield func(*disk.Disk) bool) {
		for at := s; at != nil; at = at.base {
			for d := range at.damage.Disks {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// of is the worst condition of the damage of all situations.
func (s *Situation) of(condition func(*Damage) Condition) Condition {
	worst := Up
	for at := s; at != nil; at = at.base {
		worst = max(worst, condition(at.damage))
	}
	return worst
}

// Of is what a rule says in the situation.
func (s *Situation) Of(r *Rule) Verdict {
	v, hit := s.verdicts[r.id]
	if s.base != nil && !hit {
		return s.base.Of(r)
	}
	if v == nil {
		judged := r.Judge(s)
		v, s.verdicts[r.id] = &judged, &judged
	}
	return *v
}
