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
