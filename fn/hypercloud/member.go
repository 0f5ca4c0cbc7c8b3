package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// members are the hosts of the cluster with their disks, as far as this run has decided.
type members struct {
	*input
	disks   *locator
	hosts   []*host
	givenUp map[*disk.Disk]string // disks that left in this run, with the reason
	moved   map[*disk.Disk]bool   // disks that are said to be under another host
}

// twin finds the device of the spec that is the same disk, also under a host that has it
// under another name.
func (m *members) twin(h *host, link string, on *disk.Disk) *device {
	for _, other := range m.hosts {
		if v := other.find(link, on); v != nil && v.path != nil && (other == h || !on.Missing() || strings.HasPrefix(link, byID)) {
			return v
		}
	}
	return nil
}

// checkKept looks again at a disk of the cluster that stays.
func (m *members) checkKept(h *host, v *device) {
	m.checkOthers(h, v)
	if m.unused {
		return
	}
	use := disk.Use{Path: v.Name, Content: osdContent()}
	if known := m.Memory.Disk(m.clusterID(), named(h.name, v.Name, "osd")); known != nil {
		use.Size = known.Size
	}
	doubts := m.Disks.Recheck(v.disk, use)
	switch {
	case len(doubts) > 0:
		m.reportAt(finding.Warning, "disk-doubtful", at(v), "%s of host %s stays in the cluster, but %s; look at the disk", v.Name, h.name, strings.Join(doubts, "; "))
	case !v.disk.Missing() && !v.disk.HasLink(v.Name):
		m.reportAt(finding.Warning, "links-changed", at(v), "the disk of host %s is there without the link %s, and has %s; the CephCluster is kept as it is, since Rook reads the link only when it makes the OSD", h.name, v.Name, orElse(v.disk.ByID() != "", v.disk.ByID(), v.disk.Path))
	}
}

// osdContent is what an OSD has on its disk: BlueStore itself, or LVM and LUKS below it.
func osdContent() []string {
	return []string{"ceph_bluestore", "bluestore", "LVM2_member", "lvm", "crypto_LUKS", "luks"}
}

// checkOthers looks for somebody else who has named a disk of the cluster.
func (m *members) checkOthers(h *host, v *device) {
	for _, holder := range v.disk.Holders() {
		switch {
		case m.mine(*holder):
		case holder.Source == disk.Live:
			if !m.unused {
				m.reportAt(finding.Warning, "disk-held", at(v), "%s of host %s is also held by %s; see which of them has it", v.Name, h.name, holder)
				return
			}
		default:
			m.reportAt(finding.Error, "disk-twice", at(v), "%s of host %s, a disk of CephCluster %s, is also named by %s; take it out of one of them", v.Name, h.name, m.Object.Name, holder)
			return
		}
	}
}

// checkRunning refuses disks that the running cluster has no longer, or never had, and that nobody
// asks for: applied, each would become an OSD. What the record explains is not applied yet: a
// render chose the disk, and no snapshot has shown it in the cluster since.
func (m *members) checkRunning() {
	recorded := m.Memory.Knows(m.clusterID())
	for _, h := range m.hosts {
		for _, v := range h.devices {
			if v.running || !v.locked || !recorded {
				continue
			}
			known := m.Memory.Disk(m.clusterID(), named(h.name, v.Name, "osd"))
			switch {
			case known != nil && !known.Applied:
			case v.path != nil:
				m.reportAt(finding.Warning, "not-running", at(v), "%s of host %s is not in the running CephCluster any more, and Rook makes an OSD on it again where it is clean; if that is not meant, take it out of the spec", v.Name, h.name)
			default:
				m.reportAt(finding.Error, "other-disk", at(v), "CephCluster %s is rendered with %s of host %s, and %s; applied, it would become an OSD: restore what is rendered from the history of Git, or take the inventory again; to remove it, annotate the spec with %s: %s/%s/%s/%s",
					m.Object.Name, v.Name, h.name, orElse(known == nil, "no render chose it, nor does the running one have it", "the running one does not have it any more"), krm.AnnotationAllowRemoval, clusterKind, m.Object.Name, h.name, v.last())
			}
		}
	}
}

// hasMoved reports whether a disk of a host stays in the cluster under another host.
func (m *members) hasMoved(prior *host, v *device) bool {
	n := m.disks.movedTo(prior, v)
	if n == nil {
		return false
	}
	h := hostOf(m.hosts, n.Hostname)
	if h == nil || h.find(v.Name, v.disk) == nil {
		return false
	}
	m.reportMoved(prior, h, v)
	return true
}

// reportMoved says once that a disk is under another host than before.
func (m *members) reportMoved(from, to *host, v *device) {
	if !m.moved[v.disk] {
		m.Report(finding.Info, "device-moved", "spec.storage", "%s, a disk of host %s before, is on host %s now; it stays in the cluster as a disk of that, and Rook starts its OSD there", v.Name, from.name, to.name)
	}
	m.moved[v.disk] = true
}

// settle leaves each disk under one host: the one that it is on, or else the first one that
// has it.
func (m *members) settle() {
	first := map[*disk.Disk]*host{}
	for _, h := range m.hosts {
		for _, v := range h.devices {
			if before := first[v.disk]; before == nil || !m.disks.isOn(v.disk, before) && m.disks.isOn(v.disk, h) {
				first[v.disk] = h
			}
		}
	}
	for _, h := range m.hosts {
		seen := map[*disk.Disk]bool{}
		h.devices = slices.DeleteFunc(slices.Clone(h.devices), func(v *device) bool {
			to, again := first[v.disk], seen[v.disk]
			seen[v.disk] = true
			if to != h && m.disks.isOn(v.disk, to) {
				m.reportMoved(h, to, v)
			}
			return to != h || again
		})
	}
}

// have reports whether the very disk is in the cluster, under whatever host.
func (m *members) have(on *disk.Disk) bool {
	return slices.ContainsFunc(m.hosts, func(h *host) bool { return h.has(on) })
}

// at is where the spec names a disk, or where it could.
func at(v *device) []any {
	if v.path == nil {
		return []any{"spec", "storage"}
	}
	return append(v.path, "name")
}
