package cstor

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// Stages of the output: a disk is claimed, then attached, then pooled.
//
// Source: Poolwright.
const (
	claimStage = iota - 2
	attachStage
	poolStage
)

const planFile = "cstorclusterplan.yaml"

// manifests makes the objects of the cluster.
type manifests struct {
	*input
	all  []gitops.Object
	plan *krm.Object
}

// addMembers adds what remembers the members, and what makes their cloud disks.
func (f *manifests) addMembers(members []*member) {
	for _, m := range members {
		f.addStorageSet(m)
		for _, v := range m.cloud {
			f.addVolume(m, v)
		}
	}
}

func (f *manifests) add(o gitops.Object) { f.all = append(f.all, o) }

// ids are those of the objects so far.
func (f *manifests) ids() map[krm.ID]bool {
	ids := make(map[krm.ID]bool, len(f.all))
	for i := range f.all {
		ids[f.all[i].ID()] = true
	}
	return ids
}

// addPlan adds what remembers the nodes, the steps of a transition, the pools that are being
// removed, and that fewer are left than minPoolCount.
func (f *manifests) addPlan(members []*member, removing map[string]string, short bool) {
	var nodes []d.Node
	for _, m := range members {
		n := nodeNode(d.F("name", d.Text(m.name)), m)
		if m.reason != "" {
			n.Set("reason", d.Text(m.reason))
		}
		if listed := f.settings(m.name).listedBy; listed != "" {
			n.Set("listed", d.Text(listed))
		}
		if m.of.Number > 1 {
			n.Set("cluster", d.Text(m.of.Name))
		}
		nodes = append(nodes, n)
	}
	spec := d.Object(d.F("nodes", d.List(nodes...)))
	if len(removing) > 0 {
		list := d.List()
		for _, node := range slices.Sorted(maps.Keys(removing)) {
			list.Add(d.Object(d.F("name", d.Text(node)), d.F("hostname", d.Text(removing[node]))))
		}
		spec.Set("removing", list)
	}
	if steps := f.begunNode(); len(steps.Items()) > 0 {
		spec.Set("steps", steps)
	}
	if f.cfg.Spec.PoolConfig.DeletionPolicy == deleteDisks {
		spec.Set("deletionPolicy", d.Text(string(deleteDisks)))
	}
	if short {
		spec.Set("short", d.Bool(true))
	}
	if clusters := f.furtherClusters(members); len(clusters) > 0 {
		spec.Set("clusters", d.List(clusters...))
	}
	f.plan = krm.Make(daoVersion, clusterPlanKind, f.namespace, f.name, d.F("spec", spec))
	f.add(gitops.Object{File: planFile, Object: f.plan})
}

// furtherClusters lists the CStorPoolClusters beside the first of which there is anything, or
// is to be.
func (f *manifests) furtherClusters(members []*member) []d.Node {
	var list []d.Node
	for _, of := range f.standing.Clusters() {
		seen := of.Current != nil || len(f.state.Live.Instances(f.namespace, of.Name)) > 0 || len(f.state.Live.ClaimedBy(f.namespace, of.Name)) > 0
		if of.Number == 1 || !seen && !slices.ContainsFunc(members, func(m *member) bool { return m.of == of }) {
			continue
		}
		list = append(list, d.Object(d.F("name", d.Text(of.Name))))
	}
	return list
}

// nodeNode writes a node with its uid, if it is known.
func nodeNode(name d.Field, m *member, more ...d.Field) d.Node {
	n := d.Object(name)
	if m.uid != "" {
		n.Set("uid", d.Text(m.uid))
	}
	n.SetFields(append(n.Fields(), more...))
	return n
}

func (f *manifests) addStorageSet(m *member) {
	wanted := f.settings(m.name)
	node := nodeNode(d.F("name", d.Text(m.name)), m, d.F("hostname", d.Text(m.hostname)))
	if of := f.standing.VolumesOf(m.name); of != m.name {
		node.Set("volumesOf", d.Text(of))
	}
	spec := d.Object(
		d.F("node", node),
		d.F("disk", d.Object(
			d.F("capacity", d.Text(wanted.capacity)),
			d.F("count", d.Int(int64(max(wanted.minCount, m.grown.Disks)))),
		)),
	)
	// Cloud disks have a Storage each; disks of the node are listed.
	var devices []d.Node
	list := func(r record.Role, names []string) {
		for _, name := range names {
			devices = append(devices, f.device(m, r, name))
		}
	}
	if wanted.external() {
		spec.Set("externalProvisioner", wanted.provisioner.Node())
	} else {
		list(record.Data, m.data.Disks())
	}
	if !wanted.cacheExternal() && (wanted.writeCache != nil || !wanted.external()) {
		list(record.Cache, m.cache.Disks())
	}
	if !wanted.external() {
		list(record.Spare, m.spare)
	}
	list(record.Leaving, f.leaving(m))
	if len(devices) > 0 || !wanted.external() {
		spec.Set("blockDevices", d.List(devices...))
	}
	if m.grown.Count > 0 {
		spec.Set("expansions", m.grown.Node())
	}
	f.add(gitops.Object{
		File:   "cstorclusterstorageset.yaml",
		Object: krm.Make(daoVersion, storageSetKind, f.namespace, f.storageSet(m.name), d.F("spec", spec)),
	})
}

