package hypercloud

import (
	"regexp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// naming takes the disks that the spec names.
type naming struct {
	*input
	disks     *locator
	members   *members
	departure *departure
}

// keepNamed takes the disks that the spec names, and decides about those that it no
// longer does.
func (n *naming) keepNamed() {
	seen := map[string]bool{}
	var blind []string
	for i := range n.cfg.Spec.Storage.Nodes {
		node := &n.cfg.Spec.Storage.Nodes[i]
		path := []any{"spec", "storage", "nodes", i}
		if seen[node.Hostname] {
			n.reportAt(finding.Error, "host-twice", append(path, "hostname"), "host %s is there twice; write its devices in one place", node.Hostname)
			continue
		}
		seen[node.Hostname] = true
		h := n.host(node.Hostname, path)
		if h == nil {
			continue
		}
		n.members.hosts = append(n.members.hosts, h)
		for j := range node.Devices {
			n.keepDevice(h, &node.Devices[j], slices.Concat(path, []any{"devices", j}))
		}
		if h.node != nil && len(n.Disks.On(h.node)) == 0 {
			blind = append(blind, h.name)
		}
	}
	if len(blind) > 0 {
		n.Report(finding.Info, noDisksKnown, "spec.storage.nodes", "the inventory contains no disks of %s, so it is unknown whether theirs exist and are free; Rook itself takes none that has something on it", finding.Names(blind))
	}
	n.checkMetadata()
	var all []leaving
	for _, prior := range n.prior {
		h := hostOf(n.members.hosts, prior.name)
		for _, v := range prior.devices {
			gone := h == nil || h.find(v.Name, v.disk) == nil && h.node != nil
			if gone && !n.members.hasMoved(prior, v) {
				all = append(all, leaving{prior, v, "it is no longer in the spec"})
			}
		}
	}
	n.departure.leave(all)
}

// host finds the node of a hostname; nil, with an error, where it cannot be had.
func (n *naming) host(name string, path []any) *host {
	nodes := n.Facts.Host(name)
	prior := hostOf(n.prior, name)
	switch {
	case len(nodes) > 1:
		n.reportAt(finding.Error, "host-ambiguous", append(path, "hostname"), "%s is the hostname label of nodes %s and %s; give one of them another", name, nodes[0].Name, nodes[1].Name)
		return nil
	case len(nodes) == 0 && prior == nil:
		n.reportAt(finding.Error, "no-such-host", append(path, "hostname"), "no node has the label kubernetes.io/hostname=%s; the inventory has %s", name, finding.Names(n.disks.hostnames()))
		return nil
	case len(nodes) == 0:
		n.reportAt(finding.Warning, "host-missing", append(path, "hostname"), "node %s is missing from the inventory; its disks are held", name)
		h := &host{name: name, devices: prior.devices}
		for _, v := range prior.devices {
			n.choosing(diskRef(v, h), name, place.Held, "its node is missing from the inventory")
		}
		return h
	}
	h := &host{name: name, node: nodes[0]}
	if why := place.RefuseHostname(h.node, n.Facts); why != "" {
		n.reportAt(finding.Error, "host-refused", append(path, "hostname"), "node %s cannot be used: %s", h.node.Name, why)
		return nil
	}
	verdict, reason := place.Chosen, "the spec names it"
	if prior != nil {
		verdict, reason = place.Kept, "it has disks of the cluster"
	}
	n.choosing(system.NodeRef(h.node.Name), h.node.Name, verdict, reason)
	return h
}

// keepDevice takes a disk that the spec names.
func (n *naming) keepDevice(h *host, want *deviceConfig, path []any) {
	prior := &host{}
	if p := hostOf(n.prior, h.name); p != nil {
		prior = p
	}
	if h.node == nil {
		if prior.find(want.Name, n.disks.diskAt(h, want.Name)) == nil && prior.writtenAs(want.Name) == nil {
			n.reportAt(finding.Warning, "device-waits", append(path, "name"), "is added when its node is in the inventory")
		}
		return
	}
	link, on, why := n.disks.resolve(h, want.Name)
	known := prior.writtenAs(want.Name)
	switch {
	case known != nil && known.Name != link:
		n.reportAt(finding.Warning, "kernel-name-moved", append(path, "name"), "was the kernel name of %s of host %s, and %s now; the disk that was taken is kept: write %s", known.Name, h.name, orElse(link != "", "is that of "+link, "is not known"), known.Name)
		link, on, why = known.Name, known.disk, ""
	case why != "":
		n.reportAt(finding.Error, deviceUnknown, append(path, "name"), "%s %s; %s; write the link of the one that is meant", want.Name, why, n.disks.disksOf(h))
		return
	case link != want.Name:
		n.reportAt(finding.Warning, "kernel-name", append(path, "name"), "%s may be another disk after the next start of host %s; it is %s now, which is rendered and kept: write %s", want.Name, h.name, link, link)
	}
	if twin := n.members.twin(h, link, on); twin != nil {
		n.reportAt(finding.Error, "device-twice", append(path, "name"), "%s is the disk that %s names already; remove one of them", want.Name, fieldOf(n.Object, twin.path))
		return
	}
	v := &device{deviceConfig: *want, disk: on, path: path}
	v.Name = link
	if link != want.Name {
		v.written = want.Name
	}
	if want.MetadataDevice != "" {
		v.MetadataDevice = n.metadata(h, want.MetadataDevice, append(path, "metadataDevice"))
	}
	before := prior.find(link, on)
	if before == nil {
		before = n.disks.movedHere(h, link, on)
	}
	if before != nil {
		n.keepPrior(h, v, before)
	} else if !n.takeNamed(h, v) {
		return
	}
	h.devices = append(h.devices, v)
}

// writtenAs finds the device that a kernel name was when it was first read, or nil.
func (h *host) writtenAs(name string) *device {
	if i := slices.IndexFunc(h.devices, func(v *device) bool { return v.written == name && name != "" }); i >= 0 {
		return h.devices[i]
	}
	return nil
}

func orElse(condition bool, then, otherwise string) string {
	if condition {
		return then
	}
	return otherwise
}

// keepPrior keeps a disk as it was rendered: Rook reads what is said of it only when it
// makes the OSD.
func (n *naming) keepPrior(h *host, v, before *device) {
	if v.Name != before.Name {
		n.reportAt(finding.Info, "link-kept", append(v.path, "name"), "is %s, by which the disk was rendered; it is kept as it is", before.Name)
		v.Name = before.Name
	}
	v.locked, v.running = before.locked, before.running
	now, was := v.deviceConfig, before.deviceConfig
	if !n.unused && (now.DeviceClass != was.DeviceClass || now.MetadataDevice != was.MetadataDevice || now.OSDsPerDevice != was.OSDsPerDevice || now.Encrypted != was.Encrypted) {
		n.reportAt(finding.Warning, "old-settings", v.path, "has other settings than its OSD was made with, and Rook reads them only once; they stay as they were: to have others, take the disk out, purge its OSD, clean it and put it in again")
		v.DeviceClass, v.MetadataDevice, v.OSDsPerDevice, v.Encrypted = was.DeviceClass, was.MetadataDevice, was.OSDsPerDevice, was.Encrypted
	}
	n.members.checkKept(h, v)
	if v.disk.Missing() && len(n.Disks.On(h.node)) > 0 {
		n.choosing(diskRef(v, h), h.node.Name, place.Held, "it is missing from the inventory")
		n.reportAt(finding.Warning, deviceMissing, append(v.path, "name"), "%s of host %s is missing from the inventory; it is held", v.Name, h.name)
		return
	}
	n.choosing(diskRef(v, h), h.node.Name, place.Kept, "it is a disk of the cluster already")
}

// partition is the end of a link that is one of a partition.
var partition = regexp.MustCompile(`-part[0-9]+$`)

// takeNamed takes a new disk, and reports whether it may be had.
func (n *naming) takeNamed(h *host, v *device) bool {
	if whole := partition.ReplaceAllString(v.Name, ""); whole != v.Name {
		n.reportAt(finding.Error, "device-partition", at(v), "%s is a partition, and a disk is taken whole; write %s", v.Name, whole)
		return false
	}
	verdict := n.Disks.Verdict(v.disk, disk.Want{Mine: n.mine, Node: h.node})
	verdict = slices.DeleteFunc(verdict, func(o disk.Objection) bool {
		// It is named, so nothing chooses it; and what is missing may not be looked at.
		return o.Rule == disk.Tagged || o.Rule == disk.NoCapacity || o.Rule == disk.NotActive && v.disk.Missing()
	})
	if reason := verdict.Reason(); reason != "" {
		n.choosing(diskRef(v, h), h.node.Name, place.Refused, reason)
		n.reportAt(finding.Error, deviceRefused, at(v), "%s of host %s cannot be taken: %s; take it out of the spec, or see to that", v.Name, h.name, reason)
		return false
	}
	if v.disk.Missing() && len(n.Disks.On(h.node)) > 0 {
		n.reportAt(finding.Warning, deviceMissing, at(v), "%s is no link of a disk of host %s in the inventory; %s", v.Name, h.name, n.disks.disksOf(h))
	}
	if other := n.Disks.Take(v.disk, n.Object.Ref, n.owner); other != nil && !n.mine(*other) {
		n.reportAt(finding.Error, "disk-twice", at(v), "%s of host %s is also named by %s; take it out of one of them", v.Name, h.name, other)
		return false
	}
	n.choosing(diskRef(v, h), h.node.Name, place.Chosen, "the spec names it")
	return true
}

// metadata is the link of a disk for metadata, which several OSDs of a host may share.
func (n *naming) metadata(h *host, name string, path []any) string {
	link, on, why := n.disks.resolve(h, name)
	switch {
	case why != "":
		n.reportAt(finding.Error, deviceUnknown, path, "%s %s; %s; write the link of the one that is meant", name, why, n.disks.disksOf(h))
		return name
	case link != name:
		n.reportAt(finding.Warning, "kernel-name", path, "%s may be another disk after the next start of host %s; it is %s now, which is rendered: write %s", name, h.name, link, link)
	}
	for _, holder := range on.Holders() {
		if !n.mine(*holder) {
			n.reportAt(finding.Error, "disk-twice", path, "%s of host %s is also held by %s; take it out of one of them", link, h.name, holder)
			return link
		}
	}
	n.Disks.Take(on, n.Object.Ref, n.owner)
	return link
}

// checkMetadata refuses a disk for both data and metadata.
func (n *naming) checkMetadata() {
	for _, h := range n.members.hosts {
		for _, v := range h.devices {
			if v.MetadataDevice == "" {
				continue
			}
			if data := h.find(v.MetadataDevice, n.disks.diskAt(h, v.MetadataDevice)); data != nil {
				n.reportAt(finding.Error, "device-twice", append(at(v)[:len(at(v))-1:len(at(v))-1], "metadataDevice"), "%s is a disk for data, too; take it out of the devices of host %s, or name another one", v.MetadataDevice, h.name)
			}
		}
	}
}
