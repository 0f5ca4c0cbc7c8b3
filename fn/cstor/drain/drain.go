// Package drain plans how volumes leave the pools that go: for each volume that is on its
// way, the list of pools that its CStorVolumeConfig is to have next, what it waits for, and
// for each pool what keeps it.
//
// A volume moves in two edits, since the webhook takes no swap: a pool more, and, once the
// replica there is healthy, the leaving one less (reference: cStor volumes, replicaPoolInfo).
// Whatever happens in between, a volume never has fewer healthy replicas than it began with.
//
// Source: cstor-operators, admission webhook and cvc-operator, 3.6.0, measured.
package drain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/finding"
)

// Pool is a pool instance that replicas are on, or could be.
type Pool struct {
	Name    string // of the CStorPoolInstance
	Zone    string // of its node
	Free    int64  // bytes; -1 where nobody tells
	Refuses string // why it takes no replica, or ""
	Absent  bool   // its node is not among the facts: what they say of it counts for nothing
}

// Leaving is a pool that may go.
type Leaving struct {
	Pool string // the CStorPoolInstance
	Lost bool   // its node is gone for good
}

// Partial is a CStorVolumeConfig as it is rendered: the list of its pools, and what the next
// render has to remember.
type Partial struct {
	Pools    []string // spec.policy.replicaPoolInfo
	Replicas int      // how many the volume is to have in the end, where that is another number; else 0
	Leaves   string   // the pool that it leaves, "" for none
}

// State is what a drain is planned from.
type State struct {
	Volumes []Volume // of the pool cluster, by name
	Pools   []Pool   // of the pool cluster
	Leaving []Leaving
	Before  map[string]Partial // as it was rendered, by volume
	Limit   int                // of volumes on their way at once
}

// Stage is what an edit does.
type Stage string

// The stages.
const (
	Add     Stage = "add"     // a replica on another pool, before one leaves
	Remove  Stage = "remove"  // the replica on the leaving pool
	Release Stage = "release" // a replica that is lost
	Restore Stage = "restore" // replicas on other pools, for those that were released
	Settle  Stage = "settle"  // nothing: the operators carry out what was asked for
)

// Move is a volume on its way.
type Move struct {
	Volume *Volume
	Partial
	Stage Stage
	To    []Spot // the pools of the list that it is not on yet
	Waits string // what keeps the next stage, "" while this one is to be applied
}

// Spot is a pool that was chosen for a replica.
type Spot struct {
	Pool string
	Zone string
	Free int64 // bytes; -1 where nobody tells
}

// Held is a volume that stays where it is for now.
type Held struct {
	Volume *Volume
	Why    string
	Turn   bool // nothing is wrong: it has its turn, or the operators are at it
	Dead   bool // too few of its replicas are left for any change of them
}

// Removal is a replica that the live CStorVolumeConfig asks to remove, and that a volume below
// quorum keeps until another replica is back.
type Removal struct {
	Volume *Volume
	Pool   string
	Why    string
}

// Standing is how far a pool has come.
type Standing struct {
	Leaving
	Volumes int    // that have a replica there, or are to have one
	Moving  int    // of these, those on their way
	Held    []Held // the others
}

// Plan is what comes next.
type Plan struct {
	Moves  []Move     // by volume
	Pools  []Standing // in the order of State.Leaving
	Short  []Held     // volumes with fewer replicas than they are to have, that get none now
	Armed  []Removal  // by volume
	Astray []Stray    // by volume

	counts map[string]int // how many replicas those are to have
}

// Plan says what comes next of every volume and every pool. Volumes that are on their way
// come first, then those that lack replicas, then those of one pool after the other.
func (s *State) Plan() Plan {
	p := &planner{State: s, before: maps.Clone(s.Before), pools: map[string]*Pool{}, lost: map[string]bool{}, leaving: map[string]bool{}, given: map[string]int64{}, moves: map[string]*Move{}, clones: map[string][]string{}}
	for i := range s.Pools {
		p.pools[s.Pools[i].Name] = &s.Pools[i]
	}
	for _, l := range s.Leaving {
		p.leaving[l.Pool], p.lost[l.Pool] = true, l.Lost
	}
	for i := range s.Pools {
		if candidate := &s.Pools[i]; p.refusal(candidate) == "" {
			p.open = append(p.open, candidate)
		}
	}
	p.on = ByPool(s.Volumes)
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Source != "" {
			p.clones[v.Source] = append(p.clones[v.Source], v.Name)
		}
	}
	for i := range s.Volumes {
		p.finish(&s.Volumes[i])
	}
	plan := Plan{counts: map[string]int{}}
	for i := range s.Volumes {
		if r, armed := p.armed(&s.Volumes[i]); armed {
			plan.Armed = append(plan.Armed, r)
		}
		if a, astray := p.astray(&s.Volumes[i]); astray {
			plan.Astray = append(plan.Astray, a)
		}
		if held, short := p.restore(&s.Volumes[i]); short {
			plan.Short = append(plan.Short, held)
			plan.counts[held.Volume.Name] = p.count(held.Volume)
		}
	}
	busy := false // a pool is being emptied: the next one waits for its turn
	for _, l := range s.Leaving {
		standing := p.empty(l, busy)
		busy = busy || standing.goesOn()
		plan.Pools = append(plan.Pools, standing)
	}
	for _, m := range p.moves {
		plan.Moves = append(plan.Moves, *m)
	}
	slices.SortFunc(plan.Moves, func(a, b Move) int { return cmp.Compare(a.Volume.Name, b.Volume.Name) })
	return plan
}

