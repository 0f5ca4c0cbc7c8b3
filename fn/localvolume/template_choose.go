package localvolume

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// choose makes what is wanted more on each node, and says of the rest why not.
func (t *template) choose() {
	var few, waiting []string
	var holding []*inventory.Node
	for _, n := range t.Facts.Nodes {
		on := t.on(n)
		if on.count() > 0 {
			holding = append(holding, n)
		}
		lacks, why := on.choose()
		switch {
		case why != "":
			waiting = append(waiting, n.Name+" ("+why+")")
		case lacks != "":
			few = append(few, lacks)
		}
	}
	for _, i := range t.items {
		if t.Facts.Node(i.node) == nil {
			t.Decide(system.NodeRef(i.node), i.node, "", place.Held, "it is missing from the inventory, and what is on it is held")
		}
	}
	slices.SortFunc(t.items, byNumber)
	t.WarnOfNodes(holding, func(n *inventory.Node) string { return place.RefuseRun(n, place.DaemonTolerations()) })
	if len(waiting) > 0 {
		t.Report(finding.Warning, "node-waits", "", "nothing is made on %s; the rest is made when that is over", finding.Names(waiting))
	}
	switch why := prerequisite.NoReports(t.Facts); {
	case why != "" && t.cfg.disksEach() > 0 && len(t.items) == 0:
		t.Report(finding.Warning, noObjects, "", "nothing can be made: %s, or run the node agent; poolwright doctor shows what else is missing", why)
	case len(few) > 0:
		t.Report(finding.Warning, fewDisks, "spec.diskSelector", "too few eligible disks on %s; the rest is made when there are more: poolwright explain says why each is refused", finding.Names(few))
	case len(t.items) == 0 && len(waiting) == 0:
		t.Report(finding.Warning, noObjects, "", "nothing can be made: no node that is selected has an eligible disk; poolwright explain says why each is refused")
	}
}

// templateNode is a node on which a template makes objects.
type templateNode struct {
	*template
	node *inventory.Node
}

func (t *template) on(n *inventory.Node) *templateNode { return &templateNode{t, n} }

// count is how many objects of the template are on the node.
func (o *templateNode) count() int {
	n := 0
	for _, i := range o.items {
		if i.node == o.node.Name {
			n++
		}
	}
	return n
}

// choose makes what the node lacks, and says what it lacks then, or "", and why that waits
// for the node, or "".
func (o *templateNode) choose() (lacks, waits string) {
	has := o.count()
	kept := has
	refused := place.RefuseHostname(o.node, o.Facts)
	if !o.cfg.selects(o.node) {
		refused = "it is not selected by spec.nodeSelector"
	}
	if why := place.RefuseNew(o.node, place.DaemonTolerations()); refused == "" && why != "" {
		return "", o.wait(kept, why)
	}
	if refused == "" {
		short := o.grow()
		for has < o.cfg.Spec.PerNode && o.make() {
			has++
		}
		if want := o.cfg.Spec.PerNode; has < want || short != "" {
			nearest := o.nearest()
			if len(o.Disks.On(o.node)) == 0 {
				nearest = ": nobody reports a disk of it"
			}
			if has == want {
				lacks = fmt.Sprintf("%s (%s%s)", o.node.Name, short, nearest)
			} else if has > 0 || len(o.cfg.Spec.NodeSelector.NodeSelectorTerms) > 0 {
				lacks = fmt.Sprintf("%s (%d of %s%s)", o.node.Name, has, finding.Count(want, o.cfg.kind()), nearest)
			}
			if has == 0 {
				refused = "it has too few eligible disks" + nearest
			}
		}
	}
	switch {
	case kept > 0 && refused != "":
		o.Decide(system.NodeRef(o.node.Name), o.node.Name, "", place.Held, refused+"; what is on it is held")
	case kept > 0:
		o.Decide(system.NodeRef(o.node.Name), o.node.Name, "", place.Kept, "what is on it is rendered already")
	case has > 0:
		o.Decide(system.NodeRef(o.node.Name), o.node.Name, "", place.Chosen, "it is selected, and can have "+finding.Count(has, o.cfg.kind()))
	default:
		o.Decide(system.NodeRef(o.node.Name), o.node.Name, "", place.Refused, refused)
	}
	o.explainRest(refused)
	return lacks, ""
}

