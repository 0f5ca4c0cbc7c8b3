package localvolume

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// choose makes what is wanted more on each node, and says of the rest why not.
func (t *template) choose() {
	var few []string
	for _, n := range t.Facts.Nodes {
		if why := t.chooseOn(n); why != "" {
			few = append(few, why)
		}
	}
	for _, i := range t.items {
		if t.Facts.Node(i.node) == nil {
			t.Decide(system.NodeRef(i.node), i.node, "", place.Held, "it is missing from the inventory, and what is on it is held")
		}
	}
	slices.SortFunc(t.items, byNumber)
	switch {
	case len(few) > 0:
		t.Report(finding.Warning, "few-disks", "spec.diskSelector", "too few eligible disks on %s; the rest is made when there are more: poolwright explain says why each is refused", finding.Names(few))
	case len(t.items) == 0:
		t.Report(finding.Warning, "no-objects", "", "nothing can be made: no node that is selected has an eligible disk; poolwright explain says why each is refused")
	}
}

// chooseOn makes what a node lacks, and says what it lacks then, or "".
func (t *template) chooseOn(n *inventory.Node) (lacks string) {
	has := 0
	for _, i := range t.items {
		if i.node == n.Name {
			has++
		}
	}
	kept := has
	refused := place.RefuseHostname(n, t.Facts)
	if !t.selects(n) {
		refused = "it is not selected by spec.nodeSelector"
	}
	if refused == "" {
		short := t.grow(n)
		for has < t.cfg.Spec.PerNode && t.make(n) {
			has++
		}
		if want := t.cfg.Spec.PerNode; has < want || short != "" {
			nearest := t.nearest(n)
			if has == want {
				lacks = fmt.Sprintf("%s (%s%s)", n.Name, short, nearest)
			} else if has > 0 || len(t.cfg.Spec.NodeSelector.NodeSelectorTerms) > 0 {
				lacks = fmt.Sprintf("%s (%d of %s%s)", n.Name, has, finding.Count(want, t.kind()), nearest)
			}
			if has == 0 {
				refused = "it has too few eligible disks" + nearest
			}
		}
	}
	switch {
	case kept > 0 && refused != "":
		t.Decide(system.NodeRef(n.Name), n.Name, "", place.Held, refused+"; what is on it is held")
	case kept > 0:
		t.Decide(system.NodeRef(n.Name), n.Name, "", place.Kept, "what is on it is rendered already")
	case has > 0:
		t.Decide(system.NodeRef(n.Name), n.Name, "", place.Chosen, "it is selected, and can have "+finding.Count(has, t.kind()))
	default:
		t.Decide(system.NodeRef(n.Name), n.Name, "", place.Refused, refused)
	}
	t.explainRest(n, refused)
	return lacks
}

// grow gives the groups of a node the disks that they lack, and says which one lacks any then,
// or "".
func (t *template) grow(n *inventory.Node) (short string) {
	for _, i := range t.items {
		if i.node != n.Name || i.held != "" || t.kind() != groupKind || len(i.devices) == 0 {
			continue
		}
		for len(i.devices) < t.disksEach() {
			taken := t.candidates(n, i.name, 1)
			if len(taken) == 0 {
				return fmt.Sprintf("%s has %d of %s", t.called(i), len(i.devices), finding.Count(t.disksEach(), "disk"))
			}
			t.take(n, i, taken)
		}
	}
	return ""
}

// make makes one object more on a node, and reports whether it could.
func (t *template) make(n *inventory.Node) bool {
	name, free := t.nextName(n)
	i := &item{name: name, node: n.Name}
	if shared := t.shared(n); free && shared != nil {
		t.put(i, shared)
		t.Decide(shared.Ref(), n.Name, t.role(), place.Chosen, "it has room for "+name+", too")
		t.items = append(t.items, i)
		return true
	}
	taken := t.candidates(n, name, t.disksEach())
	if !free || len(taken) < t.disksEach() {
		return false
	}
	t.take(n, i, taken)
	t.items = append(t.items, i)
	return true
}

// shared is a disk of a node on which partitions of the template are that has room for one
// more, or nil. Whether it may be used is known of them.
func (t *template) shared(n *inventory.Node) *disk.Disk {
	size := t.partitionSize()
	if size == 0 {
		return nil
	}
	on := map[*disk.Disk]int64{}
	for _, i := range t.items {
		if i.node == n.Name && i.held == "" && len(i.disks) > 0 && i.disks[0] != nil {
			on[i.disks[0]] += size
		}
	}
	for _, there := range t.Disks.On(n) {
		if used := on[there]; used > 0 && used+size <= partitionRoom(there) {
			return there
		}
	}
	return nil
}

