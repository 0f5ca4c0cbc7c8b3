package hypercloud

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// manifests are the objects of the output. Those that make them add them in the order in
// which they need one another.
type manifests struct {
	*input
	members  *members
	objects  []gitops.Object
	released map[krm.ID]bool // objects of earlier runs that may go
}

// add makes an object part of the output, in the file of its level.
func (m *manifests) add(l level, file string, o *krm.Object, needs ...krm.ID) {
	m.objects = append(m.objects, gitops.Object{File: file + ".yaml", Object: o, Level: l.word(), Needs: needs})
}

// needs are the objects that have to be there before those of a level.
func (m *manifests) needs(l level) []krm.ID {
	var ids []krm.ID
	for i := range m.objects {
		o := &m.objects[i]
		switch {
		case l == levelCluster && o.Group() == csiGroup && o.Kind == driverKind:
			ids = append(ids, o.ID())
		case l > levelCluster && o.Kind == clusterKind:
			ids = append(ids, o.ID())
		}
	}
	return ids
}

// addCluster makes the CephCluster.
func (m *manifests) addCluster() {
	m.members.hosts = slices.DeleteFunc(m.members.hosts, func(h *host) bool { return len(h.devices) == 0 })
	slices.SortFunc(m.members.hosts, func(a, b *host) int { return cmp.Compare(a.name, b.name) })
	for _, h := range m.members.hosts {
		slices.SortFunc(h.devices, func(a, b *device) int { return cmp.Compare(a.Name, b.Name) })
	}
	c := &m.cfg.Spec.Ceph
	spec := d.Object(
		d.F("cephVersion", d.Object(d.F("image", d.Text(c.Image)), d.F("allowUnsupported", d.Bool(false)))),
		d.F("dataDirHostPath", d.Text(c.DataDirHostPath)),
		d.F("mon", d.Object(d.F("count", d.Int(int64(c.Mons))), d.F("allowMultiplePerNode", d.Bool(false)))),
		d.F("mgr", d.Object(d.F("count", d.Int(int64(c.Mgrs))), d.F("allowMultiplePerNode", d.Bool(false)))),
		d.F("dashboard", m.dashboard()),
		d.F("monitoring", d.Object(d.F("enabled", d.Bool(c.Monitoring.Enabled)))),
	)
	for _, field := range []string{"network", "placement", "resources", "priorityClassNames"} {
		if n := m.Object.Node.Get("spec", "ceph", field); len(n.Fields()) > 0 {
			spec.Set(field, plain(*n))
		}
	}
	if t := m.cfg.keyType; t != "" {
		spec.Set("security", d.Object(d.F("cephx", d.Object(d.F("csi", d.Object(d.F("keyType", d.Text(t))))))))
	}
	spec.Set("disruptionManagement", d.Object(d.F("managePodBudgets", d.Bool(true))))
	spec.Set("storage", m.disks())
	o := krm.Make(cephVersion, clusterKind, m.Object.Namespace, m.Object.Name, d.F("spec", spec))
	if names := m.kernelNames(); names != "" {
		o.SetAnnotation(annotationNames, names)
	}
	m.add(levelCluster, "cephcluster", o, m.needs(levelCluster)...)
}

// kernelNames says which disk each kernel name of the spec was when it was first read.
func (m *manifests) kernelNames() string {
	var names []string
	for _, h := range m.members.hosts {
		for _, v := range h.devices {
			if v.written != "" {
				names = append(names, h.name+":"+v.written+"="+v.Name)
			}
		}
	}
	return strings.Join(names, ",")
}

func (m *manifests) dashboard() d.Node {
	c := &m.cfg.Spec.Ceph.Dashboard
	n := d.Object(d.F("enabled", d.Bool(c.Enabled)), d.F("ssl", d.Bool(c.SSL)))
	if c.Port > 0 {
		n.Set("port", d.Int(int64(c.Port)))
	}
	if c.URLPrefix != "" {
		n.Set("urlPrefix", d.Text(c.URLPrefix))
	}
	return n
}

// disks are the nodes of the CephCluster with their disks. Nothing is taken that is not
// named.
func (m *manifests) disks() d.Node {
	nodes := d.List()
	for _, h := range m.members.hosts {
		devices := d.List()
		for _, dev := range h.devices {
			devices.Add(dev.node())
		}
		nodes.Add(d.Object(d.F("name", d.Text(h.name)), d.F("devices", devices)))
	}
	return d.Object(d.F("useAllNodes", d.Bool(false)), d.F("useAllDevices", d.Bool(false)), d.F("nodes", nodes))
}

// node is the disk as Rook takes it.
func (v *device) node() d.Node {
	config := d.Object()
	if v.DeviceClass != "" {
		config.Set("deviceClass", d.Text(v.DeviceClass))
	}
	if v.MetadataDevice != "" {
		config.Set("metadataDevice", d.Text(v.MetadataDevice))
	}
	if v.OSDsPerDevice > 1 {
		config.Set("osdsPerDevice", d.Text(strconv.Itoa(v.OSDsPerDevice)))
	}
	if v.Encrypted {
		config.Set("encryptedDevice", d.Text("true"))
	}
	n := d.Object(d.F("name", d.Text(v.Name)))
	if len(config.Fields()) > 0 {
		n.Set("config", config)
	}
	return n
}

// plain copies a tree without the places where it stood, and without what is empty.
func plain(n d.Node) d.Node {
	n = n.Copy()
	n.Off = d.NoOffset
	if n.Kind() == d.Map {
		n.SetFields(slices.DeleteFunc(n.Fields(), func(f d.Field) bool { return f.Value.Kind() == d.Null }))
	}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		f.Off, f.Value = d.NoOffset, plain(f.Value)
	}
	for i := range n.Items() {
		n.Items()[i] = plain(n.Items()[i])
	}
	return n
}