// wait makes nothing on a node for now. It returns why, or "" where the node has all that is
// wanted.
func (o *templateNode) wait(kept int, why string) (waits string) {
	if kept > 0 {
		o.Decide(system.NodeRef(o.node.Name), o.node.Name, "", place.Kept, "what is on it is rendered already; it gets nothing new, since "+why)
	} else {
		o.Decide(system.NodeRef(o.node.Name), o.node.Name, "", place.Refused, why)
	}
	o.explainRest(why)
	if kept >= o.cfg.Spec.PerNode {
		return ""
	}
	return why
}

// grow gives the groups of a node the disks that they lack, and says which one lacks any then,
// or "".
func (o *templateNode) grow() (short string) {
	for _, i := range o.items {
		if i.node != o.node.Name || i.held != "" || o.cfg.kind() != groupKind || len(i.devices) == 0 {
			continue
		}
		for len(i.devices) < o.cfg.disksEach() {
			taken := o.candidates(i.name, 1)
			if len(taken) == 0 {
				return fmt.Sprintf("%s has %d of %s", o.called(i), len(i.devices), finding.Count(o.cfg.disksEach(), "disk"))
			}
			o.take(i, taken)
		}
	}
	return ""
}

// make makes one object more on a node, and reports whether it could.
func (o *templateNode) make() bool {
	name, free := o.nextName()
	i := &item{name: name, node: o.node.Name}
	if shared := o.shared(); free && shared != nil {
		o.put(i, shared)
		o.Decide(shared.Ref(), o.node.Name, o.cfg.role(), place.Chosen, "it has room for "+name+", too")
		o.items = append(o.items, i)
		return true
	}
	taken := o.candidates(name, o.cfg.disksEach())
	if !free || len(taken) < o.cfg.disksEach() {
		return false
	}
	o.take(i, taken)
	o.items = append(o.items, i)
	return true
}

// shared is a disk of a node on which partitions of the template are that has room for one
// more, or nil. Whether it may be used is known of them.
func (o *templateNode) shared() *disk.Disk {
	size := o.cfg.partitionSize()
	if size == 0 {
		return nil
	}
	on := map[*disk.Disk]int64{}
	for _, i := range o.items {
		if i.node == o.node.Name && i.held == "" && len(i.disks) > 0 && i.disks[0] != nil {
			on[i.disks[0]] += size
		}
	}
	for _, there := range o.Disks.On(o.node) {
		if used := on[there]; used > 0 && used+size <= partitionRoom(there) {
			return there
		}
	}
	return nil
}

// partitionSize is how much of a disk an object takes that is a part of one, in bytes; 0 for
// any other.
func (c *templateConfig) partitionSize() int64 {
	of := c.wanted.Get(partition)
	if of == nil {
		return 0
	}
	size := readAmount(of, "size")
	return roundUp(size.bytes, mebi)
}

// nextName is the first name of a node that is free. One that an object of another node has
// is an error.
func (o *templateNode) nextName() (name string, free bool) {
	for number := 1; ; number++ {
		name = itemName(o.Object.Name, o.node.Name, number)
		if at := slices.IndexFunc(o.items, func(i *item) bool { return i.name == name }); at >= 0 {
			if other := o.items[at].node; other != o.node.Name {
				o.Report(finding.Error, "names-meet", "spec.nodeSelector", "%s %s would be of both node %s and node %s; write a template of another name for one of them", o.cfg.kind(), name, other, o.node.Name)
				return name, false
			}
			continue
		}
		live := o.Facts.Object(o.cfg.id(name))
		if o.leaves[name] || live != nil && live.Owner() == o.owner {
			continue // it is on its way out
		}
		return name, true
	}
}

