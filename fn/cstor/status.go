package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Status implements system.Reporter: it follows the flow from the node over claim,
// attachment and block device to the pools, and compares what was rendered with
// what is there.
//
// A node that is down explains everything on it, so its disks and pools are not
// looked at: they would only turn the status to and fro while it starts again.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	s := newStanding(facts, spec, out)
	s.checkRendered()
	s.checkNodes()
	s.checkClaims()
	s.checkAttachments()
	s.checkDevices()
	s.checkPoolCluster()
	s.checkPools()
	s.detail()
	return s.report.Status(spec.Object.Ref, s.pools()+" healthy")
}

// standing is one CStorClusterConfig as it stands.
type standing struct {
	*system.Spec
	names
	facts     *inventory.Facts
	before    *lock         // what was rendered or else is live
	out       system.Output // what the facts give now
	current   *pool.Cluster // the CStorPoolCluster that lives, or nil
	live      *krm.Object   // the CStorPoolCluster, or nil
	instances []*pool.Instance
	rendered  map[string][]*krm.Object // by kind, in order of their names
	wanted    map[string][]*krm.Object // what would be rendered by now, by kind
	storages  map[string]string        // the Storage of an attachment
	down      map[string]bool          // nodes that are missing or not ready
	report    health.Report
}

func newStanding(facts *inventory.Facts, spec *system.Spec, out system.Output) *standing {
	s := &standing{
		Spec: spec, names: names{spec.Object.Namespace, spec.Object.Name}, facts: facts, out: out,
		rendered: map[string][]*krm.Object{}, wanted: map[string][]*krm.Object{}, storages: map[string]string{}, down: map[string]bool{},
	}
	s.live = facts.PoolCluster(s.namespace, s.name)
	if s.live != nil {
		s.current = pool.DecodeCluster(s.live)
	}
	s.before = readLock(spec.Before, s.current, facts)
	for _, i := range facts.PoolInstances(s.namespace, s.name) {
		s.instances = append(s.instances, pool.DecodeInstance(i.Object))
	}
	for _, o := range spec.Before {
		s.rendered[o.Kind] = append(s.rendered[o.Kind], o)
	}
	for _, o := range out.Objects {
		s.wanted[o.Kind] = append(s.wanted[o.Kind], o.Object)
	}
	for _, objects := range s.rendered {
		slices.SortFunc(objects, func(a, b *krm.Object) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, claim := range append(slices.Clone(s.rendered[volumeClaimKind]), s.wanted[volumeClaimKind]...) {
		s.storages[attachmentName(s.namespace, claim.Name)] = claim.Name
	}
	return s
}

// pools says "3 of 3 pools".
func (s *standing) pools() string {
	n := len(s.before.pools)
	return fmt.Sprintf("%d of %s", n, finding.Count(n, "pool"))
}

// checkRendered tells whether there is anything to look at.
func (s *standing) checkRendered() {
	step := s.report.Step("object")
	if finding.Failed(s.out.Findings) {
		p := health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(s.out.Findings)}
		if len(s.facts.Nodes) == 0 {
			p.Message = "there is no Node among the facts, so nothing can be chosen"
		}
		step.Add(p)
		return
	}
	if len(s.Before) == 0 && s.live == nil {
		step.Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotRendered, Since: created(s.Object),
			Message: "nothing is rendered for it yet, and no CStorPoolCluster " + s.name + " is in the cluster; run poolwright render, commit and apply what it writes",
		})
		return
	}
	// Its pools and claims tell of what was applied, too.
	rendered, applied := 0, len(s.instances)+len(s.facts.ClaimedBy(s.namespace, s.name))
	for _, o := range s.Before {
		if o.Group() == daoGroup {
			continue
		}
		rendered++
		if s.facts.Object(o.ID()) != nil {
			applied++
		}
	}
	if rendered > 0 && applied == 0 {
		step.Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotApplied,
			Message: fmt.Sprintf("nothing of what is rendered (%s) is in the cluster yet; commit and apply it", finding.Count(rendered, "object")),
		})
	}
}

