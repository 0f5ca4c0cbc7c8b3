package cstor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// checkClaims looks at the claims of cloud disks.
func (s *situation) checkClaims() {
	step := s.report.Step(volumeClaimKind)
	for _, rendered := range s.rendered[volumeClaimKind] {
		step.Count()
		node := s.nodeOf(rendered.Name)
		live := s.facts.Object(rendered.ID())
		p := health.Problem{Phase: health.Progressing, Subject: rendered.Name, Node: node, Storage: rendered.Name}
		class := rendered.Node.Str("spec", "storageClassName")
		switch phase := field(live, "status", "phase").Str(); {
		case live == nil && s.before.Object(s.before.AttachmentID(s.namespace, rendered.Name, record.NodeOfVolume(rendered))) != nil:
			p.Phase, p.Reason, p.What = health.Error, "ClaimMissing", "missing, though bound before"
		case live == nil:
			p.Reason, p.What = health.NotApplied, "not applied yet"
		case live.Deleting():
			p.Phase, p.Reason, p.What = health.Error, "ClaimDeleting", "being deleted"
		case phase == "Lost":
			p.Phase, p.Reason, p.What = health.Error, "ClaimLost", "lost"
			p.Note = "its volume " + live.Node.Str("spec", "volumeName") + " is gone"
		case phase == "Bound":
			continue
		case s.noClass(class):
			p.Phase, p.Reason, p.What, p.Since = health.Error, "StorageClassMissing", "not bound", created(live)
			p.Note = "there is no StorageClass " + class
		default:
			p.Reason, p.What, p.Since = "ClaimPending", "not bound yet", created(live)
		}
		step.Add(p)
	}
	s.checkUnrendered(step, volumeClaimKind)
	s.checkAwaited(step, "awaiting-volumes")
}

// noClass reports that a storage class is known not to be there.
func (s *situation) noClass(name string) bool {
	class := krm.ID{Group: storageGroup, Kind: storageClassKind, Name: name}
	return s.facts.Object(class) == nil && len(s.facts.Objects(storageGroup, storageClassKind)) > 0
}

// checkAttachments looks at the attachments of cloud disks.
func (s *situation) checkAttachments() {
	step := s.report.Step(volumeAttachmentKind)
	pooled := pooledNames(s.names, s.before)
	for _, rendered := range s.rendered[volumeAttachmentKind] {
		step.Count()
		node, volume := rendered.Node.Str("spec", "nodeName"), rendered.Node.Str("spec", "source", "persistentVolumeName")
		if s.down[node] {
			continue
		}
		live := s.facts.Object(rendered.ID())
		if a := s.facts.Attachment(volume, node); live == nil && a != nil {
			live = s.facts.Object(krm.ID{Group: storageGroup, Kind: volumeAttachmentKind, Name: a.Name}) // another's will do
		}
		p := health.Problem{Phase: health.Progressing, Subject: rendered.Name, Node: node, Storage: s.storageOf(rendered.Name)}
		failure := field(live, "status", "attachError")
		switch {
		case live == nil && s.before.ClusterOf(node).Current != nil && pooled[p.Storage]:
			p.Phase, p.Reason, p.What = health.Error, "AttachmentMissing", "missing, though a pool uses the disk"
		case live == nil:
			p.Reason, p.What = health.NotApplied, "not applied yet"
		case live.Deleting():
			p.Phase, p.Reason, p.What = health.Error, "AttachmentDeleting", "being deleted"
		case field(live, "status", "detachError") != nil:
			p.Reason, p.What, p.Since = "Detaching", "not detached yet", created(live)
			p.Note = oneLine(field(live, "status", "detachError", "message").Str())
		case field(live, "status", "attached").Str() == "true":
			continue
		case failure.Str("message") != "":
			p.Phase, p.Reason, p.What = health.Error, "AttachFailed", "failed"
			p.Note, p.Since = oneLine(failure.Str("message")), created(live)
		case s.needsNoAttaching(rendered.Node.Str("spec", "attacher")):
			continue
		default:
			p.Reason, p.What, p.Since = "Attaching", "not attached yet", created(live)
		}
		step.Add(p)
	}
	s.checkUnrendered(step, volumeAttachmentKind)
}

// needsNoAttaching reports that a driver attaches nothing.
func (s *situation) needsNoAttaching(driver string) bool {
	o := s.facts.Object(krm.ID{Group: storageGroup, Kind: csiDriverKind, Name: driver})
	return o != nil && o.Node.Str("spec", "attachRequired") == "false"
}

