package cstor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// removal decides which claims and attachments go, and says what consent does.
type removal struct {
	*input
	members  []*member
	released map[krm.ID]bool

	lingering map[string]bool // nodes that were let go, with volumes that must stay a while
	waiting   map[string]bool // nodes whose removal is allowed, and waits with all that is there
}

// linger keeps the storage sets and the volumes of nodes that were let go, as they were
// rendered, while their pools still live: the disks are known by them, and a pool that
// loses its disks cannot be taken down.
func (r *removal) linger(objects *manifests) {
	member := map[string]bool{}
	r.lingering, r.waiting = map[string]bool{}, map[string]bool{}
	for _, m := range r.members {
		member[m.name], r.waiting[m.name] = true, m.leaving != ""
	}
	rendered := objects.ids()
	for node := range r.standing.VolumeNodes() {
		r.lingering[node] = !member[node] && r.lingers(node)
	}
	for node := range r.standing.Sets() {
		r.lingering[node] = !member[node] && r.lingers(node)
	}
	var stay []*krm.Object
	var kept, unseen []string
	for _, id := range slices.SortedFunc(r.standing.IDs(), compareIDs) {
		object := r.standing.Object(id)
		node := cmp.Or(record.NodeOfVolume(object), object.Node.Str("spec", "nodeName"), object.Node.Str("spec", "node", "name"))
		if node == "" || rendered[id] || !r.lingering[node] && !r.waiting[node] { // rendered: a pool that moved kept it
			continue
		}
		if object.Kind != storageSetKind {
			kept = append(kept, node)
		} else if object = r.lingeringSet(node, object); object == nil {
			continue
		}
		stay = append(stay, object)
	}
	objects.all = append(objects.all, remade(stay, false)...)
	for _, node := range slices.Compact(slices.Sorted(slices.Values(kept))) {
		if claims := r.unseenOf(node); r.lingering[node] && len(claims) > 0 {
			unseen = append(unseen, claims...)
			continue
		}
		r.report(finding.Warning, "volumes-wait", "",
			"the claims and attachments of node %s are released once its pool and CStorPoolInstance are gone from the live cluster; then refresh the inventory, and render again", node)
	}
	if len(unseen) > 0 {
		r.tellUnseen(unseen)
	}
}

// lingeringSet is a storage set with the disks of a pool that still lives, or nil if it has
// none. Cloud disks are not listed in it.
func (r *removal) lingeringSet(node string, set *krm.Object) *krm.Object {
	spec := set.Node.Get("spec")
	devices := spec.Get("blockDevices")
	if devices == nil {
		return set
	}
	left := slices.DeleteFunc(slices.Clone(devices.Items()), func(device d.Node) bool { return !r.goes(node, device.Str("name")) })
	if len(left) == 0 {
		return nil
	}
	if len(left) == len(devices.Items()) {
		return set
	}
	now := d.Object(slices.Clone(spec.Fields())...)
	now.Set("blockDevices", d.List(left...))
	return krm.Make(daoVersion, storageSetKind, r.namespace, set.Name, d.F("spec", now))
}

