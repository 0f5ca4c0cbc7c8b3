package drain

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// spots chooses pools for more replicas of a volume that leaves some: another zone first,
// then the most free space, those that were asked for before first of all, in their order. They
// may be fewer than wanted: why says what there is not, if there is none at all.
func (p *planner) spots(v *Volume, leaves []string, count int, asked []string) (spots []Spot, why string) {
	held := map[string]int{} // by zone
	for _, name := range pool.Without(v.Pools, leaves) {
		if known := p.pools[name]; known != nil {
			held[known.Zone]++
		}
	}
	take := func(from *Pool) {
		held[from.Zone]++
		spots = append(spots, Spot{from.Name, from.Zone, from.Free})
	}
	candidates := slices.DeleteFunc(slices.Clone(p.open), func(candidate *Pool) bool { return v.On(candidate.Name) })
	for _, name := range asked {
		if at := slices.IndexFunc(candidates, func(candidate *Pool) bool { return candidate.Name == name }); at >= 0 && len(spots) < count {
			take(candidates[at])
			candidates = slices.Delete(candidates, at, at+1)
		}
	}
	for _, s := range place.Spread(held, candidates, count-len(spots), func(p *Pool) string { return p.Zone }, p.roomiest, p.roomiest) {
		take(s.Candidate)
	}
	if len(spots) > 0 {
		return spots, ""
	}
	return nil, p.nowhere(v)
}

// nowhere says why there is no pool for another replica of a volume, or "".
func (p *planner) nowhere(v *Volume) string {
	if slices.ContainsFunc(p.open, func(candidate *Pool) bool { return !v.On(candidate.Name) }) {
		return ""
	}
	var refused []string
	for i := range p.Pools {
		candidate := &p.Pools[i]
		if refusal := p.refusal(candidate); refusal != "" && !v.On(candidate.Name) {
			refused = append(refused, candidate.Name+" ("+refusal+")")
		}
	}
	why := "there is no other pool for its replica"
	if len(refused) > 0 {
		why += ": refused are " + finding.Names(refused)
	}
	return why
}

// refusal says why a pool takes no replica, or "".
func (p *planner) refusal(candidate *Pool) string {
	switch {
	case candidate.Absent:
		return "its node is missing from the inventory"
	case p.leaving[candidate.Name]:
		return "it leaves"
	}
	return candidate.Refuses
}

// roomiest orders pools by the space that they have left once this plan is carried out, then
// by name. Those of which nobody tells come last.
func (p *planner) roomiest(a, b *Pool) int {
	return cmp.Or(cmp.Compare(p.room(b), p.room(a)), cmp.Compare(p.given[a.Name], p.given[b.Name]), cmp.Compare(a.Name, b.Name))
}

func (p *planner) room(of *Pool) int64 {
	if of.Free < 0 {
		return -1
	}
	return max(of.Free-p.given[of.Name], 0)
}

// give adds pools to the list of a volume.
func (p *planner) give(m *Move, spots []Spot) {
	m.To, m.Pools = spots, slices.Clone(m.Pools)
	for _, s := range spots {
		m.Pools = append(m.Pools, s.Pool)
		p.given[s.Pool] += max(m.Volume.Bytes, 1)
	}
}