// checkDevices looks at every block device that is in a pool or reserved, at the
// spare ones apart: nobody claims these.
func (s *situation) checkDevices() {
	step, spares := s.report.Step("block device"), s.report.Step("spare disk")
	pooled := map[string]bool{} // by the operator's own knowledge
	for _, of := range s.before.Clusters() {
		if of.Current == nil {
			continue
		}
		for _, name := range of.Current.Disks() {
			pooled[name] = true
		}
	}
	for _, node := range s.before.Nodes() {
		unused := s.before.Reserved(node, record.Spare)
		for _, name := range s.devicesOf(node) {
			among := step
			if slices.Contains(unused, name) && !pooled[name] {
				among = spares
			}
			among.Count()
			if s.down[node] {
				continue
			}
			if p, amiss := s.device(name, node, pooled[name]); amiss {
				among.Add(p)
			}
		}
	}
	for _, f := range s.out.Findings {
		if f.Rule == "device-refused" {
			step.Add(health.Problem{Phase: health.Error, Reason: "DeviceRefused", Message: f.Message})
		}
	}
	s.checkAwaited(step, awaitingDevices)
	s.checkAwaited(spares, "awaiting-spare")
}

// devicesOf lists the block devices of a node, each once.
func (s *situation) devicesOf(node string) []string {
	var names []string
	if p := s.before.Pool(node); p != nil {
		names = p.Disks()
	}
	for _, r := range []record.Role{record.Data, record.Cache, record.Spare} {
		for _, name := range s.before.Reserved(node, r) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// device says what is amiss with a block device.
func (s *situation) device(name, node string, pooled bool) (health.Problem, bool) {
	p := health.Problem{Phase: health.Error, Subject: name, Node: node}
	dev := s.facts.Device(s.namespace, name)
	if dev == nil {
		p.Reason, p.What = "DeviceMissing", "missing"
		if s.before.ClusterOf(node).Current == nil {
			p.Phase = health.Progressing // the node disk manager may come with the rest
		}
		return p, true
	}
	p.Note = dev.Path
	claim := s.facts.ClaimOf(dev)
	switch {
	case dev.Hostname != s.hostname(node):
		p.Reason, p.What, p.Note = "DeviceMoved", "moved", "it is on host "+dev.Hostname+" now"
	case dev.State == "Inactive":
		p.Made, p.Reason, p.What = true, "DeviceInactive", "inactive"
	case dev.State != "Active":
		// The node disk manager cannot tell at the moment, and will.
		p.Made, p.Phase, p.Reason, p.What = true, health.Progressing, "DeviceUnknown", "in a state that is not known"
	case dev.Fault != "":
		p.Made = true
		p.Reason, p.What, p.Note = "DeviceDoubtful", "doubtful", dev.Fault
	case claim != nil && claim.PoolCluster != s.before.ClusterOf(node).Name:
		p.Reason, p.What, p.Note = "DeviceClaimedByOther", "claimed for something else", "by BlockDeviceClaim "+claim.Name
	case pooled && s.lostClaim(dev, claim):
		p.Reason, p.What = "DeviceClaimGone", "in a pool without a claim"
		gone := "the operator does not make it again, and the disk is free to others"
		p.Note = strings.TrimPrefix(p.Note+": "+gone, ": ")
	case pooled && dev.ClaimState != "Claimed":
		p.Phase, p.Reason, p.What = health.Progressing, "DeviceUnclaimed", "not claimed yet"
	default:
		return p, false
	}
	return p, true
}

// lostClaim reports whether a disk that a pool uses, and so had a claim, has none now.
func (s *situation) lostClaim(d *inventory.BlockDevice, claim *inventory.Claim) bool {
	i := s.instanceOn(d.Hostname)
	return claim == nil && i != nil && slices.Contains(i.Pool.Disks(), d.Name) &&
		(d.ClaimState != "Claimed" || s.facts.Tells(deviceGroup, blockDeviceClaimKind, s.namespace))
}

// nodeOf is the node that a cloud disk is for.
func (s *situation) nodeOf(storage string) string {
	if o := s.before.Object(s.storageID(storage)); o != nil {
		return o.Node.Str("spec", "nodeName")
	}
	if o := s.before.Object(s.claimID(storage)); o != nil {
		return o.Annotation(inventory.AnnotationSelectedNode)
	}
	return ""
}

// storageOf is the cloud disk that a claim or an attachment is for. The claim has
// its name.
func (s *situation) storageOf(name string) string { return cmp.Or(s.storages[name], name) }
