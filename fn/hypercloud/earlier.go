package hypercloud

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// annotationNames is on a CephCluster: which disk a kernel name of the spec was when it
// was first read, as <hostname>:<name>=<link>[,...]. A kernel name may be that of another
// disk tomorrow.
const annotationNames = "poolwright.io/kernel-names"

// earlier reads the cluster as it was before this run.
type earlier struct {
	*input
	disks *locator
}

// readPrior reads the disks of the cluster as it was rendered and as it is in the cluster. What is in the cluster
// and the lock has lost is not forgotten.
func (e *earlier) readPrior() {
	e.locked = e.before(e.clusterID())
	if live := e.Facts.Object(e.clusterID()); e.isOurs(live) {
		e.live = live
	}
	e.unused = e.live == nil && e.Facts.Tells(cephGroup, clusterKind, e.Object.Namespace)
	for _, o := range []*krm.Object{e.locked, e.live} {
		if o == nil {
			continue
		}
		for _, n := range o.Node.Seq("spec", "storage", "nodes") {
			e.readHost(n.Str("name"), &n, o == e.locked)
		}
	}
	for _, h := range e.prior {
		for _, v := range h.devices {
			v.running = e.isRunning(v)
		}
	}
	if e.locked == nil {
		return
	}
	for entry := range strings.SplitSeq(e.locked.Annotation(annotationNames), ",") {
		name, link, _ := strings.Cut(entry, "=")
		hostname, written, found := strings.Cut(name, ":")
		if h := hostOf(e.prior, hostname); found && h != nil {
			if v := h.find(link, nil); v != nil {
				v.written = written
			}
		}
	}
}

func (e *earlier) readHost(name string, n *d.Node, locked bool) {
	h := hostOf(e.prior, name)
	if h == nil {
		h = &host{name: name}
		if nodes := e.Facts.Host(name); len(nodes) == 1 {
			h.node = nodes[0]
		}
		e.prior = append(e.prior, h)
	}
	items := n.Seq("devices")
	for i := range items {
		link := cmp.Or(items[i].Str("fullpath"), items[i].Str("name"))
		if link == "" {
			continue
		}
		link = e.adoptedName(h, link)
		on := e.disks.diskAt(h, link)
		if h.find(link, on) != nil || !locked && e.hasElsewhere(h, on) {
			continue
		}
		v := &device{disk: on, locked: locked, deviceConfig: deviceConfig{
			Name: link, DeviceClass: items[i].Str("config", "deviceClass"), MetadataDevice: items[i].Str("config", "metadataDevice"), OSDsPerDevice: 1,
			Encrypted: items[i].Str("config", "encryptedDevice") == "true",
		}}
		if v.MetadataDevice != "" {
			v.MetadataDevice = e.adoptedName(h, v.MetadataDevice)
		}
		if n, err := strconv.Atoi(items[i].Str("config", "osdsPerDevice")); err == nil {
			v.OSDsPerDevice = n
		}
		h.devices = append(h.devices, v)
	}
}

// isRunning reports whether the live CephCluster has a disk, under whatever host and name, or is not
// known.
func (e *earlier) isRunning(v *device) bool {
	if e.live == nil || !v.locked {
		return true
	}
	nodes := e.live.Node.Seq("spec", "storage", "nodes")
	for i := range nodes {
		devices := nodes[i].Seq("devices")
		for j := range devices {
			if cmp.Or(devices[j].Str("fullpath"), devices[j].Str("name")) == v.Name {
				return true
			}
		}
	}
	return slices.ContainsFunc(append(v.disk.Others(), v.disk), func(d *disk.Disk) bool {
		return slices.ContainsFunc(d.Holders(), func(h *disk.Holder) bool { return h.Source == disk.Live && !h.Assumed && e.mine(*h) })
	})
}

// hasElsewhere reports whether what was rendered has a disk of a live host under another one:
// the disk has moved, and the live cluster has yet to follow.
func (e *earlier) hasElsewhere(h *host, on *disk.Disk) bool {
	return slices.ContainsFunc(e.prior, func(other *host) bool { return other != h && other.has(on) })
}

// adoptedName is the link of a disk that a live cluster, which others have made, has by its
// kernel name.
func (e *earlier) adoptedName(h *host, name string) string {
	if strings.HasPrefix(name, byID) {
		return name
	}
	path := name
	if !strings.HasPrefix(path, "/") {
		path = "/dev/" + path
	}
	link, _, why := e.disks.resolve(h, path)
	if why != "" && (e.whole || e.lets(h, &device{deviceConfig: deviceConfig{Name: name}})) {
		return name // it may go, whatever it is
	}
	if why != "" {
		e.Report(finding.Error, "device-unknown", "spec.storage", "the CephCluster has %s of host %s, which %s; %s; write the link of the intended disk into the live CephCluster, and refresh the inventory", name, h.name, why, e.disks.disksOf(h))
		return name
	}
	e.Report(finding.Info, "kernel-name-replaced", "spec.storage", "%s of host %s, a disk of the CephCluster by its kernel name, is %s, which is rendered", name, h.name, link)
	return link
}

// unnamedDisks are the fields by which a CephCluster takes disks without naming them.
func unnamedDisks() []string {
	return []string{"useAllNodes", "useAllDevices", "deviceFilter", "devicePathFilter", "storageClassDeviceSets"}
}

// checkAdopted reports disks that a live cluster, which others have made, has without
// naming them: they are not rendered.
func (e *earlier) checkAdopted() {
	if e.live == nil {
		return
	}
	var fields []string
	look := func(n *d.Node, of string) {
		for _, field := range unnamedDisks() {
			if text := n.Str(field); text != "" && text != "false" || len(n.Seq(field)) > 0 {
				fields = append(fields, field+of)
			}
		}
	}
	look(e.live.Node.Get("spec", "storage"), "")
	nodes := e.live.Node.Seq("spec", "storage", "nodes")
	for i := range nodes {
		look(&nodes[i], " of host "+nodes[i].Str("name"))
	}
	if len(fields) > 0 {
		e.Report(finding.Warning, "disks-unnamed", "spec.storage", "the live %s selects disks by %s, which is not rendered: disks that the spec does not name are then no longer declared; their OSDs keep running, but Rook does not repair them: compare ceph osd tree with the spec before this is applied", e.live.Ref, finding.Names(fields))
	}
}