func (s *standing) checkNodes() {
	step := s.report.Step("node")
	var problems []health.Problem
	for _, name := range s.before.nodes {
		step.Count()
		p := health.Problem{Phase: health.Error, Outage: true, Subject: name, Node: name}
		hostname := s.hostname(name)
		n := s.facts.Node(name)
		if hosts := s.facts.Host(hostname); n == nil && len(hosts) == 1 {
			n = hosts[0]
		}
		switch {
		case n == nil:
			p.Reason, p.What = "NodeMissing", "missing from the cluster"
			s.down[name] = true
		case hostname != "" && n.Hostname != hostname:
			p.Reason, p.What = "HostnameChanged", "without the hostname label that its pool selects"
			p.Note = fmt.Sprintf("%q, not %q", n.Hostname, hostname)
		default:
			ready := condition(n.Object, "Ready")
			switch since := transition(ready); ready.Str("status") {
			case "", "True": // a snapshot need not hold it
				s.report.Unchanged(since)
				continue
			default:
				s.down[name] = true
				p.Reason, p.What, p.Since, p.Note = "NodeNotReady", "not ready", since, ready.Str("reason")
				if n.Unschedulable {
					// Somebody works on it, and will bring it back.
					p.Phase, p.What = health.Progressing, "not ready and cordoned"
				}
			}
		}
		problems = append(problems, p)
	}
	for _, p := range problems {
		// Volumes go on without one node of several. With more of them down, or the
		// only one, they stop: that is no maintenance.
		if len(problems) > 1 || len(s.before.nodes) == 1 {
			p.Phase = health.Error
		}
		step.Add(p)
	}
}

// hostname is the host on which the pool of a node is, or is to be.
func (s *standing) hostname(node string) string {
	if p := s.before.pool(node); p != nil {
		return p.Hostname
	}
	return s.before.sets[node].hostname
}