// surplus lets go what is in no pool and no longer wanted: what was claimed and never became a
// volume, what is known to be unused where it is left to a person, and with consent all else.
// The rest is held, as it was rendered.
func (r *removal) surplus(objects *manifests) {
	pooled, rendered := pooledNames(r.names, r.standing), objects.ids()
	var held []*krm.Object
	var used, bound, standing []string // claims
	for _, id := range slices.SortedFunc(r.standing.IDs(), compareIDs) {
		o := r.standing.Object(id)
		node := record.NodeOfVolume(o)
		if o.Kind != volumeClaimKind {
			continue
		}
		named, inPool := r.consent.allowsClaim(o.Name), pooled[o.Name] || r.inPool(o)
		parts := []*krm.Object{o, r.standing.Object(r.standing.AttachmentID(r.namespace, o.Name, node)), r.standing.Object(r.storageID(o.Name))}
		switch {
		case rendered[id] && named:
			standing = append(standing, o.Name)
		case rendered[id] || r.released[id] || r.lingering[node] || r.waiting[node]:
		case !inPool && (r.consent.allows(node) || named || !r.holdsData(o) || r.retains() && r.isUnused(o)):
			for _, part := range parts {
				if part != nil {
					r.released[part.ID()] = true
				}
			}
		case inPool:
			held, used = append(held, parts...), append(used, o.Name)
		default:
			held, bound = append(held, parts...), append(bound, o.Name)
		}
	}
	held = slices.DeleteFunc(held, func(o *krm.Object) bool { return o == nil || rendered[o.ID()] })
	objects.all = append(objects.all, remade(held, false)...)
	if len(used) > 0 {
		r.report(finding.Warning, "claims-held", "", "no longer wanted, but held, because their disks are in pools: PersistentVolumeClaim %s; they stay until their pools are removed", finding.Names(used))
	}
	if len(bound) > 0 {
		r.report(finding.Warning, "claims-held", "",
			"no longer wanted, but held, because they may contain data: PersistentVolumeClaim %s; to release them, annotate the config with %s: %s", finding.Names(bound), krm.AnnotationAllowRemoval, claimEntries(bound))
	}
	if len(standing) > 0 {
		r.report(finding.Warning, "consent-idle", "",
			"PersistentVolumeClaim %s is wanted, but its removal is allowed: it would be removed as soon as nothing needs it; unless you intend that, remove %s: %s", finding.Names(standing), krm.AnnotationAllowRemoval, claimEntries(standing))
	}
}

// claimEntries is what allows claims to be removed.
func claimEntries(names []string) string {
	if len(names) > finding.Most {
		return volumeClaimKind + "/<name>[,...]"
	}
	return volumeClaimKind + "/" + strings.Join(names, ","+volumeClaimKind+"/")
}

// isUnused reports whether the volume of a claim is known to be in no pool: it never came to
// a node, or nothing that lives has a block device that is it.
func (r *removal) isUnused(claim *krm.Object) bool {
	if r.standing.Object(r.standing.AttachmentID(r.namespace, claim.Name, record.NodeOfVolume(claim))) == nil {
		return true
	}
	devices := r.devicesOf(claim)
	return r.live.knows && len(devices) > 0 && !slices.ContainsFunc(devices, func(d *inventory.BlockDevice) bool { return r.live.shows(d.Name) })
}

// retain leaves to a person what goes of cloud disks, unless the spec says that they are
// deleted. Attachments of a claim that stays are not meant: its volume is attached elsewhere.
func (r *removal) retain(objects *manifests) {
	rendered := objects.ids()
	goes := slices.DeleteFunc(slices.Clone(r.standing.Retained()), func(o *krm.Object) bool {
		r.released[o.ID()] = true
		return rendered[o.ID()]
	})
	for _, id := range slices.SortedFunc(r.standing.IDs(), compareIDs) {
		if id.Kind != volumeClaimKind || !r.released[id] || rendered[id] {
			continue
		}
		claim := r.standing.Object(id)
		goes = append(goes, claim)
		if a := r.standing.Object(r.standing.AttachmentID(r.namespace, claim.Name, record.NodeOfVolume(claim))); a != nil && !rendered[a.ID()] {
			goes = append(goes, a)
		}
	}
	if !r.retains() {
		return
	}
	left := retention{r.facts, r.owner}.leave(goes)
	for _, o := range left {
		objects.add(o)
	}
	r.tellRetained(left)
}

// removalsUnderWay lists the nodes whose pools were let go with consent, by name, as long as
// anything of them is seen: until then the consent need not stand. What is remembered is not
// forgotten where the facts do not show it. It returns their hostname labels, by node.
func removalsUnderWay(in *input, members []*member, going map[string]string) map[string]string {
	known := in.live.knows && (in.facts.Tells("", volumeClaimKind, in.namespace) || !in.cfg.anyExternal())
	left := in.standing.Removing()
	maps.DeleteFunc(left, func(node, host string) bool { return known && !in.leftOf(node, host) })
	for node, host := range going {
		if delete(left, node); in.leftOf(node, host) {
			left[node] = host
		}
	}
	for _, m := range members {
		delete(left, m.name)
	}
	return left
}

