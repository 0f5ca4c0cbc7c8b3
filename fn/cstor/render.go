package cstor

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Stages of the output: a disk is claimed, then attached, then pooled.
const (
	claimStage = iota - 2
	attachStage
	poolStage
)

// render makes the objects of the cluster.
func (c *cluster) render() {
	slices.SortFunc(c.members, func(a, b *member) int { return cmp.Compare(a.name, b.name) })
	c.renderPlan()
	for _, m := range c.members {
		c.renderStorageSet(m)
		for _, v := range m.volumes {
			c.renderVolume(m, v)
		}
	}
	c.renderPoolCluster()
	c.releaseSurplus()
	c.warnOfIdleConsent()
}

func (c *cluster) add(o gitops.Object) { c.out.Objects = append(c.out.Objects, o) }

func (c *cluster) renderPlan() {
	var nodes []d.Node
	for _, m := range c.members {
		nodes = append(nodes, nodeNode(d.F("name", d.Text(m.name)), m))
	}
	c.add(gitops.Object{
		File: "cstorclusterplan.yaml", Intermediate: true,
		Object: krm.Make(daoVersion, clusterPlanKind, c.namespace(), c.name(),
			d.F("spec", d.Object(d.F("nodes", d.List(nodes...))))),
	})
}

// nodeNode writes a node with its uid, if it is known.
func nodeNode(name d.Field, m *member, more ...d.Field) d.Node {
	n := d.Object(name)
	if m.uid != "" {
		n.Set("uid", d.Text(m.uid))
	}
	n.Fields = append(n.Fields, more...)
	return n
}

func (c *cluster) renderStorageSet(m *member) {
	disk := &c.cfg.Spec.DiskConfig
	spec := d.Object(
		d.F("node", nodeNode(d.F("name", d.Text(m.name)), m, d.F("hostname", d.Text(m.hostname)))),
		d.F("disk", d.Object(
			d.F("capacity", d.Text(disk.MinCapacity)),
			d.F("count", d.Int(int64(disk.MinCount))),
		)),
	)
	// Cloud disks have a Storage each; disks of the node are listed.
	var devices []d.Node
	list := func(r role, names []string) {
		for _, name := range names {
			devices = append(devices, d.Object(d.F("name", d.Text(name)), d.F("role", d.Text(string(r)))))
		}
	}
	if c.cfg.external() {
		spec.Set("externalProvisioner", disk.ExternalProvisioner.node())
	} else {
		list(data, flatten(m.data))
	}
	if w := c.cfg.Spec.PoolConfig.WriteCache; !c.cfg.cacheExternal() && (w != nil || !c.cfg.external()) {
		list(cache, flatten(m.cache))
	}
	if !c.cfg.external() {
		list(spare, m.spare)
	}
	if len(devices) > 0 || !c.cfg.external() {
		spec.Set("blockDevices", d.List(devices...))
	}
	c.add(gitops.Object{
		File: "cstorclusterstorageset.yaml", Intermediate: true,
		Object: krm.Make(daoVersion, storageSetKind, c.namespace(), storageSetName(c.name(), m.name), d.F("spec", spec)),
	})
}

func (p *provisioner) node() d.Node {
	return d.Object(
		d.F("csiAttacherName", d.Text(p.CSIAttacherName)),
		d.F("storageClassName", d.Text(p.StorageClassName)),
	)
}

// renderVolume makes the Storage, its claim, and its attachment once it is bound.
func (c *cluster) renderVolume(m *member, v *volume) {
	storage := krm.Make(daoVersion, storageKind, c.namespace(), v.name, d.F("spec", d.Object(
		d.F("capacity", d.Text(v.capacity)),
		d.F("nodeName", d.Text(m.name)),
		d.F("role", d.Text(string(v.role))),
	)))
	if v.override != "" {
		storage.SetAnnotation(krm.AnnotationBlockDevice, v.override)
	}
	c.add(gitops.Object{File: "storage.yaml", Intermediate: true, Object: storage})

	claim := krm.Make("v1", volumeClaimKind, c.namespace(), v.name, d.F("spec", d.Object(
		d.F("accessModes", d.List(d.Text("ReadWriteOnce"))),
		d.F("volumeMode", d.Text("Block")),
		d.F("storageClassName", d.Text(v.StorageClassName)),
		d.F("resources", d.Object(d.F("requests", d.Object(d.F("storage", d.Text(v.capacity)))))),
	)))
	// With a WaitForFirstConsumer class and no pod, this is what lets it bind.
	claim.SetAnnotation(inventory.AnnotationSelectedNode, m.name)
	c.add(gitops.Object{File: "persistentvolumeclaim.yaml", Stateful: true, Stage: claimStage, Object: claim})

	if v.pvName == "" {
		return
	}
	// The claim is namespaced and the attachment is not: no owner reference.
	attachment := krm.Make(storageVersion, volumeAttachmentKind, "", attachmentName(c.namespace(), v.name), d.F("spec", d.Object(
		d.F("attacher", d.Text(v.CSIAttacherName)),
		d.F("nodeName", d.Text(m.name)),
		d.F("source", d.Object(d.F("persistentVolumeName", d.Text(v.pvName)))),
	)))
	c.add(gitops.Object{
		File: "volumeattachment.yaml", Stateful: true, Stage: attachStage, Object: attachment,
		Needs: []krm.ID{claim.ID()},
	})
}

