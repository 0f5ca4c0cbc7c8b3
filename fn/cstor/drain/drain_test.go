package drain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/drain"
)

// settled is a volume that is as it is to be, with a healthy replica on each pool.
func settled(name string, pools ...string) drain.Volume {
	v := drain.Volume{Name: name, Pools: pools, Placed: pools, Count: len(pools), Factor: len(pools), Desired: len(pools), Target: "Healthy", Bytes: 1}
	for _, p := range pools {
		v.Replicas = append(v.Replicas, drain.Replica{Name: name + "-" + p, Pool: p})
	}
	return v
}

// A volume on two pools that go is on its way from one of them.
func TestTwoPools(t *testing.T) {
	s := drain.State{
		Volumes: []drain.Volume{settled("both", "c", "d"), settled("one", "a", "c")},
		Pools:   []drain.Pool{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}},
		Leaving: []drain.Leaving{{Pool: "d"}, {Pool: "c"}}, Limit: 4,
	}
	plan := s.Plan()
	if first := plan.Pools[0]; first.Volumes != 1 || first.Moving != 1 || len(first.Held) > 0 {
		t.Errorf("%+v", first)
	}
	second := plan.Pools[1]
	if second.Volumes != 2 || second.Moving != 0 || len(second.Held) != 2 || !second.Held[0].Turn || second.Held[0].Why != "it leaves d first" || second.Held[1].Why != "another pool has its turn" {
		t.Errorf("%+v", second)
	}
}

// Pools that were asked for stay in their order, whatever other volumes take of them meanwhile.
func TestAskedOrder(t *testing.T) {
	s := drain.State{
		Volumes: []drain.Volume{settled("one", "a"), settled("two", "a")},
		Pools:   []drain.Pool{{Name: "a", Free: 9}, {Name: "b", Free: 9}, {Name: "c", Free: 9}},
		Before:  map[string]drain.Partial{"one": {Pools: []string{"a", "b"}}, "two": {Pools: []string{"a", "b", "c"}}}, Limit: 4,
	}
	if plan := s.Plan(); len(plan.Moves) != 2 || !slices.Equal(plan.Moves[1].Pools, []string{"a", "b", "c"}) {
		t.Errorf("%+v", plan.Moves)
	}
}

// What an older output asks for, and no edit of what lives is, gives way to what that remembers.
func TestOlderPartial(t *testing.T) {
	v := settled("v", "a", "b")
	v.Owned, v.Memory = true, drain.Partial{Replicas: 1, Leaves: "a"}
	s := drain.State{
		Volumes: []drain.Volume{v}, Pools: []drain.Pool{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Limit: 4,
		Leaving: []drain.Leaving{{Pool: "a"}}, Before: map[string]drain.Partial{"v": {Pools: []string{"a", "c"}}},
	}
	if plan := s.Plan(); len(plan.Moves) != 1 || plan.Moves[0].Stage != drain.Remove || !slices.Equal(plan.Moves[0].Pools, []string{"b"}) {
		t.Errorf("%+v", plan.Moves)
	}
}

// Below quorum nothing is asked for, what was rendered is reverted, and what is applied already is
// reported: it would delete a replica once one comes back.
func TestBelowQuorum(t *testing.T) {
	lost := func(v drain.Volume, names ...string) drain.State {
		s := drain.State{Volumes: []drain.Volume{v}, Limit: 4}
		for _, name := range []string{"a", "b", "c", "d"} {
			s.Pools = append(s.Pools, drain.Pool{Name: name, Absent: slices.Contains(names, name)})
		}
		for _, name := range names {
			s.Leaving = append(s.Leaving, drain.Leaving{Pool: name, Lost: true})
		}
		return s
	}
	applied := settled("v", "a", "b", "c")
	applied.Pools = []string{"a", "c"}
	for _, c := range []struct {
		name   string
		state  drain.State
		before []string
		want   []string // the list that is rendered, nil for none
		armed  string
	}{
		{"1 of 2", lost(settled("v", "a", "b"), "b"), nil, nil, ""},
		{"1 of 2, rendered and not applied", lost(settled("v", "a", "b"), "b"), []string{"a"}, nil, ""},
		{"1 of 3", lost(settled("v", "a", "b", "c"), "b", "c"), nil, nil, ""},
		{"2 of 3", lost(settled("v", "a", "b", "c"), "b"), nil, []string{"a", "c"}, ""},
		{"1 of 3, applied", lost(applied, "b", "c"), []string{"a", "c"}, nil, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != nil {
				c.state.Before = map[string]drain.Partial{"v": {Pools: c.before, Replicas: len(c.before) + 1}}
			}
			plan := c.state.Plan()
			var got []string
			for _, m := range plan.Moves {
				got = m.Pools
			}
			armed := ""
			for _, r := range plan.Armed {
				armed = r.Pool
			}
			if !slices.Equal(got, c.want) || armed != c.armed {
				t.Errorf("asks for %v, armed %q: %+v", got, armed, plan)
			}
		})
	}
}

// A list with a pool that is not there is not asked for again, and another pool is named for it; the
// volume holds the place of no other.
func TestStray(t *testing.T) {
	v := settled("v", "a", "b")
	v.Pools, v.Owned = []string{"a", "b", "gone"}, true
	s := drain.State{
		Volumes: []drain.Volume{v, settled("w", "a", "b")}, Limit: 1, Leaving: []drain.Leaving{{Pool: "b"}},
		Pools:  []drain.Pool{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Before: map[string]drain.Partial{"v": {Pools: v.Pools}},
	}
	plan := s.Plan()
	if len(plan.Moves) != 1 || plan.Moves[0].Volume.Name != "w" {
		t.Errorf("%+v", plan.Moves)
	}
	if len(plan.Astray) != 1 || !slices.Equal(plan.Astray[0].Pools, []string{"a", "b", "c"}) {
		t.Errorf("%+v", plan.Astray)
	}
}

// BenchmarkPlan drains a third of a thousand pools.
func BenchmarkPlan(b *testing.B) {
	const pools = 1000
	s := drain.State{Limit: 4}
	name := func(i int) string { return fmt.Sprint("p", i%pools) }
	for i := range pools {
		s.Pools = append(s.Pools, drain.Pool{Name: name(i), Zone: fmt.Sprint(i % 3), Free: 1 << 30})
		if i%3 == 0 {
			s.Leaving = append(s.Leaving, drain.Leaving{Pool: name(i)})
		}
	}
	for i := range 3 * pools {
		s.Volumes = append(s.Volumes, settled(fmt.Sprint("v", i), name(i), name(i+1), name(i+2)))
	}
	for b.Loop() {
		if plan := s.Plan(); len(plan.Moves) != s.Limit {
			b.Fatal(len(plan.Moves))
		}
	}
}