// take puts an object on disks.
func (o *templateNode) take(i *item, disks []*disk.Disk) {
	for _, there := range disks {
		o.Disks.Take(there, o.Object.Ref, o.owner)
		o.put(i, there)
		o.Decide(there.Ref(), o.node.Name, o.cfg.role(), place.Chosen, "the smallest eligible disk that is left on the node, for "+i.name)
	}
	o.use(disks)
}

// put remembers that an object is on a disk.
func (t *template) put(i *item, there *disk.Disk) {
	i.devices, i.disks = append(i.devices, pin(there)), append(i.disks, there)
}

// candidates are the first disks of a node that a new use may be on, the smallest first.
func (o *templateNode) candidates(name string, count int) []*disk.Disk {
	var found []*disk.Disk
	for _, there := range o.Disks.On(o.node) {
		if len(found) < count && !o.used[there] && o.refuse(there, name) == "" {
			found = append(found, there)
		}
	}
	return found
}

// want is what a disk must meet for an object of a name.
func (o *templateNode) want(name string) disk.Want {
	return disk.Want{
		Node: o.node, MinCapacity: o.cfg.minCapacity, Owner: ownerOf(o.cfg.kind(), name),
		Mine: func(h disk.Holder) bool { return h.Owner == o.owner },
	}
}

// refuse says why a disk cannot be taken for an object of a name, or "".
func (o *templateNode) refuse(there *disk.Disk, name string) string {
	if reason := o.Disks.Verdict(there, o.want(name)).Reason(); reason != "" {
		return reason
	}
	known := there.Known()
	switch {
	case !o.cfg.selectsDisk(there):
		return "it is not selected by spec.diskSelector"
	case known.WWN == "" && known.Serial == "":
		return "it has neither a WWN nor a serial number by which it could be known again"
	case o.givenUp[there] != "":
		return "its " + o.givenUp[there] + " was given up"
	}
	for _, h := range there.Holders() {
		if h.Source == disk.Live && !h.Assumed && h.Owner == o.owner && !o.renders(h.Object.Name) {
			return "its " + h.Object.Kind + " " + h.Object.Name + " was given up, and still exists"
		}
		if h.Assumed && !o.renders(h.Object.Name) {
			return "it is taken by " + h.String()
		}
	}
	return ""
}

func (t *template) renders(name string) bool {
	return slices.ContainsFunc(t.items, func(i *item) bool { return i.name == name })
}

// nearest says why the disks of a node are refused.
func (o *templateNode) nearest() string {
	var refusals []place.Refusal
	for _, there := range o.Disks.On(o.node) {
		if o.used[there] {
			continue
		}
		if reason := o.refuse(there, itemName(o.Object.Name, o.node.Name, 1)); reason != "" {
			refusals = append(refusals, place.Refusal{Reason: reason, Size: there.Size()})
		}
	}
	if len(refusals) == 0 {
		return ""
	}
	return ": " + place.Summarize(refusals)
}

// explainRest says of the disks of a node that nothing is on why.
func (o *templateNode) explainRest(refused string) {
	if o.cfg.disksEach() == 0 {
		return
	}
	for _, there := range o.Disks.On(o.node) {
		if o.used[there] || o.givenUp[there] != "" {
			continue
		}
		switch reason := o.refuse(there, itemName(o.Object.Name, o.node.Name, 1)); {
		case reason != "":
			o.Decide(there.Ref(), o.node.Name, "", place.Refused, reason)
		case refused != "":
			o.Decide(there.Ref(), o.node.Name, "", place.Free, "its node gets nothing new: "+refused)
		default:
			o.Decide(there.Ref(), o.node.Name, "", place.Free, "enough disks were chosen without it")
		}
	}
}