// renderPoolCluster makes the CStorPoolCluster once every new pool has its disks.
// Until then the pools that exist stay.
func (c *cluster) renderPoolCluster() {
	members := c.poolMembers()
	if !c.keepsPools(members) {
		return
	}
	if len(members) == 0 {
		if c.before.cluster != nil && len(c.before.pools) > 0 {
			c.report(finding.Error, "no-pools", "", "the last pool would go before a new one has its disks, and a CStorPoolCluster cannot be empty; keep one node until then")
		}
		return
	}
	var pools []d.Node
	for _, m := range members {
		pools = append(pools, c.poolNode(m))
	}
	spec := d.Object(d.F("pools", d.List(pools...)))
	pool := &c.cfg.Spec.PoolConfig
	setJSON(&spec, "resources", pool.ComputeResources)
	setJSON(&spec, "auxResources", pool.AuxResources)
	if len(pool.Tolerations) > 0 {
		tolerations, _ := json.Marshal(pool.Tolerations)
		setJSON(&spec, "tolerations", tolerations)
	}
	if pool.PriorityClassName != "" {
		spec.Set("priorityClassName", d.Text(pool.PriorityClassName))
	}
	o := krm.Make(cstorVersion, poolClusterKind, c.namespace(), c.name(), d.F("spec", spec))
	if tags := c.Object.Annotation(inventory.AnnotationAllowedTag); tags != "" {
		o.SetAnnotation(inventory.AnnotationAllowedTag, tags)
	}
	c.admit(o)
	c.add(gitops.Object{File: "cstorpoolcluster.yaml", Stateful: true, Stage: poolStage, Object: o, Needs: c.attachments(members)})
}

// attachments are those that a pool cluster comes after, and goes before: one of
// each node. kpt applies and prunes a whole rank at a time, and annotations have a
// limit that all of a large cluster would exceed.
func (c *cluster) attachments(members []*member) []krm.ID {
	var needs []krm.ID
	for _, m := range members {
		for _, v := range m.volumes {
			if v.pvName != "" {
				needs = append(needs, krm.ID{Group: storageGroup, Kind: volumeAttachmentKind, Name: attachmentName(c.namespace(), v.name)})
				break
			}
		}
	}
	return needs
}

// keepsPools makes sure that no pool goes without consent.
func (c *cluster) keepsPools(members []*member) bool {
	kept := make(map[*pool]bool, len(members))
	for _, m := range members {
		kept[m.before] = true
	}
	for _, p := range c.before.pools {
		if !kept[p] && !c.consents(p.node) {
			c.report(finding.Error, "would-destroy", "", "the pool on node %s is no longer wanted, and would be lost; annotate the config with %s", p.node, c.consentFor(p.node))
			return false
		}
	}
	return true
}

// poolMembers lists the members whose pools are rendered: those that have one,
// in the order they have, then the new ones if all of them are ready.
func (c *cluster) poolMembers() []*member {
	var old, added []*member
	ready := !c.lacking
	for _, m := range c.members {
		switch {
		case m.before != nil:
			old = append(old, m)
		default:
			added = append(added, m)
			ready = ready && !m.waiting
		}
	}
	place := make(map[*pool]int, len(c.before.pools))
	for i, p := range c.before.pools {
		place[p] = i
	}
	slices.SortFunc(old, func(a, b *member) int { return cmp.Compare(place[a.before], place[b.before]) })
	if !ready {
		return old
	}
	if removed := c.stillLive(); len(removed) > 0 && len(added) > 0 {
		c.report(finding.Warning, "two-steps", "",
			"new pools wait until the pool on %s is gone from the live cluster: the cStor operator ignores a removal and an addition in one edit; apply, refresh the inventory, render again", removed[0])
		return old
	}
	return append(old, added...)
}

// stillLive lists the hosts whose pools are live and no longer wanted.
func (c *cluster) stillLive() []string {
	wanted := make(map[string]bool, len(c.members))
	for _, m := range c.members {
		wanted[m.hostname] = true
	}
	var hosts []string
	for host := range c.livePools() {
		if !wanted[host] {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (c *cluster) poolNode(m *member) d.Node {
	pool := &c.cfg.Spec.PoolConfig
	cfg := d.Object(d.F("dataRaidGroupType", d.Text(pool.RAIDType)))
	n := d.Object(
		d.F("nodeSelector", d.Object(d.F(inventory.LabelHostname, d.Text(m.hostname)))),
		d.F("dataRaidGroups", groupsNode(m.data)),
	)
	if len(m.cache) > 0 {
		n.Set("writeCacheRaidGroups", groupsNode(m.cache))
		cacheType := ""
		if pool.WriteCache != nil {
			cacheType = pool.WriteCache.RAIDType
		}
		if m.before != nil {
			cacheType = m.before.cacheType
		}
		cfg.Set("writeCacheGroupType", d.Text(cacheType))
	}
	if pool.Compression != "" {
		cfg.Set("compression", d.Text(pool.Compression))
	}
	if pool.ThickProvision != nil {
		cfg.Set("thickProvision", d.Bool(*pool.ThickProvision))
	}
	if pool.ROThresholdLimit != nil {
		cfg.Set("roThresholdLimit", d.Int(int64(*pool.ROThresholdLimit)))
	}
	n.Set("poolConfig", cfg)
	return n
}

func groupsNode(groups [][]string) d.Node {
	items := make([]d.Node, len(groups))
	for i, group := range groups {
		devices := make([]d.Node, len(group))
		for j, name := range group {
			devices[j] = d.Object(d.F("blockDeviceName", d.Text(name)))
		}
		items[i] = d.Object(d.F("blockDevices", d.List(devices...)))
	}
	return d.List(items...)
}
