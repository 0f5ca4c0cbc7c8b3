package physical

import (
	"regexp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Hold is one way in which an object names disks.
type Hold struct {
	Object string // kind, namespace and name
	Kind   string
	Owner  string // the key of the spec that it is rendered for, or its own
	Node   string // the name of a node or a hostname label, "" for any
	Text   string // how the object writes it
	Path   string // a path or a link,
	WWN    string // or what the disk is,
	Serial string //
	Device string // or a BlockDevice, as namespace/name,
	PCI    string // or an address,
	Filter *regexp.Regexp
	Names  bool   // the filter is of kernel names, not of paths
	All    bool   // every disk of the node
	Handle string // or the handle of a volume, with its driver
	Driver string
	Links  []string // which the object remembers beside
}

// HoldsOf lists what an object holds, of every kind that holds disks.
func HoldsOf(o *krm.Object) []Hold {
	base := Hold{Object: o.Kind + " " + o.Namespace + "/" + o.Name, Kind: o.Kind, Owner: o.RenderedFor()}
	if base.Owner == "" {
		base.Owner = o.OwnerKey()
	}
	spec := o.Node.Get("spec")
	switch o.Kind {
	case "DiskPool":
		return poolHolds(base, o, spec)
	case "CephCluster":
		return cephHolds(base, spec.Get("storage"))
	case "CStorPoolCluster":
		return clusterHolds(base, o, spec)
	case "CStorClusterStorageSet":
		return setHolds(base, o, spec)
	case "Volume", "VolumeGroup", "VolumeLock":
		return volumeHolds(base, spec)
	case "PersistentVolume":
		return persistentHolds(base, o, spec)
	}
	return nil
}

func poolHolds(base Hold, o *krm.Object, spec *document.Node) []Hold {
	base.Node = spec.Str("node")
	for part := range strings.SplitSeq(o.Annotation("poolwright.io/disk"), ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "wwn":
			base.WWN = value
		case "serial":
			base.Serial = value
		}
	}
	var holds []Hold
	for _, n := range spec.Seq("disks") {
		h := base
		h.Text = n.Value()
		uri, _, _ := strings.Cut(h.Text, "?")
		scheme, path, found := strings.Cut(uri, "://")
		switch {
		case !found:
			h.Path = uri
		case scheme == "pcie":
			h.PCI = strings.ToLower(strings.Trim(path, "/"))
		default:
			h.Path = path
		}
		holds = append(holds, h)
	}
	return holds
}

func cephHolds(base Hold, storage *document.Node) []Hold {
	named := func(h Hold, name string) Hold {
		h.Text, h.Path = name, name
		if !strings.HasPrefix(name, "/") {
			h.Path = "/dev/" + name
		}
		return h
	}
	var holds []Hold
	nodes := storage.Seq("nodes")
	for i := range nodes {
		n, h := &nodes[i], base
		h.Node = n.Str("name")
		devices := n.Seq("devices")
		for j := range devices {
			name := devices[j].Str("fullpath")
			if name == "" {
				name = devices[j].Str("name")
			}
			holds = append(holds, named(h, name))
			if meta := devices[j].Str("config", "metadataDevice"); meta != "" {
				holds = append(holds, named(h, meta))
			}
		}
		if len(devices) > 0 {
			continue
		}
		all, _ := n.Get("useAllDevices").Bool()
		if !all {
			all, _ = storage.Get("useAllDevices").Bool()
		}
		switch names, paths := n.Str("deviceFilter"), n.Str("devicePathFilter"); {
		case names != "":
			h.Text, h.Filter, h.Names = names, regexp.MustCompile(names), true
			holds = append(holds, h)
		case paths != "":
			h.Text, h.Filter = paths, regexp.MustCompile(paths)
			holds = append(holds, h)
		case all:
			h.Text, h.All = "useAllDevices", true
			holds = append(holds, h)
		}
	}
	return holds
}

func clusterHolds(base Hold, o *krm.Object, spec *document.Node) []Hold {
	var holds []Hold
	for _, p := range spec.Seq("pools") {
		for _, groups := range []string{"dataRaidGroups", "writeCacheRaidGroups"} {
			for _, g := range p.Seq(groups) {
				for _, d := range g.Seq("blockDevices") {
					h := base
					h.Node = p.Str("nodeSelector", "kubernetes.io/hostname")
					h.Text = d.Str("blockDeviceName")
					h.Device = o.Namespace + "/" + h.Text
					holds = append(holds, h)
				}
			}
		}
	}
	return holds
}

func setHolds(base Hold, o *krm.Object, spec *document.Node) []Hold {
	var holds []Hold
	for _, d := range spec.Seq("blockDevices") {
		h := base
		h.Node, h.Text = spec.Str("node", "name"), d.Str("name")
		h.Device, h.WWN, h.Serial, h.Links = o.Namespace+"/"+h.Text, d.Str("wwn"), d.Str("serial"), texts(d.Seq("links"))
		holds = append(holds, h)
	}
	return holds
}