// partitionSize is how much of a disk an object takes that is a part of one, in bytes; 0 for
// any other.
func (t *template) partitionSize() int64 {
	of := t.wanted().Get(partition)
	if of == nil {
		return 0
	}
	size := readAmount(of, "size")
	return roundUp(size.bytes, mebi)
}

// nextName is the first name of a node that is free. One that an object of another node has
// is an error.
func (t *template) nextName(n *inventory.Node) (name string, free bool) {
	for number := 1; ; number++ {
		name = itemName(t.Object.Name, n.Name, number)
		if at := slices.IndexFunc(t.items, func(i *item) bool { return i.name == name }); at >= 0 {
			if other := t.items[at].node; other != n.Name {
				t.Report(finding.Error, "names-meet", "spec.nodeSelector", "%s %s would be of both node %s and node %s; write a template of another name for one of them", t.kind(), name, other, n.Name)
				return name, false
			}
			continue
		}
		live := t.Facts.Object(t.id(name))
		if t.leaves[name] || live != nil && live.Owner() == t.owner {
			continue // it is on its way out
		}
		return name, true
	}
}

// take puts an object on disks.
func (t *template) take(n *inventory.Node, i *item, disks []*disk.Disk) {
	for _, there := range disks {
		t.Disks.Take(there, t.Object.Ref, t.owner)
		t.put(i, there)
		t.Decide(there.Ref(), n.Name, t.role(), place.Chosen, "the smallest eligible disk that is left on the node, for "+i.name)
	}
	t.use(disks)
}

// put remembers that an object is on a disk.
func (t *template) put(i *item, there *disk.Disk) {
	i.devices, i.disks = append(i.devices, pin(there)), append(i.disks, there)
}

// candidates are the first disks of a node that a new use may be on, the smallest first.
func (t *template) candidates(n *inventory.Node, name string, count int) []*disk.Disk {
	var found []*disk.Disk
	for _, there := range t.Disks.On(n) {
		if len(found) < count && !t.used[there] && t.refuse(n, there, name) == "" {
			found = append(found, there)
		}
	}
	return found
}

// want is what a disk must meet for an object of a name.
func (t *template) want(n *inventory.Node, name string) disk.Want {
	return disk.Want{
		Node: n, MinCapacity: t.cfg.minCapacity, Owner: ownerOf(t.kind(), name),
		Mine: func(h disk.Holder) bool { return h.Owner == t.owner },
	}
}

// refuse says why a disk cannot be taken for an object of a name, or "".
func (t *template) refuse(n *inventory.Node, there *disk.Disk, name string) string {
	if reason := t.Disks.Verdict(there, t.want(n, name)).Reason(); reason != "" {
		return reason
	}
	known := there.Known()
	switch {
	case !t.selectsDisk(there):
		return "it is not selected by spec.diskSelector"
	case known.WWN == "" && known.Serial == "":
		return "it has neither a WWN nor a serial number by which it could be known again"
	case t.givenUp[there] != "":
		return "its " + t.givenUp[there] + " was given up"
	}
	for _, h := range there.Holders() {
		if h.Source == disk.Live && h.Owner == t.owner && !t.renders(h.Object.Name) {
			return "its " + h.Object.Kind + " " + h.Object.Name + " was given up, and still lives"
		}
	}
	return ""
}

func (t *template) renders(name string) bool {
	return slices.ContainsFunc(t.items, func(i *item) bool { return i.name == name })
}

// nearest says why the disks of a node are refused.
func (t *template) nearest(n *inventory.Node) string {
	var refusals []place.Refusal
	for _, there := range t.Disks.On(n) {
		if t.used[there] {
			continue
		}
		if reason := t.refuse(n, there, itemName(t.Object.Name, n.Name, 1)); reason != "" {
			refusals = append(refusals, place.Refusal{Reason: reason, Size: there.Size()})
		}
	}
	if len(refusals) == 0 {
		return ""
	}
	return ": " + place.Summarize(refusals)
}

// explainRest says of the disks of a node that nothing is on why.
func (t *template) explainRest(n *inventory.Node, refused string) {
	if t.disksEach() == 0 {
		return
	}
	for _, there := range t.Disks.On(n) {
		if t.used[there] || t.givenUp[there] != "" {
			continue
		}
		switch reason := t.refuse(n, there, itemName(t.Object.Name, n.Name, 1)); {
		case reason != "":
			t.Decide(there.Ref(), n.Name, "", place.Refused, reason)
		case refused != "":
			t.Decide(there.Ref(), n.Name, "", place.Free, "its node gets nothing new: "+refused)
		default:
			t.Decide(there.Ref(), n.Name, "", place.Free, "enough disks were chosen without it")
		}
	}
}
