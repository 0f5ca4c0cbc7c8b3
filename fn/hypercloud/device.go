package hypercloud

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// annotationNames is on a CephCluster: which disk a kernel name of the spec was when it
// was first read, as <hostname>:<name>=<link>[,...]. A kernel name may be that of another
// disk tomorrow.
const annotationNames = "poolwright.io/kernel-names"

const byID = "/dev/disk/by-id/"

// host is a node of the CephCluster.
type host struct {
	name    string          // its hostname label
	node    *inventory.Node // nil for one that is missing
	devices []*device
}

// device is a disk of the CephCluster.
type device struct {
	deviceConfig            // with links below /dev/disk/by-id as names
	disk         *disk.Disk // never nil; it may be missing
	written      string     // the kernel name by which the spec names it, or ""
	locked       bool       // by an earlier run
	path         []any      // where the spec names it; nil if it does not
}

// last is the last part of the link, by which consent names a disk.
func (v *device) last() string { return v.Name[strings.LastIndexByte(v.Name, '/')+1:] }

// find returns the device of a link or a disk, or nil.
func (h *host) find(link string, on *disk.Disk) *device {
	i := slices.IndexFunc(h.devices, func(v *device) bool {
		return v.Name == link || on != nil && (v.disk == on || slices.Contains(on.Others(), v.disk))
	})
	if i < 0 {
		return nil
	}
	return h.devices[i]
}

func hostOf(hosts []*host, name string) *host {
	if i := slices.IndexFunc(hosts, func(h *host) bool { return h.name == name }); i >= 0 {
		return hosts[i]
	}
	return nil
}

// readPrior reads the disks of the cluster as it was rendered and as it lives. What lives
// and the lock has lost is not forgotten.
func (s *storage) readPrior() {
	s.locked = s.before(s.clusterID())
	if live := s.in.Facts.Object(s.clusterID()); s.isOurs(live) {
		s.live = live
	}
	s.unused = s.live == nil && s.in.Facts.Tells(cephGroup, clusterKind, s.Object.Namespace)
	for _, o := range []*krm.Object{s.locked, s.live} {
		if o == nil {
			continue
		}
		for _, n := range o.Node.Seq("spec", "storage", "nodes") {
			s.readHost(n.Str("name"), &n, o == s.locked)
		}
	}
	if s.locked == nil {
		return
	}
	for entry := range strings.SplitSeq(s.locked.Annotation(annotationNames), ",") {
		name, link, _ := strings.Cut(entry, "=")
		hostname, written, found := strings.Cut(name, ":")
		if h := hostOf(s.prior, hostname); found && h != nil {
			if v := h.find(link, nil); v != nil {
				v.written = written
			}
		}
	}
}

func (s *storage) readHost(name string, n *d.Node, locked bool) {
	h := hostOf(s.prior, name)
	if h == nil {
		h = &host{name: name}
		if nodes := s.in.Facts.Host(name); len(nodes) == 1 {
			h.node = nodes[0]
		}
		s.prior = append(s.prior, h)
	}
	items := n.Seq("devices")
	for i := range items {
		link := cmp.Or(items[i].Str("fullpath"), items[i].Str("name"))
		if link == "" {
			continue
		}
		link = s.adoptedName(h, link)
		on := s.diskAt(h, link)
		if h.find(link, on) != nil {
			continue
		}
		v := &device{disk: on, locked: locked, deviceConfig: deviceConfig{
			Name: link, DeviceClass: items[i].Str("config", "deviceClass"), MetadataDevice: items[i].Str("config", "metadataDevice"), OSDsPerDevice: 1,
			Encrypted: items[i].Str("config", "encryptedDevice") == "true",
		}}
		if v.MetadataDevice != "" {
			v.MetadataDevice = s.adoptedName(h, v.MetadataDevice)
		}
		if n, err := strconv.Atoi(items[i].Str("config", "osdsPerDevice")); err == nil {
			v.OSDsPerDevice = n
		}
		h.devices = append(h.devices, v)
	}
}

