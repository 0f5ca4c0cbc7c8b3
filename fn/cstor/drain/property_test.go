package drain_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// world plays what cStor does of the lists of pools: it takes or refuses an edit as the
// webhook does, and carries it out bit by bit.
type world struct {
	*rapid.T
	pools   []drain.Pool
	volumes map[string]*volume
	leaving []drain.Leaving
	lock    map[string]drain.Partial
	limit   int
}

type volume struct {
	pools, placed []string
	factor        int
	replicas      map[string]string // phase by pool
	memory        drain.Partial
	owned         bool
	began         int // replicas
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t, volumes: map[string]*volume{}, lock: map[string]drain.Partial{}, limit: rapid.IntRange(1, 4).Draw(t, "limit")}
	pools := rapid.IntRange(3, 7).Draw(t, "pools")
	for i := range pools {
		w.pools = append(w.pools, drain.Pool{Name: fmt.Sprintf("p%d", i), Zone: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"), Free: int64(rapid.IntRange(-1, 20).Draw(t, "free"))})
	}
	for i := range rapid.IntRange(1, 8).Draw(t, "volumes") {
		v := &volume{replicas: map[string]string{}}
		names := rapid.Permutation(w.names()).Draw(t, "order")
		v.pools = slices.Clone(names[:rapid.IntRange(1, 3).Draw(t, "replicas")])
		v.placed, v.factor, v.began = slices.Clone(v.pools), len(v.pools), len(v.pools)
		for _, name := range v.pools {
			v.replicas[name] = "Healthy"
		}
		w.volumes[fmt.Sprintf("v%d", i)] = v
	}
	return w
}

func (w *world) names() (names []string) {
	for _, p := range w.pools {
		names = append(names, p.Name)
	}
	return names
}

func (w *world) pool(name string) *drain.Pool {
	return &w.pools[slices.IndexFunc(w.pools, func(p drain.Pool) bool { return p.Name == name })]
}

func (w *world) healthy(v *volume) int {
	n := 0
	for name, phase := range v.replicas {
		if phase == "Healthy" && !w.pool(name).Absent {
			n++
		}
	}
	return n
}

// quorum reports whether the target of a volume adds, rebuilds and removes replicas.
func (w *world) quorum(v *volume) bool { return w.healthy(v) > v.factor/2 }

// state is what a snapshot of the world says.
func (w *world) state() drain.State {
	s := drain.State{Pools: slices.Clone(w.pools), Leaving: slices.Clone(w.leaving), Before: maps.Clone(w.lock), Limit: w.limit}
	for _, name := range slices.Sorted(maps.Keys(w.volumes)) {
		v := w.volumes[name]
		seen := drain.Volume{
			Name: name, Pools: slices.Clone(v.pools), Placed: slices.Clone(v.placed), Count: v.began,
			Factor: v.factor, Desired: len(v.placed), Target: "Healthy", Owned: v.owned, Memory: v.memory, Bytes: 1,
		}
		if !pool.SameNames(v.pools, v.placed) {
			seen.Desired = len(v.pools)
		}
		for _, at := range slices.Sorted(maps.Keys(v.replicas)) {
			r := drain.Replica{Name: name + "-" + at, Pool: at}
			if phase := v.replicas[at]; phase != "Healthy" {
				r.Fault, r.Broken = "its phase is "+phase, phase == "Offline"
			}
			seen.Replicas = append(seen.Replicas, r)
		}
		if !w.quorum(v) {
			seen.Target = "Degraded"
		}
		s.Volumes = append(s.Volumes, seen)
	}
	return s
}

// render plans, and holds what is true of every plan.
func (w *world) render() drain.Plan {
	s := w.state()
	plan := s.Plan()
	again := w.state()
	again.Before = map[string]drain.Partial{}
	moving := 0
	for _, m := range plan.Moves {
		v := w.volumes[m.Volume.Name]
		again.Before[m.Volume.Name] = m.Partial
		if _, before := w.lock[m.Volume.Name]; !before {
			moving++
		}
		w.webhook(m.Volume.Name, v, m.Pools)
		for _, to := range m.To {
			if target := w.pool(to.Pool); target.Absent || target.Refuses != "" {
				w.Fatalf("volume %s goes to pool %s: %+v", m.Volume.Name, to.Pool, target)
			}
		}
		if len(m.Pools) < len(v.pools) {
			w.spared(m, v)
		}
	}
	if moving > 0 && len(plan.Moves) > w.limit {
		w.Fatalf("%d volumes at once, of %d", len(plan.Moves), w.limit)
	}
	w.fixed(plan, again.Plan())
	w.lock = again.Before
	return plan
}

// fixed holds that a second render of the same facts says the same.
func (w *world) fixed(plan, again drain.Plan) {
	if len(plan.Moves) != len(again.Moves) {
		w.Fatalf("%d moves, and in a second render %d: %+v, %+v", len(plan.Moves), len(again.Moves), plan.Moves, again.Moves)
	}
	for i, m := range plan.Moves {
		if other := again.Moves[i]; m.Volume.Name != other.Volume.Name || !slices.Equal(m.Pools, other.Pools) {
			w.Fatalf("%s on %v, and in a second render %s on %v", m.Volume.Name, m.Pools, other.Volume.Name, other.Pools)
		}
	}
}

// webhook fails on an edit that the webhook refuses, or takes and cannot be undone.
func (w *world) webhook(name string, v *volume, pools []string) {
	added, removed := 0, 0
	for i, to := range pools {
		if slices.Contains(pools[:i], to) || !slices.Contains(w.names(), to) {
			w.Fatalf("volume %s on %v", name, pools)
		}
		if !slices.Contains(v.pools, to) {
			added++
		}
	}
	for _, from := range v.pools {
		if !slices.Contains(pools, from) {
			removed++
		}
	}
	switch {
	case added+removed == 0:
	case len(pools) == 0, removed > 1, added > 0 && removed > 0, !pool.SameNames(v.pools, v.placed), !w.quorum(v):
		w.Fatalf("volume %s goes from %v (placed on %v) to %v", name, v.pools, v.placed, pools)
	}
}

// spared fails on a replica that is taken away too early.
func (w *world) spared(m drain.Move, v *volume) {
	gone := slices.IndexFunc(v.pools, func(name string) bool { return !slices.Contains(m.Pools, name) })
	before := w.healthy(v)
	after := before
	if v.replicas[v.pools[gone]] == "Healthy" && !w.pool(v.pools[gone]).Absent {
		after--
	}
	if after < min(before, v.began) || after < 1 {
		w.Fatalf("volume %s of %d replicas goes from %d healthy ones to %d: %v to %v", m.Volume.Name, v.began, before, after, v.pools, m.Pools)
	}
}

// apply has an engine apply some of what is rendered, with what it remembers.
func (w *world) apply(all bool) {
	for _, name := range slices.Sorted(maps.Keys(w.lock)) {
		if v := w.volumes[name]; all || rapid.Bool().Draw(w.T, "applied") {
			v.pools, v.owned = slices.Clone(w.lock[name].Pools), true
			v.memory = w.lock[name]
			v.memory.Pools = nil
		}
	}
}

// operate has the operators do the next bit of what is asked for.
func (w *world) operate(all bool) {
	for _, name := range slices.Sorted(maps.Keys(w.volumes)) {
		v := w.volumes[name]
		if !all && !rapid.Bool().Draw(w.T, "operated") {
			continue
		}
		for _, at := range slices.Sorted(maps.Keys(v.replicas)) {
			if v.replicas[at] == "Rebuilding" && w.quorum(v) && !w.pool(at).Absent {
				v.replicas[at] = "Healthy"
			}
			if !slices.Contains(v.pools, at) && w.quorum(v) {
				delete(v.replicas, at)
			}
		}
		for _, to := range v.pools {
			if v.replicas[to] == "" {
				v.replicas[to] = "Rebuilding"
			}
		}
		left := func(name string) bool { return !slices.Contains(v.pools, name) && v.replicas[name] == "" }
		v.placed = slices.DeleteFunc(slices.Concat(v.pools, pool.Without(v.placed, v.pools)), left)
		if !slices.Contains(slices.Collect(maps.Values(v.replicas)), "Rebuilding") {
			v.factor = len(v.placed)
		}
	}
}

// event is what people and disks do.
func (w *world) event() {
	switch rapid.SampledFrom([]string{"nothing", "leave", "stay", "fail", "heal", "lose", "refuse", "forget"}).Draw(w.T, "event") {
	case "leave":
		name := rapid.SampledFrom(w.names()).Draw(w.T, "pool")
		if !slices.ContainsFunc(w.leaving, func(l drain.Leaving) bool { return l.Pool == name }) {
			w.leaving = append(w.leaving, drain.Leaving{Pool: name, Lost: w.pool(name).Absent})
		}
	case "stay":
		w.leaving = slices.DeleteFunc(w.leaving, func(drain.Leaving) bool { return rapid.Bool().Draw(w.T, "stays") })
	case "fail", "heal":
		v := w.volumes[rapid.SampledFrom(slices.Sorted(maps.Keys(w.volumes))).Draw(w.T, "volume")]
		at := rapid.SampledFrom(slices.Sorted(maps.Keys(v.replicas))).Draw(w.T, "replica")
		if v.replicas[at] == "Healthy" {
			v.replicas[at] = "Offline"
		} else if v.replicas[at] == "Offline" {
			v.replicas[at] = "Healthy"
		}
	case "lose":
		p := w.pool(rapid.SampledFrom(w.names()).Draw(w.T, "pool"))
		p.Absent = !p.Absent
		for i := range w.leaving {
			if w.leaving[i].Pool == p.Name {
				w.leaving[i].Lost = p.Absent
			}
		}
	case "refuse":
		p := w.pool(rapid.SampledFrom(w.names()).Draw(w.T, "pool"))
		p.Refuses = map[bool]string{true: "it is read-only"}[p.Refuses == ""]
	case "forget":
		w.lock = map[string]drain.Partial{}
	}
}

// TestNothingIsLost holds that in whatever history no edit is one that the webhook refuses,
// no volume has fewer healthy replicas by our doing than it began with, and a second render
// says the same; and that, when events stop, every volume that can leave has left, and has
// as many replicas as it began with.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 25).Draw(t, "rounds") {
			w.event()
			w.render()
			w.apply(false)
			w.operate(false)
		}
		w.settle()
	})
}

