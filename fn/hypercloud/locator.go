package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// locator finds disks of hosts in the inventory.
type locator struct{ *input }

// diskAt finds the disk that a path of a host names: the one that it named when it was rendered, and
// else the one that has it now.
func (l *locator) diskAt(h *host, path string) *disk.Disk {
	found := l.Disks.Named(l.Memory.Recall(l.clusterID(), named(h.name, path, "osd")))
	for _, there := range found {
		if !there.Missing() && !there.Inactive() && l.isOn(there, h) {
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
func (l *locator) isOn(there *disk.Disk, h *host) bool {
	return h.node != nil && l.Disks.NodeOf(there) == h.node.Name
}

// movedTo is the node that a disk of a host is reported of now, where that is another one:
// a node was renamed, or a disk was carried over. nil where it has not moved: a disk with other
// content than an OSD's, or with another holder, may be a clone, and Rook would make an OSD on it.
func (l *locator) movedTo(h *host, v *device) *inventory.Node {
	if v.disk.Missing() || v.disk.Inactive() || !strings.HasPrefix(v.Name, byID) || l.isOn(v.disk, h) {
		return nil
	}
	n := l.Facts.Node(l.Disks.NodeOf(v.disk))
	if n == nil || n == h.node || len(l.Disks.Recheck(v.disk, disk.Use{Content: osdContent()})) > 0 ||
		l.Disks.Verdict(v.disk, disk.Want{Mine: l.mine, Own: true}).Of(disk.Held) != "" {
		return nil
	}
	return n
}

// movedHere finds the disk of another host that has moved to a host, or nil.
func (l *locator) movedHere(h *host, link string, on *disk.Disk) *device {
	for _, prior := range l.prior {
		if v := prior.find(link, on); v != nil && l.movedTo(prior, v) == h.node {
			return v
		}
	}
	return nil
}

// resolve finds the link by which a disk of a host is rendered, and the disk. Where a path
// does not know, why is what is wrong. A link that names content is read as a kernel name is,
// unless the cluster has the disk by it already.
func (l *locator) resolve(h *host, path string) (link string, on *disk.Disk, why string) {
	if strings.HasPrefix(path, byID) && (!disk.ContentLink(path) || l.hasName(h, path)) {
		on = l.diskAt(h, path)
		if !on.Missing() && !l.isOn(on, h) {
			return "", on, "is a disk of node " + on.Node
		}
		return path, on, ""
	}
	var matches []*disk.Disk
	if h.node != nil {
		for _, there := range l.Disks.On(h.node) {
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
		return "", nil, "is the path of a disk that cannot be named: " + matches[0].NoByID()
	}
	return matches[0].ByID(), matches[0], ""
}

// hasName reports whether the cluster has a disk of a host by a link.
func (l *locator) hasName(h *host, link string) bool {
	prior := hostOf(l.prior, h.name)
	return prior != nil && prior.find(link, nil) != nil
}

// disksOf lists the disks of a host for people, with the links by which they are named.
func (l *locator) disksOf(h *host) string {
	var names []string
	if h.node != nil {
		for _, there := range l.Disks.On(h.node) {
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

func (l *locator) hostnames() []string {
	var names []string
	for _, n := range l.Facts.Nodes {
		if n.Hostname != "" {
			names = append(names, n.Hostname)
		}
	}
	slices.Sort(names)
	return names
}
