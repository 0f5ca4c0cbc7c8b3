package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Tree implements system.Mapper. Downwards it goes from a spec over its CephCluster to
// hosts and disks, and over its pools to their classes; from a volume over its class to
// what that is on. From a disk, a host or a pool it goes up to the volumes.
func (System) Tree(facts *inventory.Facts, disks *disk.Ledger, root krm.ID) []*health.Tree {
	f := newForest(facts, disks)
	if root == (krm.ID{}) {
		return f.everything()
	}
	var t *health.Tree
	switch o := facts.Object(root); {
	case root.GroupKind() == gk(ownGroup, specKind):
		t = f.ownedBy(root.Namespace, root.Name)
	case o != nil:
		t = f.from(o)
	}
	if t == nil {
		return nil
	}
	return []*health.Tree{t}
}

// What a driver is called after the namespace of its operator.
const (
	rbdSuffix    = ".rbd.csi.ceph.com"
	cephfsSuffix = ".cephfs.csi.ceph.com"
)

// forest is what of the facts belongs to Ceph.
type forest struct {
	facts   *inventory.Facts
	ledger  *disk.Ledger
	stores  []*krm.Object // pools, filesystems, object stores
	classes []*krm.Object
}

func newForest(facts *inventory.Facts, disks *disk.Ledger) *forest {
	f := &forest{facts: facts, ledger: disks}
	for _, kind := range []string{poolKind, filesystemKind, storeKind} {
		f.stores = append(f.stores, facts.Objects(cephGroup, kind)...)
	}
	for _, o := range facts.Objects(storageGroup, classKind) {
		if driver := o.Node.Str("provisioner"); strings.HasSuffix(driver, rbdSuffix) || strings.HasSuffix(driver, cephfsSuffix) {
			f.classes = append(f.classes, o)
		}
	}
	return f
}

// from is the tree that starts at an object; nil if it has nothing to do with Ceph.
func (f *forest) from(o *krm.Object) *health.Tree {
	switch o.Kind {
	case clusterKind:
		return under(f.cluster(o), f.storesOf(o)...)
	case poolKind, filesystemKind, storeKind:
		return under(f.store(o), f.clustersOf(o)...)
	case classKind:
		if slices.Contains(f.classes, o) {
			return f.classDown(o)
		}
	case volumeKind:
		return f.volume(o)
	case claimKind:
		return f.claim(o)
	case nodeKind:
		host := o.Label(inventory.LabelHostname)
		return f.up(o, func(hold disk.Hold) bool { return hold.Node == host || hold.Identity.Node == host })
	case inventory.DeviceKind().Kind:
		return f.up(o, func(hold disk.Hold) bool {
			return slices.ContainsFunc(f.ledger.Named(hold), func(d *disk.Disk) bool { return d.Device != nil && d.Device.Object == o })
		})
	}
	return nil
}

// everything is every spec, and every CephCluster that no spec is for.
func (f *forest) everything() []*health.Tree {
	var trees []*health.Tree
	var seen []string
	for _, o := range f.facts.Objects(cephGroup, clusterKind) {
		namespace, name, owned := ownerOf(o)
		switch {
		case !owned:
			trees = append(trees, under(f.cluster(o), f.storesOf(o)...))
		case !slices.Contains(seen, namespace+"/"+name):
			seen = append(seen, namespace+"/"+name)
			trees = append(trees, f.ownedBy(namespace, name))
		}
	}
	return trees
}