// leftOf reports whether anything of a pool that was let go is seen: the pool, its instance,
// claims, attachments.
func (e *existing) leftOf(node, host string) bool {
	owned := func(o *krm.Object) bool { return o.Owner() == e.owner && record.NodeOfVolume(o) == node }
	return e.live.pools[host] != nil || e.live.instances[host] != nil || len(e.live.claimed[host]) > 0 ||
		slices.ContainsFunc(boundFor(e.owner, e.facts), owned) || slices.ContainsFunc(e.facts.Objects(storageGroup, volumeAttachmentKind), owned)
}

func compareIDs(a, b krm.ID) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// warnOfIdleConsent tells of consent to remove what stays: it would do its work later,
// when nobody thinks of it.
func (r *removal) warnOfIdleConsent() {
	for _, of := range r.standing.Clusters() {
		pooled := func(m *member) bool { return m.before != nil && m.of == of }
		if !r.consent.allowsWhole(of) || !slices.ContainsFunc(r.members, pooled) {
			continue
		}
		what := "the whole cluster"
		if len(r.standing.Clusters()) > 1 {
			what = "CStorPoolCluster " + of.Name
		}
		r.report(finding.Warning, "consent-standing", "",
			"the removal of %s is allowed: any pool whose node is no longer wanted would be removed; unless you intend that, remove %s", what, r.consent.wholeAnnotation(of))
	}
	for _, m := range r.members {
		released := func(o *krm.Object) bool { return r.released[o.ID()] }
		if m.before == nil || m.leaving != "" || !r.consent.allowsSet(m.name) || slices.ContainsFunc(r.standing.Volumes(m.name), released) {
			continue
		}
		r.report(finding.Warning, "consent-idle", "",
			"node %s keeps its pool, but the removal of the pool is allowed: it would be removed as soon as the node is missing or no longer selected; unless you intend that, remove %s", m.name, r.consent.annotation(m.name))
	}
}

// pooledNames are the names that the disks of the earlier pools have as volumes,
// if they are volumes.
func pooledNames(n names, l *standing.Standing) map[string]bool {
	pooled := map[string]bool{}
	for _, p := range l.Pools() {
		for i := range p.Data.Disks() {
			pooled[n.storage(l.VolumesOf(p.Node), record.Data, i)] = true
		}
		for i := range p.Cache.Disks() {
			pooled[n.storage(l.VolumesOf(p.Node), record.Cache, i)] = true
		}
	}
	return pooled
}

// inPool reports whether the volume of a claim is a disk of an earlier pool, whatever
// its name says: a spare that took the place of another is.
func (in *input) inPool(claim *krm.Object) bool {
	if storage := in.standing.Object(in.storageID(claim.Name)); storage != nil && in.standing.Pooled(storage.Annotation(krm.AnnotationBlockDevice)) {
		return true
	}
	return slices.ContainsFunc(in.devicesOf(claim), func(d *inventory.BlockDevice) bool { return in.standing.Pooled(d.Name) })
}

// devicesOf lists the block devices that the volume of a claim is.
func (in *input) devicesOf(claim *krm.Object) []*inventory.BlockDevice {
	node, pvName := record.NodeOfVolume(claim), ""
	if live := in.facts.VolumeClaim(claim.Namespace, claim.Name); live != nil {
		pvName = live.VolumeName
	}
	pv := in.facts.Volume(pvName)
	if pv == nil {
		return nil
	}
	devices := in.facts.DevicesOf(pv, pv.Driver, node, in.standing.SetOf(node).Hostname)
	return slices.DeleteFunc(slices.Clone(devices), func(d *inventory.BlockDevice) bool { return d.Namespace != in.namespace })
}

