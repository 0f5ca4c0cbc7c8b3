package hypercloud

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
)

// selection takes the disks that the selectors of the spec mean.
type selection struct {
	*input
	disks     *locator
	members   *members
	departure *departure

	noNode, noDisk bool // the selector selects none: what is rendered counts as selected, unless it may go
}

// checkSelectors looks for selectors that select nothing of the inventory.
func (s *selection) checkSelectors() {
	storage, disks := &s.cfg.Spec.Storage, system.ObjectsOf(s.Disks.Disks(), (*disk.Disk).Report)
	s.noNode = !s.SelectsNodes(s.Facts, storage.NodeSelector.NodeSelectorTerms, "spec.storage.nodeSelector.nodeSelectorTerms")
	s.noDisk = !s.Selects(storage.DeviceSelector.SelectorTerms, disks, "block device", "spec.storage.deviceSelector.selectorTerms")
}

// keepSelected keeps the disks that were chosen before. What is no longer selected, or
// gone, is held.
func (s *selection) keepSelected() {
	if s.checkSelectors(); s.Failed() {
		return
	}
	var all, moved []leaving
	for _, prior := range s.prior {
		h := &host{name: prior.name, node: prior.node}
		for _, v := range prior.devices {
			if n := s.disks.movedTo(prior, v); n != nil && !s.lets(prior, v) && s.refuseNode(n) == "" && s.refuseUnused(n, v) == "" {
				moved = append(moved, leaving{host: prior, device: v})
				continue
			}
			why := s.unselected(h, v)
			if why == "" {
				h.devices = append(h.devices, v)
				s.choosing(diskRef(v, h), h.nodeName(), place.Kept, "it is a disk of the cluster already")
				s.members.checkKept(h, v)
				continue
			}
			all = append(all, leaving{prior, v, why})
		}
		if len(h.devices) > 0 {
			s.members.hosts = append(s.members.hosts, h)
			s.choosing(system.NodeRef(h.node.Name), h.node.Name, place.Kept, "it has disks of the cluster")
		}
	}
	for _, l := range moved {
		n := s.disks.movedTo(l.host, l.device)
		h := hostOf(s.members.hosts, n.Hostname)
		if h == nil {
			h = &host{name: n.Hostname, node: n}
			s.members.hosts = append(s.members.hosts, h)
			s.choosing(system.NodeRef(n.Name), n.Name, place.Kept, "it has disks of the cluster")
		}
		if h.find(l.Name, l.disk) == nil {
			h.devices = append(h.devices, l.device)
			s.choosing(diskRef(l.device, h), n.Name, place.Kept, "it is a disk of the cluster already")
			s.members.checkKept(h, l.device)
		}
		s.members.hasMoved(l.host, l.device)
	}
	s.departure.leave(all)
}

// unselected says why a disk of the cluster would not be chosen now, or "".
func (s *selection) unselected(h *host, v *device) string {
	switch {
	case h.node == nil:
		return "its node is missing from the inventory"
	case !s.noNode && !s.selects(h.node):
		return "its node is no longer selected by nodeSelector"
	case s.lets(h, v):
		return "its removal is allowed"
	case v.disk.Missing() || !s.disks.isOn(v.disk, h):
		return "it is missing from the inventory"
	case !s.noDisk && !selector.MatchesAny(s.cfg.Spec.Storage.DeviceSelector.SelectorTerms, v.disk.Report()):
		return "it is no longer selected by deviceSelector"
	}
	return s.refuseUnused(h.node, v)
}

// refuseUnused says why a cluster that does not exist yet may no longer use one of its disks, or "".
func (s *selection) refuseUnused(n *inventory.Node, v *device) string {
	if !s.unused {
		return ""
	}
	return s.Disks.Verdict(v.disk, disk.Want{Mine: s.mine, Node: n}).Reason()
}

// warnOfNodes warns of the nodes with disks of the cluster that do not run pods.
func (s *selection) warnOfNodes() {
	var holding []*inventory.Node
	for _, h := range s.members.hosts {
		if h.node != nil && hostOf(s.prior, h.name) != nil {
			holding = append(holding, h.node)
		}
	}
	s.WarnOfNodes(holding, func(n *inventory.Node) string { return place.RefuseRun(n, s.tolerations("osd")) })
}

// chooseDisks takes every eligible disk that the selectors mean.
func (s *selection) chooseDisks() {
	for _, n := range s.Facts.Nodes {
		ref := system.NodeRef(n.Name)
		if why := s.refuseNode(n); why != "" {
			if h := hostOf(s.members.hosts, n.Hostname); h == nil {
				s.choosing(ref, n.Name, place.Refused, why)
			}
			continue
		}
		h := hostOf(s.members.hosts, n.Hostname)
		isNew := h == nil
		if isNew {
			h = &host{name: n.Hostname, node: n}
		}
		refusals := s.chooseOn(h)
		switch {
		case !isNew:
		case len(h.devices) > 0:
			s.members.hosts = append(s.members.hosts, h)
			s.choosing(ref, n.Name, place.Chosen, "it has eligible disks")
		default:
			s.choosing(ref, n.Name, place.Refused, "it has no eligible disk"+orElse(len(refusals) > 0, ": "+place.Summarize(refusals), ""))
		}
	}
}

// chooseOn takes the eligible disks of a host, and returns why the others are none.
func (s *selection) chooseOn(h *host) []place.Refusal {
	var refusals []place.Refusal
	for _, there := range s.Disks.On(h.node) {
		v := &device{disk: there, deviceConfig: deviceConfig{Name: there.ByID(), OSDsPerDevice: 1}}
		if h.find(v.Name, there) != nil || s.members.have(there) {
			continue
		}
		reason := s.Disks.Verdict(there, disk.Want{Mine: s.mine, Node: h.node, MinCapacity: leastDisk}).Reason()
		switch {
		case reason != "":
		case v.Name == "":
			reason = there.NoByID() + ", and its kernel name may be that of another disk tomorrow"
		case !selector.MatchesAny(s.cfg.Spec.Storage.DeviceSelector.SelectorTerms, there.Report()):
			reason = "it is not selected by deviceSelector"
		default:
			reason = s.members.givenUp[there]
		}
		if reason != "" {
			s.choosing(diskRef(v, h), h.node.Name, place.Refused, reason)
			refusals = append(refusals, place.Refusal{Reason: reason, Size: there.Size()})
			continue
		}
		s.Disks.Take(there, s.Object.Ref, s.owner)
		h.devices = append(h.devices, v)
		s.choosing(diskRef(v, h), h.node.Name, place.Chosen, "it is eligible, and selected")
	}
	return refusals
}

// leastDisk is the size below which Rook takes no disk, in bytes.
//
// Source: Ceph, ceph-volume inventory (Insufficient space), 18.2 to 20.2.
const leastDisk = 5 << 30
