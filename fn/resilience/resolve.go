package resilience

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// UnknownError is a change of something that the facts lack.
type UnknownError string

func (e UnknownError) Error() string { return string(e) }

// names finds what changes name: nodes, zones, disks and pools.
type names struct {
	facts  *inventory.Facts
	ledger *Ledger
}

// Resolve finds what each change names. The error is an UnknownError, or a UsageError for changes that contradict each other.
func Resolve(facts *inventory.Facts, ledger *Ledger, changes []Change) ([]Edit, error) {
	n := &names{facts, ledger}
	edits := make([]Edit, 0, len(changes))
	verbs := map[string]Change{} // the first change of each node
	for _, c := range changes {
		e := Edit{Change: c, damage: NewDamage()}
		if err := n.find(&e); err != nil {
			return nil, err
		}
		for _, node := range e.Nodes() {
			if first, found := verbs[node]; found && first.Verb != c.Verb {
				return nil, misuse("%s %s and %s %s are both about node %s; write one of them", first.Verb, first.Object, c.Verb, c.Object, node)
			}
			verbs[node] = c
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// Edit is a change with what it names.
type Edit struct {
	Change
	damage *Damage
	nodes  []*inventory.Node // that it loses, stops, drains, or adds to or like them
	disks  []*disk.Disk      // that it loses, or of which it adds others like the first
}

// Damage is what the change loses or stops.
func (e *Edit) Damage() *Damage { return e.damage }

// Nodes lists the nodes that the change is about.
func (e *Edit) Nodes() []string {
	names := make([]string, 0, len(e.nodes))
	for _, node := range e.nodes {
		names = append(names, node.Name)
	}
	return names
}

// condition is how what the change names fares.
func (e *Edit) condition() Condition {
	if e.Verb == Lose {
		return Gone
	}
	return Stopped
}

// find finds what a change names.
func (n *names) find(e *Edit) error {
	var err error
	switch {
	case e.Verb == Set:
		return nil
	case e.Verb == Add && e.kind == "node":
		e.nodes, err = n.node(e.like)
	case e.Verb == Add:
		if e.nodes, err = n.node(e.on); err == nil {
			e.disks, err = n.disk(e.like)
		}
	case e.kind == "node":
		e.nodes, err = n.node(e.name)
	case e.kind == "zone":
		if e.nodes, err = n.zone(e.name); err == nil {
			e.damage.Zones[e.name] = e.condition()
		}
	case e.kind == "nodes":
		e.nodes, err = n.labelled(e.name)
	case e.kind == "disk":
		e.disks, err = n.disk(e.name)
		for _, d := range e.disks {
			e.damage.Disks[d] = true
		}
	case e.kind == "pool":
		var p *Item
		if p, err = n.pool(e.name); err == nil {
			e.damage.Pools[krm.ID{Group: p.Object.Group(), Kind: p.Object.Kind, Namespace: p.Object.Namespace, Name: p.Object.Name}] = e.condition()
			if e.Verb == Lose && len(p.Rule.Nodes) == 1 { // of what is spread over nodes the disks are well
				e.disks = p.Rule.Disks
			}
		}
	}
	if e.Verb == Lose || e.Verb == Stop {
		for _, node := range e.nodes {
			e.damage.Nodes[node.Name] = e.condition()
		}
	}
	return err
}

// absent says that there is nothing of a name, and what it may be meant to be.
func absent(what, name string, names []string) error {
	near := schema.DidYouMean(name, names)
	if near == "" && len(names) > 0 {
		slices.Sort(names)
		near = "; there are " + finding.Names(slices.Compact(names))
	}
	return UnknownError(fmt.Sprintf("there is no %s %q%s", what, name, near))
}

func (n *names) node(name string) ([]*inventory.Node, error) {
	if node := n.facts.Node(name); node != nil {
		return []*inventory.Node{node}, nil
	}
	var names []string
	for _, node := range n.facts.Nodes {
		names = append(names, node.Name)
	}
	return nil, absent("Node", name, names)
}

func (n *names) zone(name string) ([]*inventory.Node, error) {
	var nodes []*inventory.Node
	for _, node := range n.facts.Nodes {
		if node.Zone == name {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 && n.ledger.byZone[name] == nil {
		return nil, absent("zone", name, slices.Collect(maps.Keys(n.ledger.zones)))
	}
	return nodes, nil
}

func (n *names) labelled(label string) ([]*inventory.Node, error) {
	key, value, _ := strings.Cut(label, "=")
	var nodes []*inventory.Node
	var labels []string
	for _, node := range n.facts.Nodes {
		for _, f := range node.Object.Node.Get("metadata", "labels").Fields() {
			labels = append(labels, f.Key+"="+f.Value.Value())
		}
		if node.Object.Node.Get("metadata", "labels", key) != nil && node.Object.Label(key) == value {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 {
		slices.Sort(labels)
		return nil, UnknownError(fmt.Sprintf("there is no Node with label %q%s", label, schema.DidYouMean(label, slices.Compact(labels))))
	}
	return nodes, nil
}

// disk finds a disk with all of its reports.
func (n *names) disk(name string) ([]*disk.Disk, error) {
	var found []*disk.Disk
	var names []string
	for _, d := range n.ledger.disks.Disks() {
		names = append(names, DiskName(d), d.Known().Serial, d.Known().WWN)
		if d.IsCalled(name) && !slices.Contains(found, d) {
			found = append(found, append([]*disk.Disk{d}, d.Others()...)...)
		}
	}
	switch {
	case len(found) == 0:
		return nil, absent("disk", name, slices.DeleteFunc(names, func(name string) bool { return name == "" }))
	case len(found) > 1+len(found[0].Others()):
		var where []string
		for _, d := range found {
			where = append(where, d.Ref().String())
		}
		return nil, UnknownError(fmt.Sprintf("%d disks are called %q: %s; write the serial number or the BlockDevice of one", len(found), name, finding.Names(where)))
	}
	return found, nil
}

// DiskName is what a person calls a disk: its BlockDevice, or else its serial number, WWN or path.
func DiskName(d *disk.Disk) string {
	known := d.Known()
	for _, name := range []string{d.Name().Name, known.Serial, known.WWN} {
		if name != "" {
			return name
		}
	}
	return d.Node + ":" + d.Path
}

// pool finds a pool by its name, or its namespace and name.
func (n *names) pool(name string) (*Item, error) {
	var found []*Item
	var names, where []string
	for i := range n.ledger.Pools {
		p := &n.ledger.Pools[i]
		names = append(names, p.Object.Name)
		if p.Object.Name == name || p.Object.Namespace+"/"+p.Object.Name == name {
			found = append(found, p)
			where = append(where, p.Object.String())
		}
	}
	switch len(found) {
	case 0:
		return nil, absent("pool", name, names)
	case 1:
		return found[0], nil
	}
	return nil, UnknownError(fmt.Sprintf("%d pools are called %q: %s; write NAMESPACE/NAME", len(found), name, finding.Names(where)))
}
