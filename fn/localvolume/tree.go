package localvolume

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Tree implements system.Mapper. Downwards it goes from the claim over its PersistentVolume to
// the Volume, the logical volume, the group that it is in, the disks and their node; a disk, a
// group, and a node show what is on them, up to the claims, and a template what was rendered
// for it.
func (System) Tree(facts *inventory.Facts, disks *disk.Ledger, root krm.ID) []*health.Tree {
	f := &forest{facts: facts, ledger: disks}
	switch {
	case root == (krm.ID{}):
		return f.everything()
	case root.GroupKind() == disk.Kind():
		return system.TreeOf(f.diskUp(disks.At(root.Namespace, root.Name)))
	case root.GroupKind() == templateGroupKind():
		return system.TreeOf(f.template(root))
	}
	o := facts.Object(root)
	if o == nil {
		return nil
	}
	switch root.GroupKind() {
	case volumeGroupKind():
		return system.TreeOf(f.volumeUp(o))
	case groupGroupKind():
		return system.TreeOf(f.groupUp(o))
	case krm.GroupKind{Kind: pvKind}:
		return system.TreeOf(f.persistent(o))
	case krm.GroupKind{Kind: claimKind}:
		return system.TreeOf(f.claim(o))
	case krm.GroupKind{Kind: nodeKind}:
		return system.TreeOf(f.nodeUp(o))
	case inventory.DeviceKind():
		return system.TreeOf(f.diskUp(disks.Device(o.Namespace, o.Name)))
	}
	return nil
}

type forest struct {
	facts  *inventory.Facts
	ledger *disk.Ledger
}

// everything is every Volume under what has it, and the groups in which none is.
func (f *forest) everything() []*health.Tree {
	var trees []*health.Tree
	used := map[string]bool{}
	for _, o := range f.facts.Objects(group, volumeKind) {
		v := readVolume(o)
		if g := f.groupOf(&v); g != nil {
			used[g.Name] = true
		}
		trees = append(trees, f.top(o))
	}
	for _, o := range f.facts.Objects(group, groupKind) {
		if !used[o.Name] {
			trees = append(trees, f.group(o))
		}
	}
	return trees
}

// top is a Volume below its PersistentVolume, and that below its claim, as far as there are
// any.
func (f *forest) top(o *krm.Object) *health.Tree {
	pv := persistentOf(f.facts, o.Name).object
	if pv == nil {
		return f.volume(o)
	}
	ref := pv.Node.Get("spec", "claimRef")
	if claim := f.facts.Object(krm.ID{Kind: claimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}); claim != nil {
		if t := f.claim(claim); t != nil {
			return t
		}
	}
	return f.persistent(pv)
}

// nodeUp is a node with the groups and Volumes on it; nil for none.
func (f *forest) nodeUp(o *krm.Object) *health.Tree {
	t := f.node(o.Name)
	for _, g := range groupsOf(f.facts) {
		if g.node == o.Name && g.kind != volumeRef { // that is above its Volume
			t.Children = append(t.Children, f.groupUsers(g.object))
		}
	}
	for _, live := range f.facts.Objects(group, volumeKind) {
		if v := readVolume(live); v.node == o.Name && f.groupOf(&v) == nil {
			t.Children = append(t.Children, f.users(live))
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	return t
}

// template is a VolumeTemplate with what was rendered for it and exists, each with what it is on
// and what has it; nil for none.
func (f *forest) template(root krm.ID) *health.Tree {
	t := &health.Tree{Object: finding.Ref{APIVersion: ownGroup + "/" + ownVersion, Kind: templateKind, Name: root.Name}}
	isOurs := func(o *krm.Object) bool {
		owner, _ := krm.ParseOwner(o.Owner())
		return owner == root
	}
	for _, o := range f.facts.Objects(class.Kind().Group, class.Kind().Kind) {
		if isOurs(o) {
			t.Children = append(t.Children, &health.Tree{Object: o.Ref, Phase: health.OK, Note: o.Node.Str("provisioner")})
		}
	}
	for _, o := range f.facts.Objects(group, volumeKind) {
		if isOurs(o) {
			t.Children = append(t.Children, f.volumeUp(o))
		}
	}
	for _, o := range f.facts.Objects(group, groupKind) {
		if isOurs(o) {
			t.Children = append(t.Children, f.groupUp(o))
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	t.Phase = health.OK
	for _, child := range t.Children {
		if child.Phase.WorseThan(t.Phase) {
			t.Phase = child.Phase
		}
	}
	return t
}

func (f *forest) node(name string) *health.Tree {
	return system.NodeTree(f.facts, name, "a Volume or a VolumeGroup")
}
