// Package inventory indexes the facts of a package once: what the snapshot of
// the cluster says exists. Nothing here decides anything; a fact that cannot be
// read is kept with the reason, so that it is refused and not forgotten.
package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/poolwright/poolwright/fn/krm"
)

// Folder is what the folder of facts in a package is called.
const Folder = "inventory"

// Cluster is what the Inventory is called that says which cluster the facts are of.
const Cluster = "cluster"

// Labels and annotations that other systems put on facts.
const (
	LabelHostname       = "kubernetes.io/hostname"
	LabelZone           = "topology.kubernetes.io/zone"
	LabelPoolCluster    = "openebs.io/cstor-pool-cluster"
	LabelBlockDeviceTag = "openebs.io/block-device-tag"
	// On a block device claim, the block device that is replaced.
	AnnotationPredecessor = "openebs.io/bd-predecessor"
	// On a claim, the node that it is for.
	AnnotationSelectedNode = "volume.kubernetes.io/selected-node"
)

// DeviceKind is the kind of what the node disk manager reports.
func DeviceKind() krm.GroupKind { return krm.GroupKind{Group: "openebs.io", Kind: "BlockDevice"} }

// NodeInventoryKind is the kind of what the node agent reports.
func NodeInventoryKind() krm.GroupKind {
	return krm.GroupKind{Group: "poolwright.io", Kind: "NodeInventory"}
}

// Key names a namespaced object.
type Key struct{ Namespace, Name string }

// Compare orders by namespace, then name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Facts is what exists, indexed. Slices are sorted by namespace and name.
type Facts struct {
	Nodes   []*Node
	Devices []*BlockDevice

	nodes    map[string]*Node
	hosts    map[string][]*Node
	devices  func() map[string]map[string]*BlockDevice // by namespace, of which there are few, and name
	byHost   map[string][]*BlockDevice
	claims   map[Key]*Claim
	claimsOf map[Key][]*Claim // by block device
	replaces map[Key]*Claim   // by the block device that is their predecessor; of several the first by name
	pvcs     map[Key]*VolumeClaim
	volumes  map[string]*Volume
	attached map[string]map[string]*Attachment // by volume and node
	kinds    map[krm.GroupKind]*ofKind
	missing  map[string]Missing       // nodes, by what objects call them
	wholes   map[string][]*krm.Object // Inventories, by the plural of the kind in them
	live     bool                     // read from a cluster, not from files
	unread   []krm.GroupKind          // that a cluster has, and that could not be read
	read     sync.Map                 // see Once
	links    func() linkIndex
}

// NewLive indexes what a cluster has now: what is not among it is not there, but for kinds that
// could not be read.
func NewLive(objects []*krm.Object, unread ...krm.GroupKind) *Facts {
	f := New(objects)
	f.live, f.unread = true, unread
	return f
}

