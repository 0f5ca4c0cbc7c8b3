package place

import (
	"cmp"
	"container/heap"
	"slices"
)

// Spread picks up to count of the candidates, one at a time from the zone that holds
// fewest so far, the first of that zone by order. Where several zones hold as few, it is
// the one whose next candidate is first by tie, and then the first by name. held is what
// the zones hold already.
func Spread[T any](held map[string]int, candidates []T, count int, zoneOf func(T) string, order, tie func(a, b T) int) []Spot[T] {
	zones := map[string]*zone[T]{}
	for _, c := range candidates {
		name := zoneOf(c)
		if zones[name] == nil {
			zones[name] = &zone[T]{name: name, held: held[name]}
		}
		zones[name].waiting = append(zones[name].waiting, c)
	}
	queue := zoneQueue[T]{tie: tie}
	for _, z := range zones {
		slices.SortFunc(z.waiting, order)
		queue.zones = append(queue.zones, z)
	}
	heap.Init(&queue)

	var picked []Spot[T]
	for len(picked) < count && len(queue.zones) > 0 {
		z := heap.Pop(&queue).(*zone[T])
		picked = append(picked, Spot[T]{z.waiting[0], z.name, z.held, len(zones) > 1})
		z.held, z.waiting = z.held+1, z.waiting[1:]
		if len(z.waiting) > 0 {
			heap.Push(&queue, z)
		}
	}
	return picked
}

// Spot is what Spread picked.
type Spot[T any] struct {
	Candidate T
	Zone      string
	Held      int  // what the zone held before
	Several   bool // whether there were several zones to choose from
}

// zone is a zone with candidates, the first to choose first.
type zone[T any] struct {
	name    string
	held    int
	waiting []T
}

// zoneQueue is a heap of zones, next the one to choose from.
type zoneQueue[T any] struct {
	zones []*zone[T]
	tie   func(a, b T) int
}

func (q *zoneQueue[T]) Len() int      { return len(q.zones) }
func (q *zoneQueue[T]) Swap(i, j int) { q.zones[i], q.zones[j] = q.zones[j], q.zones[i] }
func (q *zoneQueue[T]) Push(z any)    { q.zones = append(q.zones, z.(*zone[T])) }

func (q *zoneQueue[T]) Less(i, j int) bool {
	a, b := q.zones[i], q.zones[j]
	return cmp.Or(cmp.Compare(a.held, b.held), q.tie(a.waiting[0], b.waiting[0]), cmp.Compare(a.name, b.name)) < 0
}

func (q *zoneQueue[T]) Pop() any {
	last := len(q.zones) - 1
	z := q.zones[last]
	q.zones = q.zones[:last]
	return z
}
