package resilience

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Ledger is the volumes and pools of all systems, with what each of them depends on.
type Ledger struct {
	Volumes, Pools []Item // sorted by kind, namespace and name
	NotModelled    []string

	disks   *disk.Ledger
	rules   []*Rule         // by their ids; the first is nil
	users   [][]*Rule       // by the id of a rule: those that ask it
	volumes []int           // by the id of a rule: how many volumes it judges
	depth   int             // of the deepest rule
	nodes   map[string]bool // those of the facts, nil if the facts have none
	zones   map[string][]string
	byNode  map[string][]*Rule
	byZone  map[string][]*Rule
	byDisk  map[*disk.Disk][]*Rule
	byPool  map[krm.ID][]*Rule
	anyNode []*Rule
	today   *Situation
}

// NewLedger puts the storage of all systems together.
func NewLedger(facts *inventory.Facts, disks *disk.Ledger, storages ...Storage) *Ledger {
	l := &Ledger{
		disks: disks, rules: make([]*Rule, 1), zones: map[string][]string{},
		byNode: map[string][]*Rule{}, byZone: map[string][]*Rule{}, byDisk: map[*disk.Disk][]*Rule{}, byPool: map[krm.ID][]*Rule{},
	}
	for _, s := range storages {
		l.Volumes = append(l.Volumes, s.Volumes...)
		l.Pools = append(l.Pools, s.Pools...)
	}
	for _, items := range [][]Item{l.Volumes, l.Pools} {
		slices.SortFunc(items, compareItems)
		for i := range items {
			l.enter(items[i].Rule)
		}
	}
	l.volumes, l.users = make([]int, len(l.rules)), make([][]*Rule, len(l.rules))
	for i := range l.Volumes {
		l.volumes[l.Volumes[i].Rule.id]++
	}
	for _, r := range l.rules[1:] {
		for _, on := range r.On {
			l.users[on.id] = append(l.users[on.id], r)
		}
	}
	if len(facts.Nodes) > 0 {
		l.nodes = make(map[string]bool, len(facts.Nodes))
	}
	for _, n := range facts.Nodes {
		l.nodes[n.Name] = true
		if n.Zone != "" {
			l.zones[n.Zone] = append(l.zones[n.Zone], n.Name)
		}
	}
	l.NotModelled = notModelled(facts, storages)
	l.today = &Situation{ledger: l, damage: today(facts), verdicts: make(map[int]*Verdict, len(l.rules))}
	return l
}

func compareItems(a, b Item) int {
	return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name), cmp.Compare(a.System, b.System))
}

// enter notes what a rule depends on, once.
func (l *Ledger) enter(r *Rule) {
	if r.id > 0 {
		return
	}
	for _, on := range r.On {
		l.enter(on)
		r.depth = max(r.depth, on.depth+1)
	}
	l.depth = max(l.depth, r.depth)
	r.id = len(l.rules)
	l.rules = append(l.rules, r)
	for _, name := range r.Nodes {
		l.byNode[name] = append(l.byNode[name], r)
	}
	for _, name := range r.Zones {
		l.byZone[name] = append(l.byZone[name], r)
	}
	for _, d := range r.Disks {
		l.byDisk[d] = append(l.byDisk[d], r)
	}
	for _, id := range r.Pools {
		l.byPool[id] = append(l.byPool[id], r)
	}
	if r.AnyNode {
		l.anyNode = append(l.anyNode, r)
	}
}

// Today is the situation of the facts.
func (l *Ledger) Today() *Situation { return l.today }

// Disks is the account of the disks.
func (l *Ledger) Disks() *disk.Ledger { return l.disks }

// nodeNames are those of the facts.
func (l *Ledger) nodeNames() []string { return slices.Sorted(maps.Keys(l.nodes)) }

// Names lists the nodes, zones, disks in use or pools that changes may name.
func (l *Ledger) Names(kind string) []string {
	var names []string
	switch kind {
	case "node":
		return l.nodeNames()
	case "zone":
		return l.zoneNames()
	case "disk":
		for _, d := range l.pooled() {
			names = append(names, DiskName(d))
		}
	case "pool":
		for i := range l.Pools {
			names = append(names, l.Pools[i].Object.Name)
		}
	}
	return names
}

// On lists the pools, and the volumes without a pool, that have data on a node.
func (l *Ledger) On(node string) []string {
	var names []string
	for i := range l.Pools {
		if slices.Contains(l.Pools[i].Rule.Nodes, node) {
			names = append(names, l.Pools[i].Object.String())
		}
	}
	for i := range l.Volumes {
		if r := l.Volumes[i].Rule; len(r.On) == 0 && slices.Contains(r.Nodes, node) {
			names = append(names, l.Volumes[i].Object.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ZoneOf is the zone of a node, a disk in use or a zone, "" if it is not known.
func (l *Ledger) ZoneOf(kind, name string) string {
	switch kind {
	case "zone":
		return name
	case "disk":
		for _, d := range l.pooled() {
			if DiskName(d) == name {
				name = l.disks.NodeOf(d)
				break
			}
		}
	}
	for zone, nodes := range l.zones {
		if slices.Contains(nodes, name) {
			return zone
		}
	}
	return ""
}

// With is a situation with more damage.
func (s *Situation) With(d *Damage) *Situation {
	with := &Situation{ledger: s.ledger, base: s, damage: d, verdicts: map[int]*Verdict{}}
	for name := range d.Nodes {
		with.strike(s.ledger.byNode[name])
	}
	for name := range d.Zones {
		with.strike(s.ledger.byZone[name])
	}
	for hit := range d.Disks {
		with.strike(s.ledger.byDisk[hit])
	}
	for id := range d.Pools {
		with.strike(s.ledger.byPool[id])
	}
	if len(d.Nodes) > 0 {
		with.strike(s.ledger.anyNode)
	}
	for depth := range s.ledger.depth { // a rule is judged after those that it asks
		for _, r := range with.hit {
			if r.depth == depth && len(s.ledger.users[r.id]) > 0 && !with.Of(r).servesAs(s.Of(r)) {
				with.strike(s.ledger.users[r.id])
			}
		}
	}
	return with
}

// strike marks rules that the damage hits.
func (s *Situation) strike(rules []*Rule) {
	for _, r := range rules {
		if _, hit := s.verdicts[r.id]; !hit {
			s.verdicts[r.id] = nil
			s.hit = append(s.hit, r)
		}
	}
}

// notModelled lists what no verdict takes into account.
func notModelled(facts *inventory.Facts, storages []Storage) []string {
	covered := map[string]bool{}
	for _, s := range storages {
		for _, name := range s.Covered {
			covered[name] = true
		}
	}
	drivers := map[string]int{}
	for _, v := range facts.Volumes() {
		if v.Driver != "" && !covered[v.Name] {
			drivers[v.Driver]++
		}
	}
	lines := append([]string{"rebuild time", "network", "load", "target restarts"}, counted(drivers)...)
	for _, s := range storages {
		if s.Empty > 0 {
			lines = append(lines, finding.Count(s.Empty, "volume")+" without data yet")
		}
		unlisted := "volumes of kind " + s.VolumeKind.Kind + ", which the inventory does not contain"
		if len(s.Pools) > 0 && !facts.Has(s.VolumeKind) && !slices.Contains(lines, unlisted) {
			lines = append(lines, unlisted)
		}
	}
	return lines
}