// New indexes facts.
func New(objects []*krm.Object) *Facts {
	f := &Facts{
		nodes:    map[string]*Node{},
		hosts:    map[string][]*Node{},
		byHost:   map[string][]*BlockDevice{},
		claims:   map[Key]*Claim{},
		claimsOf: map[Key][]*Claim{},
		replaces: map[Key]*Claim{},
		pvcs:     map[Key]*VolumeClaim{},
		volumes:  map[string]*Volume{},
		attached: map[string]map[string]*Attachment{},
		kinds:    map[krm.GroupKind]*ofKind{},
		missing:  map[string]Missing{},
		wholes:   map[string][]*krm.Object{},
	}
	f.devices = sync.OnceValue(func() map[string]map[string]*BlockDevice {
		index := map[string]map[string]*BlockDevice{}
		for _, d := range f.Devices {
			if index[d.Namespace] == nil {
				index[d.Namespace] = make(map[string]*BlockDevice, len(f.Devices))
			}
			index[d.Namespace][d.Name] = d
		}
		return index
	})
	f.links = sync.OnceValue(func() linkIndex { return newLinkIndex(f.Devices) })
	var last *ofKind // most objects follow one of their kind
	for _, o := range objects {
		if kind := o.GroupKind(); last == nil || last.kind != kind {
			last = f.of(kind)
		}
		last.objects = append(last.objects, o)
		f.add(o)
	}
	byNodeName := func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(f.Nodes, byNodeName)
	for _, nodes := range f.hosts {
		slices.SortFunc(nodes, byNodeName)
	}
	byName := func(a, b *BlockDevice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(f.Devices, byName)
	for i, d := range f.Devices {
		d.Index = i
	}
	for _, devices := range f.byHost {
		slices.SortFunc(devices, byName)
	}
	return f
}

// ofKind is the facts of one kind. Those of the largest kinds are hardly ever looked up
// one by one, and so are indexed when they first are.
type ofKind struct {
	kind    krm.GroupKind
	objects []*krm.Object
	index   func() map[Key]*krm.Object
}

// of returns the facts of a kind, made if there are none yet.
func (f *Facts) of(kind krm.GroupKind) *ofKind {
	k := f.kinds[kind]
	if k == nil {
		k = &ofKind{kind: kind}
		k.index = sync.OnceValue(func() map[Key]*krm.Object {
			index := make(map[Key]*krm.Object, len(k.objects))
			for _, o := range k.objects {
				index[Key{o.Namespace, o.Name}] = o
			}
			return index
		})
		f.kinds[kind] = k
	}
	return k
}

func (f *Facts) add(o *krm.Object) {
	key := Key{o.Namespace, o.Name}
	switch o.Group() + "/" + o.Kind {
	case "/Node":
		n := newNode(o)
		f.Nodes = append(f.Nodes, n)
		f.nodes[n.Name] = n
		if n.Hostname != "" {
			f.hosts[n.Hostname] = append(f.hosts[n.Hostname], n)
		}
	case "openebs.io/BlockDevice":
		d := newBlockDevice(o)
		f.Devices = append(f.Devices, d)
		f.byHost[d.Hostname] = append(f.byHost[d.Hostname], d)
	case "openebs.io/BlockDeviceClaim":
		c := &Claim{Name: o.Name, PoolCluster: o.Label(LabelPoolCluster), Predecessor: o.Annotation(AnnotationPredecessor), Phase: o.Node.Str("status", "phase")}
		f.claims[key] = c
		if device := o.Node.Str("spec", "blockDeviceName"); device != "" {
			at := Key{o.Namespace, device}
			f.claimsOf[at] = append(f.claimsOf[at], c)
		}
		if at := (Key{o.Namespace, c.Predecessor}); c.Predecessor != "" && (f.replaces[at] == nil || c.Name < f.replaces[at].Name) {
			f.replaces[at] = c
		}
	case "/PersistentVolumeClaim":
		f.pvcs[key] = &VolumeClaim{
			Bound:      o.Node.Str("status", "phase") == "Bound",
			VolumeName: o.Node.Str("spec", "volumeName"),
		}
	case "/PersistentVolume":
		f.volumes[o.Name] = newVolume(o)
	case "storage.k8s.io/VolumeAttachment":
		a := newAttachment(o)
		volume, node := o.Node.Str("spec", "source", "persistentVolumeName"), o.Node.Str("spec", "nodeName")
		if f.attached[volume] == nil {
			f.attached[volume] = map[string]*Attachment{}
		}
		if f.attached[volume][node].before(a) {
			return // the controller may have made one, too
		}
		f.attached[volume][node] = a
	case "poolwright.io/Inventory":
		name := o.Name
		if items := o.Node.Seq("items"); len(items) > 0 {
			name = plural(items[0].Str("kind")) // kustomize may have changed the name
		}
		f.wholes[name] = append(f.wholes[name], o)
		maps.Copy(f.missing, ParseMissing(o.Annotation(krm.AnnotationMissing)))
	default:
		// As the API server lists a kind of which there is none.
		if of, isList := strings.CutSuffix(o.Kind, "List"); isList && of != "" && o.Node.Get("items") != nil && len(o.Node.Seq("items")) == 0 {
			f.wholes[plural(of)] = append(f.wholes[plural(of)], o)
		}
	}
}

// Once returns what read makes of the facts, made once for each key, so that what a system
// decodes is decoded once, whoever asks. As with a context, a key is of a type of the
// package that asks.
func Once[T any](f *Facts, key any, read func(*Facts) T) T {
	made, _ := f.read.LoadOrStore(key, sync.OnceValue(func() any { return read(f) }))
	return made.(func() any)().(T)
}

// Object returns the fact with this identity, or nil.
func (f *Facts) Object(id krm.ID) *krm.Object {
	k := f.kinds[id.GroupKind()]
	if k == nil {
		return nil
	}
	return k.index()[Key{id.Namespace, id.Name}]
}

// Objects lists the facts of a kind, by namespace and name.
func (f *Facts) Objects(group, kind string) []*krm.Object {
	k := f.kinds[krm.GroupKind{Group: group, Kind: kind}]
	if k == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(k.objects), func(a, b *krm.Object) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// Tells reports whether the facts list a kind in a namespace at all: there is an
// object of it there, or an Inventory or a list of the kind (NodeList) with none. A snapshot names an Inventory after the
// plural of its kind, and says if it is about one namespace only. Objects outside any
// Inventory say nothing of namespaces in which none of them is.
func (f *Facts) Tells(group, kind, namespace string) bool {
	known := f.kinds[krm.GroupKind{Group: group, Kind: kind}]
	wholes := f.wholes[plural(kind)]
	switch {
	case f.live:
		return !slices.Contains(f.unread, krm.GroupKind{Group: group, Kind: kind})
	case len(wholes) == 0:
		return known != nil && slices.ContainsFunc(known.objects, func(o *krm.Object) bool {
			return namespace == "" || o.Namespace == "" || o.Namespace == namespace
		})
	}
	return slices.ContainsFunc(wholes, func(o *krm.Object) bool {
		scope := o.Annotation(krm.AnnotationScope)
		return (scope == "" || scope == namespace) && (known != nil || len(o.Node.Seq("items")) == 0)
	})
}

// Has reports whether the facts contain anything of a kind: there is an object of it, or an Inventory or a
// list of the kind, in whatever namespace.
func (f *Facts) Has(kind krm.GroupKind) bool {
	return f.kinds[kind] != nil || len(f.wholes[plural(kind.Kind)]) > 0
}

// Lacks reports whether the cluster is known not to have a kind that comes with a definition: the facts
// have definitions, none of them is of the kind, and nothing else mentions it.
func (f *Facts) Lacks(kind krm.GroupKind) bool {
	definitions := krm.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	defined := f.Object(krm.ID{Group: definitions.Group, Kind: definitions.Kind, Name: plural(kind.Kind) + "." + kind.Group}) != nil
	return f.Has(definitions) && !defined && !f.Has(kind) && !slices.Contains(f.unread, kind)
}

// plural is the plural of a kind as resources are named.
func plural(kind string) string {
	word := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(word, "s"):
		return word + "es"
	case strings.HasSuffix(word, "y"):
		return strings.TrimSuffix(word, "y") + "ies"
	}
	return word + "s"
}

// Node returns a node by name, or nil.
func (f *Facts) Node(name string) *Node { return f.nodes[name] }

// Host returns the nodes that carry this value of the hostname label. More than
// one is a fault of the cluster.
func (f *Facts) Host(hostname string) []*Node { return f.hosts[hostname] }

// Device returns a block device, or nil.
func (f *Facts) Device(namespace, name string) *BlockDevice {
	return f.devices()[namespace][name]
}

// DevicesOn returns the block devices that carry this hostname label.
func (f *Facts) DevicesOn(hostname string) []*BlockDevice { return f.byHost[hostname] }

// ClaimOf returns the claim on a device: the one that the device names, or the
// one that names the device; nil if neither is in the snapshot. Several that name it
// are a claim of nobody.
func (f *Facts) ClaimOf(d *BlockDevice) *Claim {
	if d.ClaimName != "" {
		return f.claims[Key{d.Namespace, d.ClaimName}]
	}
	switch claims := f.claimsOf[Key{d.Namespace, d.Name}]; len(claims) {
	case 0:
		return nil
	case 1:
		return claims[0]
	default:
		var names []string
		for _, c := range claims {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		return &Claim{Name: strings.Join(names, " and ")}
	}
}

// SuccessorOf returns the claim whose disk takes, or was to take, the place of a block
// device; nil if none does.
func (f *Facts) SuccessorOf(namespace, device string) *Claim {
	return f.replaces[Key{namespace, device}]
}

// VolumeClaim returns a PersistentVolumeClaim, or nil.
func (f *Facts) VolumeClaim(namespace, name string) *VolumeClaim { return f.pvcs[Key{namespace, name}] }

// Volume returns a PersistentVolume, or nil.
func (f *Facts) Volume(name string) *Volume { return f.volumes[name] }

// Volumes lists the PersistentVolumes by name.
func (f *Facts) Volumes() []*Volume {
	return slices.SortedFunc(maps.Values(f.volumes), func(a, b *Volume) int { return cmp.Compare(a.Name, b.Name) })
}

// Attachment returns the attachment of a volume to a node, or nil.
func (f *Facts) Attachment(volume, node string) *Attachment { return f.attached[volume][node] }

// AttachedTo lists the nodes that a volume is attached to, by name.
func (f *Facts) AttachedTo(volume string) []string {
	return slices.Sorted(maps.Keys(f.attached[volume]))
}

// Claim is a BlockDeviceClaim. PoolCluster is empty when it is not for one. Predecessor
// is the block device that the claimed one takes, or was to take, the place of. Phase is
// Bound once the device is the cluster's, "" where that is not reported.
type Claim struct{ Name, PoolCluster, Predecessor, Phase string }
