package diskpool

import (
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Tree implements system.Mapper. Downwards it goes from the class over the pools of its
// set to disks and nodes; from a disk, a node or a pool it goes up to the classes and
// their volumes.
func (System) Tree(facts *inventory.Facts, disks *disk.Ledger, root krm.ID) []*health.Tree {
	f := newForest(facts, disks)
	switch {
	case root == (krm.ID{}):
		return f.everything()
	case root.GroupKind() == disk.Kind():
		return system.TreeOf(f.diskUp(disks.At(root.Namespace, root.Name)))
	}
	o := facts.Object(root)
	if o == nil {
		return nil
	}
	switch root.GroupKind() {
	case class.Kind():
		if slices.Contains(f.classes, o) {
			return system.TreeOf(f.class(o))
		}
	case poolGroupKind():
		return system.TreeOf(f.poolUp(o))
	case krm.GroupKind{Kind: volumeKind}:
		return system.TreeOf(f.volume(o))
	case krm.GroupKind{Kind: nodeKind}:
		return system.TreeOf(f.up(o.Ref, "", func(p *krm.Object) bool { return p.Node.Str("spec", "node") == o.Name }))
	case inventory.DeviceKind():
		return system.TreeOf(f.diskUp(disks.Device(o.Namespace, o.Name)))
	}
	return nil
}

type forest struct {
	facts          *inventory.Facts
	ledger         *disk.Ledger
	pools, classes []*krm.Object
}

func newForest(facts *inventory.Facts, disks *disk.Ledger) *forest {
	f := &forest{facts: facts, ledger: disks, pools: facts.Objects(group, poolKind)}
	for _, o := range facts.Objects(class.Kind().Group, class.Kind().Kind) {
		if o.Node.Str("provisioner") == driver {
			f.classes = append(f.classes, o)
		}
	}
	return f
}

// everything is every class, and the pools that no class is for.
func (f *forest) everything() []*health.Tree {
	var trees []*health.Tree
	reached := map[*krm.Object]bool{}
	for _, c := range f.classes {
		trees = append(trees, f.class(c))
		for _, p := range f.poolsOf(c) {
			reached[p] = true
		}
	}
	for _, p := range f.pools {
		if !reached[p] {
			trees = append(trees, f.pool(p))
		}
	}
	return trees
}

// poolsOf lists the pools that a class finds by the label of a set, or all where it asks
// for no label.
func (f *forest) poolsOf(sc *krm.Object) []*krm.Object {
	wanted := map[string]string{}
	for line := range strings.SplitSeq(sc.Node.Str("parameters", poolLabel), "\n") {
		if key, value, found := strings.Cut(line, ":"); found {
			wanted[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return slices.DeleteFunc(slices.Clone(f.pools), func(p *krm.Object) bool {
		labels := p.Node.StrMap("spec", "topology", "labelled")
		for key, value := range wanted {
			if labels[key] != value {
				return true
			}
		}
		return false
	})
}

func (f *forest) class(o *krm.Object) *health.Tree {
	t := f.classAlone(o)
	for _, p := range f.poolsOf(o) {
		t.Children = append(t.Children, f.pool(p))
	}
	return t
}

func (f *forest) classAlone(o *krm.Object) *health.Tree {
	return &health.Tree{Object: o.Ref, Note: o.Node.Str("parameters", "repl") + " replicas"}
}

func (f *forest) volume(o *krm.Object) *health.Tree {
	name := o.Node.Str("spec", "storageClassName")
	for _, c := range f.classes {
		if c.Name == name {
			t := f.volumeAlone(o)
			t.Children = append(t.Children, f.class(c))
			return t
		}
	}
	return nil
}

func (f *forest) volumeAlone(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, State: o.Node.Str("status", "phase")}
	if claim := o.Node.Str("spec", "claimRef", "name"); claim != "" {
		t.Note = "of claim " + o.Node.Str("spec", "claimRef", "namespace") + "/" + claim
	}
	return t
}

// pool is a pool with its disk, and that with its node.
func (f *forest) pool(o *krm.Object) *health.Tree {
	t := f.poolAlone(o)
	node := system.NodeTree(f.facts, o.Node.Str("spec", "node"), "its pool")
	on := &health.Tree{Object: finding.Ref{Kind: "Disk", Name: uriOf(o)}, Phase: health.Error, State: health.Missing, Place: health.Place{Role: health.Disk}, Children: []*health.Tree{node}}
	if d := f.disk(o); d != nil {
		on.Object, on.Phase, on.State, on.Note = d.Ref(), health.OK, "", quantity.Size(d.Size())
		if d.Device != nil {
			on.State = d.Device.State
			on.Note = strings.Join([]string{d.Device.Path, on.Note}, ", ")
		}
	}
	t.Children = append(t.Children, on)
	return t
}

func (f *forest) poolAlone(o *krm.Object) *health.Tree {
	s := stateOf(o)
	node := o.Node.Str("spec", "node")
	t := &health.Tree{Object: o.Ref, Phase: s.phase, State: s.words, Note: "on node " + node, Place: health.Place{Role: health.Pool, Node: node}}
	t.Place.Used, t.Place.Total = space(o, f.disk(o))
	if s.note() != "" {
		t.Note += ", " + s.note()
	}
	return t
}

// space is how much of a pool is used, and how much it has, in bytes; 0 where nobody says. A
// snapshot keeps a share alone, which is of the disk.
func space(o *krm.Object, on *disk.Disk) (used, total int64) {
	total, known := o.Node.Get("status", "capacity").Int()
	if used, said := o.Node.Get("status", "used").Int(); known && said && total > 0 {
		return max(0, used), total
	}
	percent, err := strconv.ParseInt(o.Annotation(krm.AnnotationUsedPercent), 10, 64)
	if on == nil || on.Size() <= 0 || err != nil || percent < 0 || percent > 100 {
		return 0, 0
	}
	return on.Size() / 100 * percent, on.Size()
}

// poolUp is a pool with its disk below it, and what may have replicas on it.
func (f *forest) poolUp(o *krm.Object) *health.Tree {
	t := f.pool(o)
	t.Children = append(t.Children, f.users(o)...)
	return t
}

// users are the classes that find a pool, with their volumes.
func (f *forest) users(o *krm.Object) []*health.Tree {
	var trees []*health.Tree
	for _, c := range f.classes {
		if !slices.Contains(f.poolsOf(c), o) {
			continue
		}
		t := f.classAlone(c)
		for _, v := range f.facts.Objects("", volumeKind) {
			if v.Node.Str("spec", "storageClassName") == c.Name {
				t.Children = append(t.Children, f.volumeAlone(v))
			}
		}
		trees = append(trees, t)
	}
	return trees
}

// diskUp is a disk with the pools on it; nil for none.
func (f *forest) diskUp(there *disk.Disk) *health.Tree {
	if there == nil || there.Missing() {
		return nil
	}
	state := ""
	if there.Device != nil {
		state = there.Device.State
	}
	return f.up(there.Ref(), state, func(p *krm.Object) bool { return f.disk(p) == there })
}

// up is a node or a disk with the pools on it and what uses them; nil for none.
func (f *forest) up(on finding.Ref, state string, has func(*krm.Object) bool) *health.Tree {
	t := &health.Tree{Object: on, State: state}
	for _, p := range f.pools {
		if has(p) {
			pool := f.poolAlone(p)
			pool.Children = f.users(p)
			t.Children = append(t.Children, pool)
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	return t
}

// disk finds the disk that a pool is on, or nil.
func (f *forest) disk(o *krm.Object) *disk.Disk { return diskOf(f.ledger, o) }

// uriOf is the disk as a pool names it.
func uriOf(o *krm.Object) string {
	for _, uri := range o.Node.Seq("spec", "disks") {
		return uri.Value()
	}
	return "-?"
}