// ownedBy is a spec with what was made of it; nil if nothing was.
func (f *forest) ownedBy(namespace, name string) *health.Tree {
	t := &health.Tree{Object: finding.Ref{APIVersion: ownGroup + "/" + ownVersion, Kind: specKind, Namespace: namespace, Name: name}}
	mine := func(o *krm.Object) bool {
		in, of, owned := ownerOf(o)
		if !owned || of != name || namespace != "" && in != namespace {
			return false
		}
		t.Object.Namespace = in
		return true
	}
	for _, o := range f.facts.Objects(cephGroup, clusterKind) {
		if mine(o) {
			t.Children = append(t.Children, f.cluster(o))
		}
	}
	for _, o := range f.stores {
		if mine(o) {
			t.Children = append(t.Children, f.store(o))
		}
	}
	for _, o := range f.facts.Objects(cdiGroup, cdiKind) {
		if mine(o) {
			t.Children = append(t.Children, leaf(o))
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	for _, c := range t.Children {
		if t.Phase == "" || c.Phase.WorseThan(t.Phase) {
			t.Phase = c.Phase
		}
	}
	return t
}

// cluster is a CephCluster with its hosts, and their disks.
func (f *forest) cluster(o *krm.Object) *health.Tree {
	t := leaf(o)
	if warning := readCluster(o).warning(); warning != "" && t.Phase == health.OK {
		t.Note = warning
	}
	nodes := o.Node.Seq("spec", "storage", "nodes")
	for i := range nodes {
		host := f.host(nodes[i].Str("name"))
		host.Place = health.Place{Role: health.Pool, Node: host.Object.Name}
		one := choiceOf(&nodes[i]).or(choiceOf(o.Node.Get("spec", "storage")))
		for _, name := range one.devices {
			host.Children = append(host.Children, f.disk(nodes[i].Str("name"), name, "osd"))
		}
		for _, name := range one.metadata {
			host.Children = append(host.Children, f.disk(nodes[i].Str("name"), name, "metadata"))
		}
		t.Children = append(t.Children, host)
	}
	return t
}

// host is a node, by the hostname that a CephCluster knows it by.
func (f *forest) host(name string) *health.Tree {
	nodes := f.facts.Host(name)
	if len(nodes) != 1 {
		return health.Absent(system.NodeRef(name), "its CephCluster names it")
	}
	t := &health.Tree{Object: nodes[0].Object.Ref, Phase: health.OK}
	for _, c := range nodes[0].Object.Node.Seq("status", "conditions") {
		if c.Str("type") == "Ready" {
			t.State = "Ready"
			if c.Str("status") != "True" {
				t.Phase, t.State, t.Note = health.Error, "NotReady", c.Str("reason")
			}
		}
	}
	return t
}

// disk is a device as a CephCluster names it.
func (f *forest) disk(host, name, role string) *health.Tree {
	t := health.Absent(finding.Ref{Kind: "Disk", Namespace: host, Name: name}, "its CephCluster names it")
	t.Place.Role = health.Disk
	for _, d := range f.ledger.Named(named(host, name, role)) {
		if d.Missing() {
			continue
		}
		t.Phase, t.State, t.Note = health.OK, "", quantity.Size(d.Size())
		if d.Device != nil {
			t.Object, t.State, t.Note = d.Device.Object.Ref, d.Device.State, d.Device.Path+", "+t.Note
			if d.Inactive() {
				t.Phase = health.Error
			}
		}
		if role != "osd" {
			t.Note += ", " + role
		}
		break
	}
	return t
}

// store is a pool, a filesystem or an object store with the classes on it.
func (f *forest) store(o *krm.Object) *health.Tree {
	t := leaf(o)
	for _, c := range f.classes {
		if f.isOn(c, o) {
			t.Children = append(t.Children, f.classUp(c))
		}
	}
	return t
}

// isOn reports whether the volumes of a class are on a pool or a filesystem.
func (f *forest) isOn(class, store *krm.Object) bool {
	parameters := class.Node.Get("parameters")
	if parameters.Str("clusterID") != store.Namespace {
		return false
	}
	switch store.Kind {
	case poolKind:
		return strings.HasSuffix(class.Node.Str("provisioner"), rbdSuffix) && parameters.Str("pool") == store.Name
	case filesystemKind:
		return strings.HasSuffix(class.Node.Str("provisioner"), cephfsSuffix) && parameters.Str("fsName") == store.Name
	}
	return false
}

// classUp is a class with its volumes.
func (f *forest) classUp(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, Note: o.Node.Str("provisioner")}
	for _, v := range f.facts.Objects("", volumeKind) {
		if v.Node.Str("spec", "storageClassName") == o.Name {
			t.Children = append(t.Children, volumeAlone(v))
		}
	}
	return t
}

// classDown is a class with what it is on.
func (f *forest) classDown(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, Note: o.Node.Str("provisioner")}
	for _, s := range f.stores {
		if f.isOn(o, s) {
			t.Children = append(t.Children, under(leaf(s), f.clustersOf(s)...))
		}
	}
	return t
}