// settle mends everything, and goes on until nothing moves.
func (w *world) settle() {
	for i := range w.pools {
		w.pools[i].Absent, w.pools[i].Refuses = false, ""
	}
	for i := range w.leaving {
		w.leaving[i].Lost = false
	}
	for _, v := range w.volumes {
		for at, phase := range v.replicas {
			if phase == "Offline" {
				v.replicas[at] = "Healthy"
			}
		}
	}
	const most = 100
	var plan drain.Plan
	for i := range most {
		if plan = w.render(); len(plan.Moves) == 0 && i > 0 {
			break
		}
		w.apply(true)
		w.operate(true)
		w.operate(true)
	}
	if len(plan.Moves) > 0 {
		w.Fatalf("after %d renders there still move %+v", most, plan.Moves)
	}
	stay := len(w.pools) - len(w.leaving)
	for name, v := range w.volumes {
		if len(v.pools) != v.began && stay >= v.began {
			w.Errorf("volume %s began with %d replicas and has %v", name, v.began, v.pools)
		}
	}
	for _, s := range plan.Pools {
		for _, h := range s.Held {
			if stay >= len(h.Volume.Pools) {
				w.Errorf("volume %s is still on %s: %s", h.Volume.Name, s.Pool, h.Why)
			}
		}
	}
}