// Missing is how many replicas a volume of Short lacks.
func (p *Plan) Missing(v *Volume) int { return p.counts[v.Name] - len(v.Pools) }

// goesOn reports whether volumes of the pool move, or will without anybody doing anything.
func (s *Standing) goesOn() bool {
	return s.Moving > 0 || slices.ContainsFunc(s.Held, func(h Held) bool { return h.Turn })
}

// Waiting counts the volumes that wait for nothing but their turn, and those that cannot leave
// the pool now; why is what the first of the former waits for.
func (s *Standing) Waiting() (turn, held int, why string) {
	for _, h := range s.Held {
		if h.Turn {
			turn++
			why = cmp.Or(why, h.Why)
		} else {
			held++
		}
	}
	return turn, held, why
}

// planner is one plan in the making.
type planner struct {
	*State
	before  map[string]Partial // Before, but for what an older output has
	pools   map[string]*Pool
	open    []*Pool              // those that take replicas
	on      map[string][]*Volume // by pool
	lost    map[string]bool
	leaving map[string]bool
	given   map[string]int64 // bytes that this plan puts on a pool, beside what is there
	moves   map[string]*Move // by volume
	clones  map[string][]string
}

// empty has the volumes of a pool leave it, as many as may at once; none where another pool
// has its turn.
func (p *planner) empty(l Leaving, busy bool) Standing {
	s := Standing{Leaving: l}
	for _, v := range p.on[l.Pool] {
		s.Volumes++
		held := Held{Volume: v}
		if m := p.moves[v.Name]; m == nil {
			held = p.begin(v, l, busy)
		} else if m.Leaves != l.Pool && slices.Contains(m.Pools, l.Pool) {
			held.Why, held.Turn = m.other(), true
		}
		if held.Why != "" {
			s.Held = append(s.Held, held)
			continue
		}
		s.Moving++
	}
	return s
}

// begin puts a volume on its way, or says why it stays.
func (p *planner) begin(v *Volume, l Leaving, busy bool) Held {
	held := Held{Volume: v}
	if held.Why = p.stuck(v); held.Why != "" {
		return held
	}
	if !slices.Contains(v.Pools, l.Pool) {
		held.Why, held.Turn = p.unsettledOr(v, "its replica there is not gone yet"), !p.isArmed(v)
		return held
	}
	if l.Lost {
		if held.Why, held.Dead = p.cannotRelease(v, l.Pool); held.Why != "" {
			return held
		}
	} else if held.Why, held.Turn = p.cannotBegin(v, l.Pool); held.Why != "" {
		return held
	}
	switch {
	case busy:
		held.Why, held.Turn = "another pool has its turn", true
	case len(p.moves) >= p.Limit:
		held.Why, held.Turn = "as many volumes are on their way as may be at once", true
	default:
		p.leave(v, l.Pool, max(len(v.Pools), p.count(v)), nil)
	}
	return held
}

// cannotBegin says why a volume cannot begin to leave a pool, or "", and whether that passes
// by itself.
func (p *planner) cannotBegin(v *Volume, name string) (why string, passes bool) {
	if why := p.unsettled(v); why != "" {
		return why, p.stray(v) == ""
	}
	if why := p.cannotSpare(v, name); why != "" {
		return why, false
	}
	return p.nowhere(v), false
}

// other says what a volume does that has to leave another pool than the one that it is on its
// way from.
func (m *Move) other() string {
	if m.Leaves != "" {
		return "it leaves " + m.Leaves + " first"
	}
	return "it is on its way already"
}

// stuck says why a volume cannot be moved at all, or "".
func (p *planner) stuck(v *Volume) string {
	switch clones := p.clones[v.Name]; {
	case v.Unknown != "":
		return v.Unknown
	case v.Pinned != "":
		return v.Pinned
	case v.Source != "":
		return "it is a clone of volume " + v.Source + ", with which it shares its pools"
	case len(clones) > 0:
		return "it is what " + finding.Names(clones) + " is a clone of, with which it shares its pools"
	}
	return ""
}

