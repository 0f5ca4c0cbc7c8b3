package resilience

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
)

// Answer is what some changes do to the volumes and pools of a cluster. The names of its fields stay.
type Answer struct {
	Changes       []Change      `json:"changes"`
	Summary       Summary       `json:"summary"` // of the volumes, after the changes
	PoolsSummary  Summary       `json:"pools_summary"`
	SummaryBefore Summary       `json:"summary_before"`
	Volumes       []Row         `json:"volumes"`
	Pools         []Row         `json:"pools"`
	ThenFatal     []Fatal       `json:"then_fatal"`
	Every         string        `json:"every"` // node, zone, disk or ""
	Rows          []Loss        `json:"rows"`  // of every
	Drain         *DrainPlan    `json:"drain"` // null without one
	Requirements  []Requirement `json:"requirements"`
	NotModelled   []string      `json:"not_modelled"`
}

// Row is a volume or a pool.
type Row struct {
	System    string `json:"system"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Before    State  `json:"before"`
	After     State  `json:"after"`
	Worst     State  `json:"worst"`
	Copies    Copies `json:"copies"`
	Cause     string `json:"cause"` // the object of the first change at fault, or ""
	Remedy    string `json:"remedy"`
	Rebuild   struct {
		Where string `json:"where"`
		Bytes *int64 `json:"bytes"` // at most; null if it is not known
	} `json:"rebuild"`
}

// Ref names the volume or the pool.
func (r *Row) Ref() string {
	return finding.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// Copies are healthy replicas of a volume, or data disks of a pool; null if a number is not known.
type Copies struct {
	Want   *int `json:"want"`
	Need   *int `json:"need"`
	Before *int `json:"before"`
	After  *int `json:"after"`
}

// Fatal is a further node, zone or disk whose loss makes that many more volumes lost or stop.
type Fatal struct {
	Object string `json:"object"`
	Lost   int    `json:"lost"`
	Stops  int    `json:"stops"`
}

// Loss is the summary of the volumes without one more object.
type Loss struct {
	Object  string  `json:"object"`
	Summary Summary `json:"summary"`
}

// DrainPlan is how a node is drained, or several.
type DrainPlan struct {
	Node    string      `json:"node"`
	Renders int         `json:"renders"` // that change the output, if each step is done before the next
	Steps   []DrainStep `json:"steps"`
	Blocked string      `json:"blocked"` // why something stays on the node, or ""
}

// And is one drain after the other.
func (d *DrainPlan) And(next *DrainPlan) *DrainPlan {
	if d == nil {
		return next
	}
	return &DrainPlan{Node: d.Node + "," + next.Node, Renders: d.Renders + next.Renders, Steps: append(d.Steps, next.Steps...), Blocked: cmp.Or(d.Blocked, next.Blocked)}
}

// DrainStep is one step of it.
type DrainStep struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Course is a situation before some changes, and one after each of them.
type Course struct {
	Before *Situation
	steps  []*Situation
	edits  []Edit
}

// NewCourse applies changes, one after the other. after is the situation of the facts that they leave: that before, unless a change
// has moved data.
func NewCourse(before, after *Situation, edits []Edit) *Course {
	c := &Course{Before: before, edits: edits}
	for i := range edits {
		after = after.With(edits[i].damage)
		c.steps = append(c.steps, after)
	}
	if len(edits) == 0 {
		c.steps = []*Situation{after}
	}
	return c
}

// After is the situation after all changes.
func (c *Course) After() *Situation { return c.steps[len(c.steps)-1] }

// Answer is what the changes do.
func (c *Course) Answer() Answer {
	after := c.After()
	l := after.ledger
	a := Answer{
		Changes: []Change{}, Volumes: c.rows(l.Volumes, c.Before.ledger.Volumes), Pools: c.rows(l.Pools, c.Before.ledger.Pools),
		Summary: after.Summarize(l.Volumes), PoolsSummary: after.Summarize(l.Pools), SummaryBefore: c.Before.Summarize(c.Before.ledger.Volumes),
		ThenFatal: []Fatal{}, Rows: []Loss{}, Requirements: []Requirement{}, NotModelled: l.NotModelled,
	}
	for i := range c.edits {
		a.Changes = append(a.Changes, c.edits[i].Change)
	}
	for _, kind := range Kinds() {
		a.ThenFatal = append(a.ThenFatal, after.fatal(kind)...)
	}
	slices.SortFunc(a.ThenFatal, func(x, y Fatal) int {
		return cmp.Or(cmp.Compare(y.Lost, x.Lost), cmp.Compare(y.Stops, x.Stops), cmp.Compare(x.Object, y.Object))
	})
	return a
}

// rows are those of some items; was has them as they were before the changes.
func (c *Course) rows(items, was []Item) []Row {
	before := make(map[finding.Ref]Verdict, len(was))
	for i := range was {
		before[was[i].Object] = c.Before.Of(was[i].Rule)
	}
	rows := make([]Row, len(items))
	after := c.After()
	for i := range items {
		item := &items[i]
		v, first := after.Of(item.Rule), before[item.Object]
		r := Row{
			System: item.System, Kind: item.Object.Kind, Namespace: item.Object.Namespace, Name: item.Object.Name,
			Before: first.State, After: v.State, Worst: v.Worst,
			Copies: Copies{number(item.Want), number(item.Need), number(first.Left), number(v.Left)},
		}
		advice := Advice{Rebuild: Nothing()}
		if v.State != Safe {
			advice = item.Advise(after, v)
		}
		r.Remedy, r.Rebuild.Where = advice.Remedy, advice.Rebuild.Where
		if advice.Rebuild.Bytes != None {
			r.Rebuild.Bytes = &advice.Rebuild.Bytes
		}
		if v != first {
			r.Cause = c.cause(item.Rule, first)
		}
		rows[i] = r
	}
	return rows
}

func number(n int) *int {
	if n == None {
		return nil
	}
	return &n
}

// cause is the object of the first change after which a rule says something worse than before.
func (c *Course) cause(r *Rule, before Verdict) string {
	for i := range c.edits {
		v := c.steps[i].Of(r)
		if v.Worst.WorseThan(before.Worst) || v.State != before.State && v.Worst == before.Worst || v.Left < before.Left {
			return c.edits[i].Object
		}
	}
	return ""
}

// Kinds lists of what the loss can be asked.
func Kinds() []string { return []string{"node", "zone", "disk"} }

// further is one more object that can be lost.
type further struct {
	object string
	damage *Damage
}

// further lists the objects of a kind that are not gone yet, by name. Of disks those that a volume or a pool is on.
func (s *Situation) further(kind string) []further {
	var all []further
	switch kind {
	case "node":
		for _, name := range slices.Sorted(maps.Keys(s.ledger.nodes)) {
			if s.Node(name) != Gone {
				all = append(all, further{"node/" + name, lossOf(name)})
			}
		}
	case "zone":
		for _, name := range s.ledger.zoneNames() {
			if s.Zone(name) != Gone {
				d := lossOf(s.ledger.zones[name]...)
				d.Zones = map[string]Condition{name: Gone}
				all = append(all, further{"zone/" + name, d})
			}
		}
	case "disk":
		for _, on := range s.ledger.pooled() {
			if !s.IsLost(on) && s.Node(s.ledger.disks.NodeOf(on)) != Gone {
				d := &Damage{Disks: map[*disk.Disk]bool{on: true}}
				for _, report := range on.Others() {
					d.Disks[report] = true
				}
				all = append(all, further{"disk/" + DiskName(on), d})
			}
		}
	}
	return all
}

// fatal lists the further objects of a kind whose loss makes volumes lost or stop.
func (s *Situation) fatal(kind string) []Fatal {
	var all []Fatal
	for _, more := range s.further(kind) {
		f := Fatal{Object: more.object}
		with := s.With(more.damage)
		for _, r := range with.hit {
			n := s.ledger.volumes[r.id]
			if n == 0 {
				continue
			}
			switch now, was := with.Of(r).State, s.Of(r).State; {
			case now == Lost && was != Lost:
				f.Lost += n
			case now == Stops && was != Stops && was != Lost:
				f.Stops += n
			}
		}
		if f.Lost+f.Stops > 0 {
			all = append(all, f)
		}
	}
	return all
}

// Every lists the summary of the volumes without each object of a kind, the worst first. added are nodes that are empty.
func (s *Situation) Every(kind string, added []string) []Loss {
	base := s.Summarize(s.ledger.Volumes)
	rows := []Loss{}
	for _, more := range s.further(kind) {
		rows = append(rows, Loss{more.object, s.With(more.damage).summaryOn(base)})
	}
	if kind == "node" {
		for _, name := range added {
			rows = append(rows, Loss{"node/" + name, base})
		}
	}
	slices.SortStableFunc(rows, func(a, b Loss) int { return cmp.Or(a.Summary.compare(b.Summary), cmp.Compare(a.Object, b.Object)) })
	return rows
}

// zoneNames are the zones of nodes, and those of cloud disks.
func (l *Ledger) zoneNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(l.zones)), maps.Keys(l.byZone))
	slices.Sort(names)
	return slices.Compact(names)
}

// pooled lists the disks that a volume or a pool is on, each once, by name.
func (l *Ledger) pooled() []*disk.Disk {
	type named struct {
		name string
		disk *disk.Disk
	}
	all := make([]named, 0, len(l.byDisk))
	seen := make(map[*disk.Disk]bool, len(l.byDisk))
	for d := range l.byDisk {
		if seen[d] || slices.ContainsFunc(d.Others(), func(other *disk.Disk) bool { return seen[other] }) {
			continue
		}
		seen[d] = true
		all = append(all, named{DiskName(d), d})
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.disk.Node, b.disk.Node))
	})
	disks := make([]*disk.Disk, len(all))
	for i := range all {
		disks[i] = all[i].disk
	}
	return disks
}
