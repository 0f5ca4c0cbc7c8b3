package localvolume

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// keep takes over the objects of earlier runs and those that live, and frees the disks of
// those that go.
func (t *template) keep() {
	if !t.KnowsNodes(t.Facts) {
		return
	}
	if t.checkSelectors(); t.Failed() {
		return
	}
	locked := t.locked()
	if t.everyNodeMissing(locked) {
		return
	}
	t.markSurplus(locked)
	t.was = locked
	for _, i := range locked {
		if t.stays(i) {
			t.items = append(t.items, i)
			t.use(i.disks)
			t.use(i.moved)
		}
	}
}

// locked are the objects of earlier runs, and those that live as ours and that the output has
// lost, by name.
func (t *template) locked() []*item {
	var items []*item
	tells := t.Facts.Tells(group, t.cfg.kind(), "")
	for _, o := range t.Before {
		switch {
		case o.Group() != group:
		case o.Kind == t.cfg.kind():
			i := t.itemOf(o, tells && t.Facts.Object(o.ID()) == nil)
			i.gone = i.gone && (i.consent || !t.noNode && !t.noDisk) // else nothing can take its place
			items = append(items, i)
		case t.allows(o.Kind, o.Name) && t.mayLeave(o): // of before the kind was changed
			t.released[o.ID()] = true
		}
	}
	isLocked := make(map[string]bool, len(items))
	for _, i := range items {
		isLocked[i.name] = true
	}
	for _, o := range t.Facts.Objects(group, t.cfg.kind()) {
		if o.Owner() != t.owner || isLocked[o.Name] || o.Deleting() || t.allows(o.Kind, o.Name) {
			continue
		}
		t.Report(finding.Warning, "taken-back", "", "%s %s is restored: it exists but was missing from the output", o.Kind, o.Name)
		items = append(items, t.itemOf(o, false))
	}
	slices.SortFunc(items, byNumber)
	return items
}

// byNumber orders objects so that of those of a node -2 comes before -10.
func byNumber(a, b *item) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
}

func (t *template) itemOf(o *krm.Object, gone bool) *item {
	l := lockOfObject(o)
	i := &item{name: o.Name, node: o.Node.Str("spec", "nodeName"), devices: l.disks, before: o, gone: gone, consent: t.allows(o.Kind, o.Name)}
	for _, of := range i.devices {
		there := t.find(i.node, of)
		i.disks = append(i.disks, there)
		if elsewhere := t.elsewhere(of); there == nil && elsewhere != nil {
			i.moved = append(i.moved, elsewhere)
		}
	}
	return i
}

// elsewhere finds a disk on whatever node it is reported of: it was carried over, or its node has another name
// now. It is held there, too. nil where nobody reports it.
func (t *template) elsewhere(of device) *disk.Disk {
	for _, there := range t.Disks.Named(of.hold("", "")) {
		if !there.Missing() && !there.Inactive() {
			return there
		}
	}
	return nil
}

// find looks for a disk on a node; nil where it is not reported.
func (t *template) find(node string, of device) *disk.Disk {
	for _, there := range t.Disks.Named(of.hold(node, "")) {
		if !there.Missing() && !there.Inactive() && t.Disks.NodeOf(there) == node {
			return there
		}
	}
	return nil
}

func (t *template) use(disks []*disk.Disk) {
	for _, there := range disks {
		if there == nil {
			continue
		}
		t.used[there] = true
		for _, same := range there.Others() {
			t.used[same] = true
		}
	}
}

// everyNodeMissing reports, as an error, that no node of the objects is in the snapshot.
func (t *template) everyNodeMissing(locked []*item) bool {
	var names []string
	for _, i := range locked {
		switch {
		case i.gone, i.consent: // not there to be counted in the next run
			continue
		case t.Facts.Node(i.node) != nil, len(i.moved) > 0: // the snapshot is of this cluster
			return false
		}
		if !slices.Contains(names, i.node) {
			names = append(names, i.node)
		}
	}
	if len(names) == 0 {
		return false
	}
	t.Report(finding.Error, "all-nodes-missing", "",
		"every node of the rendered objects (%s) is missing from the inventory; the snapshot is from another cluster or incomplete, refresh it; if the nodes and their data are permanently gone, annotate the template with %s: %s/%s",
		finding.Names(names), krm.AnnotationAllowRemoval, templateKind, t.Object.Name)
	return true
}