// tellStuck tells of an instance that is left of a removed pool, and in the way of a new one:
// while there are as many instances as pools, the operator neither removes nor makes any
// (version 3.6).
func (r *removal) tellStuck(of *standing.Cluster) {
	if of.Current == nil {
		return
	}
	if all := len(r.state.Live.Instances(r.namespace, of.Name)); all == 0 || all > len(of.Current.Pools) {
		return
	}
	left := r.state.Leftover(of.Current)
	i := slices.IndexFunc(of.Current.Pools, func(p *pool.Pool) bool { return r.live.instances[p.Hostname] == nil })
	if len(left) == 0 || i < 0 {
		return
	}
	r.report(finding.Warning, "instance-in-the-way", "",
		"CStorPoolInstance %s of the pool that was on %s is still there, and with as many instances as pools the cStor operator neither removes it nor makes that of the pool on %s; make sure that nothing on it is needed, and delete it",
		left[0].Name, left[0].Hostname, of.Current.Pools[i].Hostname)
}

// tellLateReplicas tells of replicas on a pool whose removal is applied and not done: until its
// instance goes, cStor (version 3.6) places replicas of new volumes on it as on any other. Of a
// node that is gone nothing is told here: its replicas are lost already.
func (r *removal) tellLateReplicas(of *standing.Cluster) {
	if of.Current == nil {
		return
	}
	for _, i := range r.state.Leftover(of.Current) {
		volumes := r.volumesOn([]*pool.Instance{i})
		if len(volumes) == 0 || r.host(i.Hostname) == nil || r.standing.OnHost(i.Hostname) != nil {
			continue
		}
		r.report(finding.Warning, "replicas-going", "",
			"CStorPoolInstance %s of the pool that was removed from %s has replicas that were placed there since, and go with it: those of volume %s; see to it that each has a healthy one on another pool (spec.policy.replicaPoolInfo of its CStorVolumeConfig)",
			i.Name, i.Hostname, finding.Names(volumes))
	}
}

// cannotGo says what of the facts speaks against the removal of a pool that may live, or "".
func (in *input) cannotGo(p *standing.Pool) string {
	instance := in.live.instances[p.Hostname]
	switch from := in.live.elsewhere(p.Pool); {
	case from != "":
		return "it is on its way from host " + from + "; apply what is rendered, and refresh the inventory once it exists"
	case in.mayFollow(p):
		return "the inventory does not show whether it follows its disks to another node; refresh it with poolwright inventory, with the kinds BlockDevice, BlockDeviceClaim, CStorPoolCluster and CStorPoolInstance"
	case !in.live.knowsReplicas:
		return "the inventory does not show whether it holds volume replicas; refresh it with poolwright inventory, with the kinds CStorPoolInstance and CStorVolumeReplica"
	case instance != nil && in.state.Live.Replicas(in.namespace, instance.Name) > 0:
		return fmt.Sprintf("CStorPoolInstance %s holds %s, to be moved to other pools first", instance.Name, finding.Count(in.state.Live.Replicas(in.namespace, instance.Name), "volume replica"))
	case instance == nil && p.Of.Current == nil && !in.facts.Tells(cstorGroup, poolClusterKind, in.namespace):
		return "the inventory does not show whether it is applied; refresh it with poolwright inventory, with the kind CStorPoolCluster"
	case instance == nil && in.live.pools[p.Hostname] != nil:
		return "it has no CStorPoolInstance yet, and the cStor webhook fails on its removal; refresh the inventory once the instance is there"
	}
	return ""
}

// mayFollow reports whether a pool would perhaps move with its disks if more were known,
// and not be removed. Consent that names its node is meant for what it has in any case.
func (in *input) mayFollow(p *standing.Pool) bool {
	if in.consent.allowsSet(p.Node) {
		return false
	}
	away := func(name string) bool {
		device := in.facts.Device(in.namespace, name)
		return device != nil && device.Hostname != p.Hostname
	}
	return !in.facts.Tells(deviceGroup, blockDeviceKind, in.namespace) || !in.live.knows && slices.ContainsFunc(p.Disks(), away)
}
