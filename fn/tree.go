package fn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// Facts lists the facts of a package. Where all is true every object is one,
// whatever it is and wherever it lies: the package is a snapshot.
func (f *Function) Facts(objects []*krm.Object, all bool) ([]*krm.Object, []finding.Finding) {
	c := classify(Package{}, f.kinds, nil)
	for _, o := range objects {
		c.add(o, all)
	}
	return c.facts, finding.Sort(c.findings)
}

// Tree shows what hangs on what, from claims over volumes, replicas and pools down
// to disks: everything, or what root has to do with.
func (f *Function) Tree(facts []*krm.Object, root krm.ID) []*health.Tree {
	index := inventory.New(facts)
	ledger := f.holdings(&classified{}, index).open(f, index, nil)
	var trees []*health.Tree
	for i := range f.systems {
		if s := &f.systems[i]; root == (krm.ID{}) || slices.Contains(s.Roots, root.GroupKind()) {
			trees = append(trees, s.Tree(index, ledger, root)...)
		}
	}
	if root != (krm.ID{}) && len(trees) > 1 {
		trees = []*health.Tree{joined(trees)}
	}
	for _, t := range trees {
		addHolders(t, index, ledger)
	}
	return trees
}

// addHolders says of each disk that its own system knows no user of who holds it by what
// exists, where that does not depend on it.
func addHolders(t *health.Tree, facts *inventory.Facts, ledger *disk.Ledger) {
	for _, child := range t.Children {
		addHolders(child, facts, ledger)
	}
	if !t.Unused || len(t.Children) > 0 {
		return
	}
	on := ledger.Device(t.Object.Namespace, t.Object.Name)
	if t.Object.GroupKind() == disk.Kind() {
		on = ledger.At(t.Object.Namespace, t.Object.Name)
	}
	notes := []string{t.Note}
	for _, h := range on.Holders() {
		notes = append(notes, "held by "+h.Object.String())
	}
	for _, v := range on.Volumes() {
		if v.Path != "" { // that of a cloud is shown where its claim is
			notes = append(notes, "is PersistentVolume "+v.Name)
		}
	}
	if on.Entry != nil && !on.Entry.Usable && on.Entry.Reason != "" {
		notes = append(notes, "not usable: "+on.Entry.Reason)
	}
	if len(notes) == 1 {
		notes = append(notes, "in no pool")
	}
	t.Note = strings.TrimPrefix(strings.Join(notes, ", "), ", ")
}

// joined is one tree of what several systems hang on one object.
func joined(trees []*health.Tree) *health.Tree {
	whole := *trees[0]
	whole.Children = slices.Clone(whole.Children)
	for _, t := range trees[1:] {
		if t.Object != whole.Object {
			continue
		}
		if t.Phase.WorseThan(whole.Phase) || whole.Phase == "" {
			whole.Phase = t.Phase
		}
		for _, child := range t.Children {
			at := slices.IndexFunc(whole.Children, func(c *health.Tree) bool { return c.Object == child.Object })
			if at < 0 {
				whole.Children = append(whole.Children, child)
			} else {
				whole.Children[at] = joined([]*health.Tree{whole.Children[at], child})
			}
		}
	}
	return &whole
}

// TreeRoot finds an object among the facts, or one that is not there and of which
// they are complete all the same. Kinds without namespaces are looked for in any. The error
// says what there is instead.
func (f *Function) TreeRoot(facts []*krm.Object, kind krm.GroupKind, namespace, name string) (krm.ID, error) {
	if kind == disk.Kind() {
		return DiskRoot(inventory.New(facts), namespace, name)
	}
	var found []krm.ID
	var names []string
	namespaced := false
	for _, o := range facts {
		id := o.ID()
		if id.GroupKind() != kind {
			continue
		}
		namespaced = namespaced || id.Namespace != ""
		if namespace != "" && id.Namespace != "" && namespace != id.Namespace {
			continue
		}
		names = append(names, id.Name)
		if id.Name == name {
			found = append(found, id)
		}
	}
	slices.Sort(names)
	absent := krm.ID{Group: kind.Group, Kind: kind.Kind, Name: name}
	if len(found) == 0 && len(f.Tree(facts, absent)) > 0 {
		return absent, nil
	}
	in := ""
	if namespace != "" && namespaced {
		in = " in namespace " + namespace
	}
	switch near := schema.DidYouMean(name, names); {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var where []string
		for _, id := range found {
			where = append(where, kind.Kind+"/"+id.Namespace+"/"+id.Name)
		}
		slices.Sort(where)
		return krm.ID{}, fmt.Errorf("there are %d of %s/%s: say which, one of %s", len(found), kind.Kind, name, strings.Join(where, ", "))
	case len(names) == 0:
		return krm.ID{}, fmt.Errorf("there is no %s %q%s, nor any other", kind.Kind, name, in)
	case near == "":
		return krm.ID{}, fmt.Errorf("there is no %s %q%s; there are %s", kind.Kind, name, in, finding.Names(names))
	default:
		return krm.ID{}, fmt.Errorf("there is no %s %q%s%s", kind.Kind, name, in, near)
	}
}

// DiskRoot finds a disk by what a person calls it, on the node or in the namespace that is
// given, or anywhere.
func DiskRoot(facts *inventory.Facts, place, name string) (krm.ID, error) {
	ledger := disk.NewLedger(facts)
	var found []krm.ID
	var names []string
	for _, d := range ledger.Disks() {
		names = append(names, cmp.Or(d.Name().Name, d.Known().Serial, d.Path))
		if d.IsCalled(name) && (place == "" || place == ledger.NodeOf(d) || place == d.Name().Namespace) {
			of := d.Ref()
			found = append(found, krm.ID{Group: of.Group(), Kind: of.Kind, Namespace: of.Namespace, Name: of.Name})
		}
	}
	slices.Sort(names)
	switch in := ""; {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var where []string
		for _, id := range found {
			where = append(where, id.Kind+"/"+id.Namespace+"/"+id.Name)
		}
		return krm.ID{}, fmt.Errorf("there are %d disks called %s: say which, one of %s", len(found), name, strings.Join(where, ", "))
	default:
		if place != "" {
			in = " on node or in namespace " + place
		}
		near := schema.DidYouMean(name, names)
		if near == "" && len(names) > 0 {
			near = "; there are " + finding.Names(names)
		}
		return krm.ID{}, fmt.Errorf("no disk is called %s%s%s; write a serial number, a WWN, a link or a path", name, in, near)
	}
}