// leaving lists the disks that have left a pool under a name by which something live still
// shows them, or may: under another name they are known to be these as long as they are
// remembered here. They are listed by name.
func (f *manifests) leaving(m *member) []string {
	set, stays := f.standing.SetOf(m.name), map[*disk.Disk]bool{}
	for _, name := range slices.Concat(m.data.Disks(), m.cache.Disks(), m.spare) {
		stays[f.disk(name)] = true
	}
	var names []string
	for name, was := range set.Known {
		same := append(f.disk(name).Others(), f.disk(name))
		mayLive := m.before != nil && was.Role != record.Spare && !f.live.knows
		if (mayLive || f.live.shows(name)) && !was.Empty() && !slices.ContainsFunc(same, func(d *disk.Disk) bool { return stays[d] }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// device remembers a disk, also by what it is known as wherever it is plugged in.
func (f *manifests) device(m *member, r record.Role, name string) d.Node {
	was := f.standing.SetOf(m.name).Known[name]
	id, size := was.Identity, was.Size
	// What is said of it on another host may be said of another disk. A changed link or a smaller
	// size is reported until the disk is as it was.
	if now := f.disk(name); r != record.Leaving && !now.Missing() && (now.Device == nil || now.Device.Hostname == m.hostname) && now.Is(id) {
		if f.ledger.Renamed(now, id.Links) == "" {
			id = now.Identity
		}
		size = max(size, now.Size())
	}
	fields := make([]d.Field, 2, 7) // a large cluster has many
	fields[0], fields[1] = d.F("name", d.Text(name)), d.F("role", d.Text(string(r)))
	for _, known := range []struct{ key, value string }{{"reason", f.reason(m, r, name)}, {"wwn", id.WWN}, {"serial", id.Serial}} {
		if known.value != "" {
			fields = append(fields, d.F(known.key, d.Text(known.value)))
		}
	}
	if len(id.Links) > 0 {
		links := make([]d.Node, len(id.Links))
		for i, link := range id.Links {
			links[i] = d.Text(link)
		}
		fields = append(fields, d.F("links", d.List(links...)))
	}
	if size > 0 {
		fields = append(fields, d.F("size", d.Int(size)))
	}
	return d.Object(fields...)
}

// reason is why a disk was chosen, one word: it is new, or the lock says so, or it is in
// a pool without ever having been chosen.
func (f *manifests) reason(m *member, r record.Role, name string) string {
	set, known := f.standing.Set(m.name)
	if r == record.Leaving {
		return ""
	}
	if known && slices.Contains(set.Devices[r], name) {
		return set.Known[name].Reason
	}
	pooled := m.before != nil && r != record.Spare && slices.Contains(m.before.Disks(), name)
	switch {
	case !pooled && m.before != nil && r == record.Data && len(m.data.Disks()) == len(m.before.Data.Disks()):
		return reasonReplaced
	case !pooled:
		return reasonFit
	case known && len(set.Devices[r]) == len(m.before.Data.Disks()) && r == record.Data:
		return reasonReplaced
	}
	return standing.Adopted
}

// addVolume adds the Storage, its claim, and its attachment once it is bound.
func (f *manifests) addVolume(m *member, v *cloudDisk) {
	storage := krm.Make(daoVersion, storageKind, f.namespace, v.name, d.F("spec", d.Object(
		d.F("capacity", d.Text(v.capacity)),
		d.F("nodeName", d.Text(m.name)),
		d.F("role", d.Text(string(v.role))),
	)))
	if v.override != "" {
		storage.SetAnnotation(krm.AnnotationBlockDevice, v.override)
	}
	f.add(gitops.Object{File: "storage.yaml", Object: storage})

	claim := makeClaim(f.namespace, v.name, m.name, v.StorageClassName, v.capacity)
	f.add(gitops.Object{File: "persistentvolumeclaim.yaml", Stage: claimStage, Object: claim})

	if v.pvName == "" {
		return
	}
	// The claim is namespaced and the attachment is not: no owner reference.
	attachment := krm.Make(storageVersion, volumeAttachmentKind, "", f.standing.AttachmentID(f.namespace, v.name, m.name).Name, d.F("spec", d.Object(
		d.F("attacher", d.Text(v.CSIAttacherName)),
		d.F("nodeName", d.Text(m.name)),
		d.F("source", d.Object(d.F("persistentVolumeName", d.Text(v.pvName)))),
	)))
	f.add(gitops.Object{
		File: "volumeattachment.yaml", Stage: attachStage, Object: attachment,
		Needs: []krm.ID{claim.ID()},
	})
}

// makeClaim makes the claim of a cloud disk for a node.
func makeClaim(namespace, name, node, class, capacity string) *krm.Object {
	claim := krm.Make("v1", volumeClaimKind, namespace, name, d.F("spec", d.Object(
		d.F("accessModes", d.List(d.Text("ReadWriteOnce"))),
		d.F("volumeMode", d.Text("Block")),
		d.F("storageClassName", d.Text(class)),
		d.F("resources", d.Object(d.F("requests", d.Object(d.F("storage", d.Text(capacity)))))),
	)))
	// With a WaitForFirstConsumer class and no pod, this is what lets it bind.
	claim.SetAnnotation(inventory.AnnotationSelectedNode, node)
	return claim
}

// addPoolCluster adds the CStorPoolCluster, after the attachments of its disks.
func (f *manifests) addPoolCluster(cluster *pool.Cluster, members []*member) {
	f.add(gitops.Object{
		File: "cstorpoolcluster.yaml", Stage: poolStage, Object: cluster.Encode(), Needs: f.attachments(members),
	})
}

// attachments are those that a pool cluster comes after, and goes before: one of
// each node. kpt applies and prunes a whole rank at a time, and annotations have a
// limit that all of a large cluster would exceed.
func (f *manifests) attachments(members []*member) []krm.ID {
	var needs []krm.ID
	for _, m := range members {
		for _, v := range m.cloud {
			if v.pvName != "" {
				needs = append(needs, f.standing.AttachmentID(f.namespace, v.name, m.name))
				break
			}
		}
	}
	return needs
}