// checkClaims looks at the claims of cloud disks.
func (s *standing) checkClaims() {
	step := s.report.Step(volumeClaimKind)
	for _, rendered := range s.rendered[volumeClaimKind] {
		step.Count()
		node := s.nodeOf(rendered.Name)
		live := s.facts.Object(rendered.ID())
		p := health.Problem{Phase: health.Progressing, Subject: rendered.Name, Node: node, Storage: rendered.Name}
		class := rendered.Node.Str("spec", "storageClassName")
		switch phase := field(live, "status", "phase").Str(); {
		case live == nil && s.before.objects[s.attachmentID(rendered.Name)] != nil:
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
func (s *standing) noClass(name string) bool {
	class := krm.ID{Group: storageGroup, Kind: storageClassKind, Name: name}
	return s.facts.Object(class) == nil && len(s.facts.Objects(storageGroup, storageClassKind)) > 0
}

// checkAttachments looks at the attachments of cloud disks.
func (s *standing) checkAttachments() {
	step := s.report.Step("VolumeAttachment")
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
		case live == nil && s.live != nil && pooled[p.Storage]:
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
func (s *standing) needsNoAttaching(driver string) bool {
	o := s.facts.Object(krm.ID{Group: storageGroup, Kind: csiDriverKind, Name: driver})
	return o != nil && o.Node.Str("spec", "attachRequired") == "false"
}

// checkDevices looks at every block device that is in a pool or reserved, at the
// spare ones apart: nobody claims these.
func (s *standing) checkDevices() {
	step, spares := s.report.Step("block device"), s.report.Step("spare disk")
	pooled := map[string]bool{} // by the operator's own knowledge
	if s.live != nil {
		for _, p := range pool.DecodeCluster(s.live).Pools {
			for _, name := range p.Disks() {
				pooled[name] = true
			}
		}
	}
	for _, node := range s.before.nodes {
		unused := s.before.reserved(node, spare)
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
	s.checkAwaited(step, "awaiting-devices")
	s.checkAwaited(spares, "awaiting-spare")
}

// devicesOf lists the block devices of a node, each once.
func (s *standing) devicesOf(node string) []string {
	var names []string
	if p := s.before.pool(node); p != nil {
		names = p.Disks()
	}
	for _, r := range []role{data, cache, spare} {
		for _, name := range s.before.reserved(node, r) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// device says what is amiss with a block device.
func (s *standing) device(name, node string, pooled bool) (health.Problem, bool) {
	p := health.Problem{Phase: health.Error, Subject: name, Node: node}
	dev := s.facts.Device(s.namespace, name)
	if dev == nil {
		p.Reason, p.What = "DeviceMissing", "missing"
		if s.live == nil {
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
		p.Reason, p.What = "DeviceInactive", "inactive"
	case dev.State != "Active":
		// The node disk manager cannot tell at the moment, and will.
		p.Phase, p.Reason, p.What = health.Progressing, "DeviceUnknown", "in a state that is not known"
	case dev.Fault != "":
		p.Reason, p.What, p.Note = "DeviceDoubtful", "doubtful", dev.Fault
	case claim != nil && claim.PoolCluster != s.name:
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
func (s *standing) lostClaim(d *inventory.BlockDevice, claim *inventory.Claim) bool {
	i := s.instanceOn(d.Hostname)
	return claim == nil && i != nil && slices.Contains(i.Pool.Disks(), d.Name) &&
		(d.ClaimState != "Claimed" || s.facts.Tells(deviceGroup, blockDeviceClaimKind, s.namespace))
}

// checkAwaited takes over what the renderer awaits. What was seen of it in the
// same step comes first, and tells more.
func (s *standing) checkAwaited(step *health.Step, rule string) {
	for _, f := range s.out.Findings {
		if f.Rule == rule {
			step.Add(health.Problem{Phase: health.Progressing, Reason: awaiting(rule), Message: f.Message})
		}
	}
}

// checkUnrendered looks for objects that the spec and the cluster ask for by now
// and that are not rendered, or rendered otherwise.
func (s *standing) checkUnrendered(step *health.Step, kind string) {
	for _, o := range s.wanted[kind] {
		have := s.before.objects[o.ID()]
		if have == nil {
			step.Count()
			have = s.facts.Object(o.ID()) // to be taken over
		}
		if have != nil && within(o.Node.Get("spec"), have.Node.Get("spec")) {
			continue
		}
		storage := s.storageOf(o.Name)
		step.Add(health.Problem{
			Phase: health.Progressing, Reason: "RenderPending", Subject: o.Name, Storage: storage, Node: s.nodeOf(storage),
			What: "not rendered as they now would be (refresh the inventory, run poolwright render, commit)",
		})
	}
}

// within reports whether all that a tree says is said by another, which may say
// more: an API server fills in defaults.
func within(part, whole *d.Node) bool {
	if part == nil || whole == nil || part.Kind != d.Map || whole.Kind != d.Map {
		return d.Equal(part, whole) || part != nil && part.Kind == d.Seq && listWithin(part, whole)
	}
	for i := range part.Fields {
		if f := &part.Fields[i]; !within(&f.Value, whole.Get(f.Key)) {
			return false
		}
	}
	return true
}

func listWithin(part, whole *d.Node) bool {
	if whole == nil || whole.Kind != d.Seq || len(part.Items) != len(whole.Items) {
		return false
	}
	for i := range part.Items {
		if !within(&part.Items[i], &whole.Items[i]) {
			return false
		}
	}
	return true
}

// nodeOf is the node that a cloud disk is for.
func (s *standing) nodeOf(storage string) string {
	if o := s.before.objects[s.storageID(storage)]; o != nil {
		return o.Node.Str("spec", "nodeName")
	}
	if o := s.before.objects[s.claimID(storage)]; o != nil {
		return o.Annotation(inventory.AnnotationSelectedNode)
	}
	return ""
}

// storageOf is the cloud disk that a claim or an attachment is for. The claim has
// its name.
func (s *standing) storageOf(name string) string { return cmp.Or(s.storages[name], name) }

// field is a part of an object that may not be there.
func field(o *krm.Object, path ...string) *d.Node {
	if o == nil {
		return nil
	}
	return o.Node.Get(path...)
}

func created(o *krm.Object) time.Time {
	return parseTime(field(o, "metadata", "creationTimestamp").Str())
}

// condition is the condition of a type, or nil.
func condition(o *krm.Object, kind string) *d.Node {
	conditions := o.Node.Seq("status", "conditions")
	for i := range conditions {
		if conditions[i].Str("type") == kind {
			return &conditions[i]
		}
	}
	return nil
}

func transition(condition *d.Node) time.Time { return parseTime(condition.Str("lastTransitionTime")) }

// parseTime is zero for what is no time.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// oneLine makes one line of what an attacher said.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