// finish goes on with a volume that is on its way, wanted or not.
func (p *planner) finish(v *Volume) {
	asked, rendered := p.before[v.Name]
	if rendered {
		if p.goOn(v, asked, true); p.moves[v.Name] != nil || v.Unknown != "" {
			return
		}
		delete(p.before, v.Name) // what lives has gone on
	}
	p.goOn(v, v.Memory, false)
}

// goOn goes on with what was asked for of a volume, as it was rendered or as it lives.
func (p *planner) goOn(v *Volume, asked Partial, rendered bool) {
	taken, added := pool.Without(v.Pools, asked.Pools), pool.Without(asked.Pools, v.Pools)
	switch count := max(len(asked.Pools), asked.Replicas); {
	case v.Unknown != "":
		if rendered { // nothing is known of it: what was asked for stays
			p.moves[v.Name] = &Move{Volume: v, Partial: asked, Stage: Settle, Waits: v.Unknown}
		}
	case p.stray(v) != "", p.isArmed(v): // nothing leads on, and it holds the place of no other
	case asked.Leaves != "" && slices.Contains(v.Pools, asked.Leaves) && (rendered || len(v.Pools) > asked.Replicas):
		if len(v.Pools) > asked.Replicas || p.lost[asked.Leaves] || p.nowhere(v) == "" {
			p.leave(v, asked.Leaves, asked.Replicas, added)
		}
	case !rendered:
	case len(taken) == 0 && len(added) == 0:
		if why := p.unsettled(v); why != "" {
			p.moves[v.Name] = &Move{Volume: v, Partial: asked, Stage: Settle, Waits: why}
		}
	case len(taken) == 1 && len(added) == 0: // it is not applied yet
		if letGo := asked.Replicas > len(asked.Pools); p.belowQuorum(v) == "" && (!letGo || p.lost[taken[0]]) {
			p.leave(v, taken[0], count, nil)
		}
	case len(taken) == 0 && asked.Leaves == "":
		p.add(v, count, added)
	}
}

// leave is the next edit of a volume that leaves a pool and is to have count replicas after
// that. wanted are pools that were asked for before.
func (p *planner) leave(v *Volume, name string, count int, wanted []string) {
	m := &Move{Volume: v, Partial: Partial{Pools: v.Pools, Replicas: count, Leaves: name}, Stage: Add}
	p.moves[v.Name] = m
	without := pool.Without(v.Pools, []string{name})
	switch {
	case p.lost[name]:
		m.Stage = Release
		if m.Waits, _ = p.cannotRelease(v, name); m.Waits == "" {
			m.Partial = Partial{Pools: without}
			if len(without) < count {
				m.Replicas = count
			}
		}
	case len(without) >= count:
		m.Stage = Remove
		if m.Waits = p.cannotSpare(v, name); m.Waits == "" {
			m.Partial = Partial{Pools: without}
		}
	default:
		if m.Waits = p.blocked(v); m.Waits != "" {
			return
		}
		spots, why := p.spots(v, []string{name}, 1, wanted)
		if m.Waits = why; why == "" {
			p.give(m, spots)
		}
	}
}

// restore gives a volume the replicas that it had before some were let go. short tells of
// one that lacks some and gets none.
func (p *planner) restore(v *Volume) (held Held, short bool) {
	count := p.count(v)
	if count <= len(v.Pools) || p.moves[v.Name] != nil || v.Unknown != "" || p.isArmed(v) || len(v.Pools) == 0 ||
		slices.ContainsFunc(v.Pools, func(name string) bool { return p.lost[name] }) {
		return held, false
	}
	held = Held{Volume: v}
	if held.Why = p.stuck(v); held.Why == "" {
		held.Why = p.blocked(v)
	}
	if held.Why == "" && len(p.moves) >= p.Limit {
		held.Why, held.Turn = "as many volumes are on their way as may be at once", true
	}
	if held.Why == "" {
		held.Why = p.add(v, count, nil)
	}
	return held, held.Why != ""
}

// add gives a volume replicas until it has count of them, as far as there are pools, or says
// why it cannot.
func (p *planner) add(v *Volume, count int, wanted []string) string {
	spots, why := p.spots(v, nil, count-len(v.Pools), wanted)
	if why = cmp.Or(p.belowQuorum(v), why); why != "" {
		return why
	}
	m := &Move{Volume: v, Stage: Restore, Partial: Partial{Pools: v.Pools}}
	p.moves[v.Name] = m
	if m.Waits = p.unsettled(v); m.Waits == "" {
		p.give(m, spots)
	}
	if len(m.Pools) < count {
		m.Replicas = count
	}
	return ""
}
