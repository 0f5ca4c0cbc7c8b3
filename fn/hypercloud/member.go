package hypercloud

import (
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
)

// members are the hosts of the cluster with their disks, as far as this run has decided.
type members struct {
	*input
	disks   *locator
	hosts   []*host
	givenUp map[*disk.Disk]string // disks that left in this run, with the reason
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

// checkOthers looks for somebody else who has named a disk of the cluster.
func (m *members) checkOthers(h *host, v *device) {
	for _, holder := range v.disk.Holders() {
		switch {
		case m.mine(holder):
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
	m.Report(finding.Info, "device-moved", "spec.storage", "%s, a disk of host %s before, is on host %s now; it stays in the cluster as a disk of that, and Rook starts its OSD there", v.Name, prior.name, h.name)
	return true
}

// at is where the spec names a disk, or where it could.
func at(v *device) []any {
	if v.path == nil {
		return []any{"spec", "storage"}
	}
	return append(v.path, "name")
}