func volumeHolds(base Hold, spec *document.Node) []Hold {
	base.Node = spec.Str("nodeName")
	one := func(n *document.Node) Hold {
		h := base
		h.Path, h.WWN, h.Serial, h.Links = n.Str("devicePath"), n.Str("wwn"), n.Str("serial"), texts(n.Seq("links"))
		if of := n.Get("disk"); of != nil {
			h.WWN, h.Serial = of.Str("wwn"), of.Str("serial")
		}
		h.Text = strings.Join([]string{h.Path, h.WWN, h.Serial}, "|")
		return h
	}
	var holds []Hold
	if known := spec.Seq("disks"); base.Kind == "VolumeLock" && len(known) > 0 {
		for i := range known {
			h := one(&known[i])
			if h.WWN == "" && h.Serial == "" && len(h.Links) > 0 {
				h.Path = h.Links[0]
			} else if h.WWN == "" && h.Serial == "" {
				h.Path = known[i].Str("path")
			}
			holds = append(holds, h)
		}
		return holds
	}
	for _, from := range []*document.Node{spec, spec.Get("volume"), spec.Get("group")} {
		for _, source := range []string{"rawBlockDevice", "partition"} {
			if n := from.Get(source); n != nil {
				holds = append(holds, one(n))
			}
		}
		devices := from.Seq("devices")
		for i := range devices {
			holds = append(holds, one(&devices[i]))
		}
	}
	return holds
}

func persistentHolds(base Hold, o *krm.Object, spec *document.Node) []Hold {
	h := base
	h.Path = spec.Str("local", "path")
	for _, term := range spec.Seq("nodeAffinity", "required", "nodeSelectorTerms") {
		for _, e := range term.Seq("matchExpressions") {
			for _, value := range e.Seq("values") {
				h.Node = value.Value()
			}
		}
	}
	for _, of := range []struct{ source, field, driver string }{
		{"gcePersistentDisk", "pdName", "gce"}, {"awsElasticBlockStore", "volumeID", "ebs"}, {"cinder", "volumeID", "cinder"},
	} {
		if handle := spec.Str(of.source, of.field); handle != "" {
			h.Handle, h.Driver = handle, of.driver
		}
	}
	if csi := spec.Get("csi"); csi != nil {
		h.Handle = csi.Str("volumeHandle")
		h.Driver = map[string]string{"pd.csi.storage.gke.io": "gce", "ebs.csi.aws.com": "ebs", "cinder.csi.openstack.org": "cinder"}[csi.Str("driver")]
	}
	if fc := spec.Get("fc"); fc != nil && len(fc.Seq("wwids")) > 0 {
		h.WWN = strings.TrimPrefix(fc.Seq("wwids")[0].Value(), "3")
	}
	if i := spec.Get("iscsi"); i != nil {
		h.Handle, h.Driver = i.Str("targetPortal")+" "+i.Str("iqn")+" "+i.Str("lun"), "iscsi"
	}
	h.Handle = h.Handle[strings.LastIndexByte(h.Handle, '/')+1:]
	h.Text = h.Path + h.WWN + h.Handle
	if h.Text == "" {
		return nil
	}
	// The PersistentVolume that an agent made is that of its Volume.
	if ref := o.Node.Seq("metadata", "ownerReferences"); len(ref) > 0 {
		h.Owner = "storage.metalk8s.scality.com/Volume//" + ref[0].Str("name")
	}
	return []Hold{h}
}

func texts(nodes []document.Node) []string {
	var all []string
	for i := range nodes {
		all = append(all, nodes[i].Value())
	}
	return all
}

// key is by what a hold is remembered.
func (h *Hold) key() string { return h.Object + "|" + h.Node + "|" + h.Text }

// On lists the disks that a hold is on: those that it was on when it was made, or else those that it
// names now.
func (w *World) On(h *Hold) []*Disk {
	if bound := w.Bound[h.key()]; len(bound) > 0 {
		return bound
	}
	return w.resolve(h)
}

func (w *World) resolve(h *Hold) []*Disk {
	switch {
	case h.Device != "":
		if d := w.Names[strings.TrimPrefix(h.Device, "openebs/")]; d != nil {
			return []*Disk{d}
		}
		return nil
	case h.Path != "":
		return w.Named(h.Node, h.Path)
	case h.Handle != "":
		return w.handled(h.Driver, h.Handle)
	case h.PCI != "" || h.Filter != nil || h.All:
		var found []*Disk
		for _, host := range w.hosts(h.Node) {
			for _, d := range w.Disks {
				if at, here := d.On(host); here && h.matches(d, at) {
					found = append(found, d)
				}
			}
		}
		return found
	}
	return w.Known(h.Node, h.WWN, h.Serial)
}

func (h *Hold) matches(d *Disk, at Place) bool {
	switch {
	case h.PCI != "":
		return at.PCI == h.PCI
	case h.All:
		return true
	case h.Names:
		return h.Filter.MatchString(at.Kernel)
	}
	return h.Filter.MatchString("/dev/"+at.Kernel) || slices.ContainsFunc(d.Links(at), h.Filter.MatchString)
}

// handled lists the disks that a volume of a cloud or a target is.
func (w *World) handled(driver, handle string) []*Disk {
	var found []*Disk
	for _, d := range w.Disks {
		if d.Handle == handle && string(d.Bus) == driver || driver == "iscsi" && d.Bus == ISCSI && strings.HasPrefix(handle, d.Portal+":3260 "+d.IQN+" ") {
			found = append(found, d)
		}
	}
	return found
}