// diskAt finds the disk that a path of a host names now.
func (s *storage) diskAt(h *host, path string) *disk.Disk {
	found := s.in.Disks.Named(named(h.name, path, "osd"))
	for _, there := range found {
		if !there.Missing() && !there.Inactive() && s.isOn(there, h) {
			return there
		}
	}
	for _, there := range found {
		if there.Missing() {
			return there
		}
	}
	return found[0]
}

// isOn reports whether a disk is reported of the node of a host.
func (s *storage) isOn(there *disk.Disk, h *host) bool {
	return h.node != nil && s.in.Disks.NodeOf(there) == h.node.Name
}

// movedTo is the node that a disk of a host is reported of now, where that is another one:
// a node was renamed, or a disk was carried over. nil where it has not moved.
func (s *storage) movedTo(h *host, v *device) *inventory.Node {
	if v.disk.Missing() || v.disk.Inactive() || !strings.HasPrefix(v.Name, byID) || s.isOn(v.disk, h) {
		return nil
	}
	if n := s.in.Facts.Node(v.disk.Node); n != nil && n != h.node && s.in.Disks.NodeOf(v.disk) == n.Name {
		return n
	}
	return nil
}

// movedHere finds the disk of another host that has moved to a host, or nil.
func (s *storage) movedHere(h *host, link string, on *disk.Disk) *device {
	for _, prior := range s.prior {
		if v := prior.find(link, on); v != nil && s.movedTo(prior, v) == h.node {
			return v
		}
	}
	return nil
}

// hasMoved reports whether a disk of a host stays in the cluster under another host.
func (s *storage) hasMoved(prior *host, v *device) bool {
	n := s.movedTo(prior, v)
	if n == nil {
		return false
	}
	h := hostOf(s.hosts, n.Hostname)
	if h == nil || h.find(v.Name, v.disk) == nil {
		return false
	}
	s.Report(finding.Info, "device-moved", "spec.storage", "%s, a disk of host %s before, is on host %s now; it stays in the cluster as a disk of that, and Rook starts its OSD there", v.Name, prior.name, h.name)
	return true
}

// resolve finds the link by which a disk of a host is rendered, and the disk. Where a path
// does not tell, why is what is wrong.
func (s *storage) resolve(h *host, path string) (link string, on *disk.Disk, why string) {
	if strings.HasPrefix(path, byID) {
		on = s.diskAt(h, path)
		if !on.Missing() && !s.isOn(on, h) {
			return "", on, "is a disk of node " + on.Node
		}
		return path, on, ""
	}
	var matches []*disk.Disk
	if h.node != nil {
		for _, there := range s.in.Disks.On(h.node) {
			if !there.Inactive() && there.HasPath(func(have string) bool { return have == path }) {
				matches = append(matches, there)
			}
		}
	}
	switch {
	case len(matches) == 0:
		return "", nil, "is no path of a disk of host " + h.name + " in the inventory"
	case len(matches) > 1:
		return "", nil, "is the path of " + finding.Count(len(matches), "disk") + " of host " + h.name + " in the inventory"
	case matches[0].ByID() == "":
		return "", nil, "is the path of a disk that has no link below /dev/disk/by-id"
	}
	return matches[0].ByID(), matches[0], ""
}

// disksOf lists the disks of a host for people, with the links by which they are named.
func (s *storage) disksOf(h *host) string {
	var names []string
	if h.node != nil {
		for _, there := range s.in.Disks.On(h.node) {
			if link := there.ByID(); link != "" {
				names = append(names, there.Path+" is "+link)
			} else {
				names = append(names, there.Path+" has no such link")
			}
		}
	}
	if len(names) == 0 {
		return "the inventory has no disk of the host"
	}
	slices.Sort(names)
	return "the host has: " + strings.Join(names, ", ")
}

// diskRef names a disk for people.
func diskRef(v *device, h *host) finding.Ref {
	switch {
	case v.disk.Device != nil:
		return v.disk.Device.Object.Ref
	case v.disk.Path != "" && !v.disk.Missing():
		return finding.Ref{Kind: "Disk", Namespace: h.name, Name: v.disk.Path}
	}
	return finding.Ref{Kind: "Disk", Namespace: h.name, Name: v.last()}
}