// markSurplus says of what is too many on a node that it is: what may go first, then the
// highest numbers.
func (t *template) markSurplus(locked []*item) {
	on := map[string][]*item{}
	for _, i := range locked {
		on[i.node] = append(on[i.node], i)
	}
	for _, items := range on {
		rank := func(i *item) int {
			if i.gone || i.consent {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(items, func(a, b *item) int { return cmp.Or(rank(a)-rank(b), byNumber(a, b)) })
		for at := t.cfg.Spec.PerNode; at < len(items); at++ {
			items[at].held = "spec.perNode wants fewer on its node"
		}
	}
}

// stays decides whether an object of an earlier run stays.
func (t *template) stays(i *item) bool {
	node, field := t.Facts.Node(i.node), "spec.perNode"
	missing := slices.Contains(i.disks, nil)
	switch {
	case node == nil:
		field, i.held = "", "its node is missing from the inventory"+t.whereMoved(i, ", and its disk is on ")
	case !t.cfg.selects(node) && (!t.noNode || i.consent):
		field, i.held = "spec.nodeSelector", "its node is no longer selected"
	case i.held != "":
	case len(i.moved) > 0:
		field, i.held = "", t.whereMoved(i, "its disk is on ")
	case missing:
		field, i.held = "", "its disk is missing from the inventory"
	}
	deselected := ""
	for _, there := range i.disks {
		if there != nil && !t.cfg.selectsDisk(there) && (!t.noDisk || i.consent) {
			deselected = "its disk is no longer selected by spec.diskSelector"
		}
	}
	switch {
	case i.gone:
		return t.staysGone(i, cmp.Or(i.held, deselected))
	case i.consent && i.held == "" && deselected == "":
		t.Report(finding.Warning, "consent-idle", "", "%s names %s, which is still wanted and stays; to release it, remove its node from spec.nodeSelector, remove its disk from spec.diskSelector, or lower spec.perNode", krm.AnnotationAllowRemoval, t.called(i))
	case i.consent && t.mayLeave(i.before):
		t.drop(i, cmp.Or(i.held, deselected)+", and its removal is allowed")
		return false
	case i.consent: // an error says why not
		i.held = cmp.Or(i.held, deselected)
	}
	if i.held == "" {
		t.keepDisks(i, place.Kept, "its "+t.cfg.kind()+" is rendered already")
		return true
	}
	t.keepDisks(i, place.Held, i.held)
	if !i.consent {
		t.Report(finding.Warning, "held", field, "%s is held: %s; to release it, annotate the template with %s: %s/%s", t.called(i), i.held, krm.AnnotationAllowRemoval, t.cfg.kind(), i.name)
	}
	return true
}

// whereMoved says where the disk of an object is now, or "".
func (t *template) whereMoved(i *item, says string) string {
	if len(i.moved) == 0 {
		return ""
	}
	return says + placeOf(t.Disks, i.moved[0])
}

// staysGone is stays for an object that is known not to live: nothing is lost with it.
func (t *template) staysGone(i *item, why string) bool {
	node := t.Facts.Node(i.node)
	for _, there := range i.disks {
		if why == "" && there != nil {
			why = t.Disks.Verdict(there, t.on(node).want(i.name)).Reason()
		}
	}
	if why == "" {
		t.keepDisks(i, place.Kept, "its "+t.cfg.kind()+" is rendered already")
		return true
	}
	t.drop(i, "nothing of it exists, and "+why)
	t.Report(finding.Info, "replanned", "", "%s is not created yet, and is given up: %s", t.called(i), why)
	return false
}

// keepDisks says of the disks of an object that they stay.
func (t *template) keepDisks(i *item, verdict place.Verdict, reason string) {
	for at, there := range i.disks {
		if there != nil {
			t.Decide(there.Ref(), i.node, t.cfg.role(), verdict, reason)
			continue
		}
		t.Decide(finding.Ref{Kind: "Disk", Namespace: i.node, Name: i.devices[at].String()}, i.node, t.cfg.role(), place.Held, reason)
	}
}

// drop lets an object go.
func (t *template) drop(i *item, why string) {
	t.released[t.cfg.id(i.name)], i.dropped = true, true
	if !i.gone {
		t.leaves[i.name] = true
	}
	for _, there := range i.disks {
		if there == nil || t.sharesDisk(there) {
			continue
		}
		t.Disks.Release(there, t.owner)
		if !i.gone {
			t.givenUp[there] = t.called(i)
		}
		t.Decide(there.Ref(), i.node, "", place.Refused, why)
	}
}

// sharesDisk reports whether an object that was not given up is on a disk.
func (t *template) sharesDisk(there *disk.Disk) bool {
	return slices.ContainsFunc(t.was, func(i *item) bool { return !i.dropped && slices.Contains(i.disks, there) })
}

// mayLeave reports whether an object whose removal is allowed may go: no claim has it, and
// nothing foreign is in it. What speaks against it is an error.
func (t *template) mayLeave(o *krm.Object) bool {
	l := &leaving{rendering: t.all, gone: system.Gone{ID: o.ID()}, object: t.Object, lock: lockOfObject(o), consent: true, how: "is allowed to go", undo: "want it again"}
	l.judge()
	for _, f := range l.findings {
		f.Object, f.Message = t.Object.Ref, o.Kind+" "+o.Name+" "+f.Message
		t.Collect(f)
	}
	return !finding.Failed(l.findings)
}