// volume is a PersistentVolume with its class; nil for a foreign one.
func (f *forest) volume(o *krm.Object) *health.Tree {
	for _, c := range f.classes {
		if c.Name == o.Node.Str("spec", "storageClassName") {
			return under(volumeAlone(o), f.classDown(c))
		}
	}
	return nil
}

// claim is a claim with its volume, or with its class while it has none; nil for one of
// others.
func (f *forest) claim(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, State: o.Node.Str("status", "phase")}
	if t.State == "Bound" {
		t.Phase = health.OK
	} else if t.State != "" {
		t.Phase = health.Progressing
	}
	if name := o.Node.Str("spec", "volumeName"); name != "" {
		if v := f.facts.Object(krm.ID{Kind: volumeKind, Name: name}); v != nil {
			if below := f.volume(v); below != nil {
				return under(t, below)
			}
		}
		return nil
	}
	for _, c := range f.classes {
		if c.Name == o.Node.Str("spec", "storageClassName") {
			return under(t, f.classDown(c))
		}
	}
	return nil
}

func volumeAlone(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, State: o.Node.Str("status", "phase")}
	if claim := o.Node.Str("spec", "claimRef", "name"); claim != "" {
		t.Note = "of claim " + o.Node.Str("spec", "claimRef", "namespace") + "/" + claim
	}
	return t
}

// up is a node or a disk with the clusters that hold it, and what is on these; nil for
// none.
func (f *forest) up(o *krm.Object, holds func(disk.Hold) bool) *health.Tree {
	t := &health.Tree{Object: o.Ref, State: o.Node.Str("status", "state")}
	for _, c := range f.facts.Objects(cephGroup, clusterKind) {
		if slices.ContainsFunc(System{}.Holds(c), holds) {
			t.Children = append(t.Children, under(leaf(c), f.storesOf(c)...))
		}
	}
	if len(t.Children) == 0 {
		return nil
	}
	return t
}

// storesOf are the pools, filesystems and object stores of a cluster, with what is on
// them.
func (f *forest) storesOf(cluster *krm.Object) []*health.Tree {
	var trees []*health.Tree
	for _, s := range f.stores {
		if s.Namespace == cluster.Namespace {
			trees = append(trees, f.store(s))
		}
	}
	return trees
}

// clustersOf is the cluster that a pool is in. Rook allows one a namespace.
func (f *forest) clustersOf(store *krm.Object) []*health.Tree {
	var trees []*health.Tree
	for _, c := range f.facts.Objects(cephGroup, clusterKind) {
		if c.Namespace == store.Namespace {
			trees = append(trees, f.cluster(c))
		}
	}
	return trees
}

// under hangs more on a tree.
func under(t *health.Tree, more ...*health.Tree) *health.Tree {
	t.Children = append(t.Children, more...)
	return t
}

// leaf is an object by itself.
func leaf(o *krm.Object) *health.Tree {
	s := stateOf(o)
	t := &health.Tree{Object: o.Ref, Phase: s.phase, State: s.words, Note: s.what}
	if s.note != "" && s.note != s.words {
		t.Note = strings.TrimPrefix(s.what+": "+s.note, ": ")
	}
	return t
}

// ownerOf is the spec that an object was rendered for.
func ownerOf(o *krm.Object) (namespace, name string, owned bool) {
	part := strings.Split(o.Owner(), "/")
	if len(part) != 4 || part[0] != ownGroup || part[1] != specKind {
		return "", "", false
	}
	return part[2], part[3], true
}
