package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// cloudDisk is one disk of a member that a cloud provides, from its Storage to its block device.
type cloudDisk struct {
	name     string // of the Storage and of the claim
	role     record.Role
	capacity string
	larger   string // what it is to hold by now, where that is more; "" else
	*record.Provisioner
	override string // the block device that a person named
	pvName   string // once bound
	device   string // once known, the block device
	used     bool   // a spare that is in the pool by now, so that another one is wanted
}

// checkClasses warns of a StorageClass that neither the inventory has, which has
// others, nor the package.
func checkClasses(in *input, held []*krm.Object) {
	var known []string
	for _, o := range in.facts.Objects(storageGroup, storageClassKind) {
		known = append(known, o.Name)
	}
	if len(known) == 0 {
		return
	}
	for _, o := range held {
		if o.Group() == storageGroup && o.Kind == storageClassKind {
			known = append(known, o.Name)
		}
	}
	check := func(field, class string) {
		if !slices.Contains(known, class) {
			in.report(finding.Warning, "no-such-class", field+".storageClassName",
				"%q is not among the StorageClasses of the inventory%s; a claim of it stays unbound until it is there",
				class, schema.DidYouMean(class, known))
		}
	}
	for _, s := range in.cfg.all() {
		if s.external() {
			check(s.field("externalProvisioner"), s.provisioner.StorageClassName)
		}
		if s.cacheExternal() {
			check(s.field("writeCache")+".externalProvisioner", s.writeCache.ExternalProvisioner.StorageClassName)
		}
	}
}

// cloudDisks gives the members cloud disks: it finds the block devices that claimed
// volumes became.
type cloudDisks struct {
	*localDisks
	matched map[string]string // block device -> the Storage that it is
	sizes   *enlargement
	lacking func() bool // whether the facts lack claims, see lacksBound, once
}

// place lists the cloud disks of a member and finds the block devices
// that they became.
func (c *cloudDisks) place(m *member) {
	s := c.settings(m.name)
	if s.external() {
		c.setWants(m)
		m.addCloudDisks(c.input, record.Data, 0, m.wants, s.capacity, s.provisioner)
		m.addCloudDisks(c.input, record.Spare, 0, s.spare, s.capacity, s.provisioner)
	}
	if w := s.writeCache; s.cacheExternal() {
		count := w.Count
		if m.before != nil {
			// No pool gets another write cache than it has, so none is bought for it.
			count = min(count, len(m.before.Cache.Disks()))
		}
		m.addCloudDisks(c.input, record.Cache, 0, count, w.Capacity, w.ExternalProvisioner)
	}

	var unbound, unseen, unchanged []string
	spares := s.spare
	for i := 0; i < len(m.cloud); i++ { // each spare that is used adds another
		v := m.cloud[i]
		if c.keepClaim(m, v) {
			unchanged = append(unchanged, v.name)
		}
		c.bind(m, v)
		c.see(m, v)
		if v.role == record.Spare && (v.used || v.device == "" && c.standing.Object(c.storageID(c.storage(m.name, record.Spare, spares))) != nil) {
			m.addCloudDisks(c.input, record.Spare, spares, 1, s.capacity, s.provisioner)
			spares++
		}
		switch {
		case v.device != "" || v.role == record.Spare && v.pvName != "":
		case v.pvName == "":
			unbound = append(unbound, v.name)
		default:
			unseen = append(unseen, v.name)
		}
	}
	if len(unbound) > 0 {
		c.report(finding.Info, "awaiting-volumes", "", "awaiting the binding of PersistentVolumeClaims for node %s: %s", m.name, finding.Names(unbound))
	}
	if len(unseen) > 0 {
		c.report(finding.Info, awaitingDevices, "", "awaiting the block devices of attached volumes on node %s: %s", m.name, finding.Names(unseen))
	}
	if len(unchanged) > 0 {
		c.report(finding.Warning, "claim-changed", c.settings(m.name).source(),
			"PersistentVolumeClaims of node %s are bound and stay as they are, since a bound claim takes no other class and no disk gets smaller; what is new applies to new disks: %s",
			m.name, finding.Names(unchanged))
	}
	c.sizes.ask(m)
	c.assemble(m)
}

// keepClaim keeps the class of a claim that is there, and its size until a step makes it
// larger. It reports whether the spec asks for what it cannot follow.
func (c *cloudDisks) keepClaim(m *member, v *cloudDisk) bool {
	claim := c.volumeObject(c.claimID(v.name))
	switch {
	case claim == nil:
		return false
	case c.facts.VolumeClaim(c.namespace, v.name) == nil && !c.holdsData(claim) && !c.lacking():
		// It may have been applied since. Beside a pool it gets larger as a step, once it is bound.
		if rendered := requestOf(claim); m.before != nil && quantity.Bytes(v.capacity) > quantity.Bytes(rendered) {
			v.capacity = rendered
		}
		return false
	}
	capacity, kept := cmp.Or(c.sizeOf(claim), v.capacity), *v.Provisioner
	kept.StorageClassName = cmp.Or(claim.Node.Str("spec", "storageClassName"), kept.StorageClassName)
	if attachment := c.volumeObject(c.standing.AttachmentID(c.namespace, v.name, m.name)); attachment != nil {
		kept.CSIAttacherName = cmp.Or(attachment.Node.Str("spec", "attacher"), kept.CSIAttacherName)
	}
	follows := kept == *v.Provisioner && quantity.Bytes(v.capacity) == quantity.Bytes(capacity)
	if v.role != record.Cache && quantity.Bytes(v.capacity) > quantity.Bytes(capacity) {
		v.larger, follows = v.capacity, kept == *v.Provisioner
	}
	v.Provisioner, v.capacity = &kept, capacity
	return !follows
}

// lacksBound reports whether the facts do not have all claims that were bound when others were
// rendered from: that one is not there does not say that it was never applied, then.
func (c *cloudDisks) lacksBound() bool {
	for id, o := range c.standing.Objects() {
		if id.Kind != volumeClaimKind || c.standing.Object(c.standing.AttachmentID(o.Namespace, o.Name, record.NodeOfVolume(o))) == nil {
			continue
		}
		if claim := c.facts.VolumeClaim(o.Namespace, o.Name); claim == nil || !claim.Bound {
			return true
		}
	}
	return false
}

// addCloudDisks adds count cloud disks of one role, from a number on. A disk of an earlier pool
// that Poolwright did not provision is left as it is.
func (m *member) addCloudDisks(c *input, r record.Role, from, count int, capacity string, p *record.Provisioner) {
	for i := from; i < from+count; i++ {
		v := &cloudDisk{name: c.storage(m.name, r, i), role: r, capacity: capacity, Provisioner: p}
		storage := c.standing.Object(c.storageID(v.name))
		if storage != nil {
			v.override = storage.Annotation(krm.AnnotationBlockDevice)
		}
		if m.before != nil {
			pooled := map[record.Role][]string{record.Data: m.before.Data.Disks(), record.Cache: m.before.Cache.Disks()}[r]
			foreign := storage == nil && c.facts.VolumeClaim(c.namespace, v.name) == nil
			if i < len(pooled) && foreign {
				keepDevices(c, m.name, r, pooled[i:i+1])
				continue
			}
			if i < len(pooled) {
				v.device = pooled[i]
			}
		}
		m.cloud = append(m.cloud, v)
	}
}

// bind finds the volume that the claim is bound to: in the snapshot, or in the
// attachment that was rendered when an earlier snapshot showed it.
func (c *cloudDisks) bind(m *member, v *cloudDisk) {
	if claim := c.facts.VolumeClaim(c.namespace, v.name); claim != nil && claim.Bound {
		v.pvName = claim.VolumeName
	}
	old := c.standing.VolumeObject(c.standing.AttachmentID(c.namespace, v.name, m.name))
	if old == nil {
		return
	}
	switch attached := old.Node.Str("spec", "source", "persistentVolumeName"); v.pvName {
	case attached:
	case "":
		v.pvName = attached
		c.report(finding.Warning, "volume-missing", "", "the PersistentVolumeClaim %s/%s was bound and is not bound in this snapshot; its attachment to node %s is held", c.namespace, v.name, m.name)
	default:
		c.storageError(v, "volume-changed", "its claim is now bound to volume %s, and %s is attached in its place; an attachment cannot change its volume: bind the claim to %s again, or remove the node's pool with consent", v.pvName, attached, attached)
	}
}

// see finds the block device that a volume became on its node.
func (c *cloudDisks) see(m *member, v *cloudDisk) {
	d := c.match(m, v)
	kept := v.device
	switch {
	case kept != "" && d != nil && d.Name != kept:
		c.report(finding.Warning, "device-changed", "",
			"Storage %s is now block device %s, and the pool has %s in its place; the pool is kept", v.name, d.Name, kept)
		fallthrough
	case kept != "":
		keepDevices(c.input, m.name, v.role, []string{kept})
		return
	case d == nil:
		c.choose(c.storageRef(v.name), m.name, v.role, place.Awaited, awaited(v))
		return
	}
	if v.role == record.Spare && v.override == "" && c.standing.Pooled(d.Name) {
		if v.used = c.live.inCluster(d.Name); !v.used {
			c.report(finding.Info, "spare-used", c.settings(m.name).field("spare"),
				"Storage %s is block device %s, which takes the place of another in a pool; a new spare is claimed once the live CStorPoolCluster has that", v.name, d.Name)
		}
		c.choose(c.deviceRef(d.Name), m.name, v.role, place.Kept, "it has taken the place of another in the pool")
		v.device = d.Name
		return
	}
	verdict := c.verdict(m, v, d)
	isVolume := func(o disk.Objection) bool { return o.Rule == disk.PersistentVolume }
	if reason := slices.DeleteFunc(slices.Clone(verdict), isVolume).Reason(); reason != "" {
		c.report(finding.Warning, "device-refused", "", "Storage %s is block device %s, which cannot be used: %s", v.name, d.Name, reason)
		c.choose(c.deviceRef(d.Name), m.name, v.role, place.Refused, reason)
		return
	}
	if other := c.matched[d.Name]; other != "" || c.standing.Pooled(d.Name) {
		c.storageError(v, "device-twice", "block device %s is already %s; correct the annotation %s of the Storages",
			d.Name, cmp.Or(strings.TrimSuffix("Storage "+other, "Storage "), "in a pool"), krm.AnnotationBlockDevice)
		return
	}
	if reason := verdict.Reason(); reason != "" {
		c.storageError(v, "other-volume", "block device %s cannot be used: %s", d.Name, reason)
		return
	}
	c.matched[d.Name] = v.name
	c.take(c.disk(d.Name))
	v.device = d.Name
	c.choose(c.deviceRef(d.Name), m.name, v.role, place.Chosen, "it is the volume of Storage "+v.name)
}

// verdict says whether a volume may be used as the block device that shows it.
func (c *cloudDisks) verdict(m *member, v *cloudDisk, d *inventory.BlockDevice) disk.Verdict {
	want := c.want(m.of, nil)
	want.Mine = c.mine
	own := func(shown *inventory.Volume) bool { return shown.Name == v.pvName }
	shown := slices.ContainsFunc(c.disk(d.Name).Volumes(), own)
	want.Volumes = func(*inventory.Volume) bool { return shown }
	return c.ledger.Verdict(c.disk(d.Name), want)
}

func awaited(v *cloudDisk) string {
	if v.pvName == "" {
		return "its claim is not bound yet"
	}
	return "no block device shows volume " + v.pvName + " yet"
}

// match finds the one device of a volume; more than one, or one on another node,
// is an error.
func (c *cloudDisks) match(m *member, v *cloudDisk) *inventory.BlockDevice {
	var found []*inventory.BlockDevice
	switch {
	case v.override != "":
		d := c.facts.Device(c.namespace, v.override)
		if d == nil && v.device == v.override {
			return nil // a pool has it, and holds what is missing from one snapshot
		}
		if d == nil {
			c.storageError(v, "no-such-device", "the annotation names block device %q, which is not in the inventory; correct it, or refresh the inventory", v.override)
			return nil
		}
		found = append(found, d)
	case v.pvName != "":
		pv := c.facts.Volume(v.pvName)
		if pv == nil {
			return nil
		}
		found = c.facts.DevicesOf(pv, v.driver(pv), m.name, m.hostname)
	}
	if len(found) > 1 {
		c.storageError(v, "ambiguous-device", "block devices %s and %s both show volume %s; name the right one in the annotation %s of the Storage",
			found[0].Name, found[1].Name, v.pvName, krm.AnnotationBlockDevice)
		return nil
	}
	if len(found) == 0 {
		return nil
	}
	if v.device != "" {
		return found[0] // wherever it is, the pool keeps it; see relocation
	}
	if d := found[0]; d.Hostname != m.hostname || c.ledger.Verdict(c.disk(d.Name), c.want(m.of, m.node)).Of(disk.WrongNode) != "" {
		severity := finding.Error
		if m.before != nil {
			severity = finding.Warning // the pool goes on without it
		}
		c.reportStorage(severity, v, "wrong-node", "block device %s is on host %q, not on node %s (host %q); the volume is attached to the wrong node", d.Name, d.Hostname, m.name, m.hostname)
		return nil
	}
	return found[0]
}

// driver is the one that made the volume; it knows best how it names disks.
func (v *cloudDisk) driver(pv *inventory.Volume) string {
	if pv.Driver != "" {
		return pv.Driver
	}
	return v.CSIAttacherName
}

func (c *cloudDisks) storageError(v *cloudDisk, rule, format string, args ...any) {
	c.reportStorage(finding.Error, v, rule, format, args...)
}

// reportStorage reports on a Storage, at its place in the output folder if it
// was rendered already.
func (c *cloudDisks) reportStorage(severity finding.Severity, v *cloudDisk, rule, format string, args ...any) {
	f := finding.Finding{
		Severity: severity, Rule: rule, Object: c.storageRef(v.name), Message: fmt.Sprintf(format, args...),
		Pos: c.spec.Object.At(),
	}
	if storage := c.standing.Object(c.storageID(v.name)); storage != nil {
		f.Pos = storage.At("metadata", "annotations", krm.AnnotationBlockDevice)
	}
	c.Collect(f)
}

// assemble makes the pool of a member from the cloud disks that are there.
func (c *cloudDisks) assemble(m *member) {
	s := c.settings(m.name)
	if len(m.cloud) == 0 && !s.external() {
		return
	}
	var devices, cached []string
	complete := true
	for _, v := range m.cloud {
		switch {
		case v.role == record.Spare:
		case v.device == "":
			complete = false
		case v.role == record.Data:
			devices = append(devices, v.device)
		default:
			cached = append(cached, v.device)
		}
	}
	switch {
	case !s.external():
		m.waiting = m.waiting || !complete
		if m.before == nil && complete {
			m.cache = s.cacheGroups(cached)
		}
		return
	case m.before != nil:
		m.data, m.cache = m.before.Data, m.before.Cache
		checkCacheUnchanged(c.input, m)
		c.replaceFailed(m)
		c.growPool(m, devices, complete)
		return
	}
	m.waiting = !complete
	if !complete {
		return
	}
	m.data, m.cache = s.groups(devices), s.cacheGroups(cached)
	if s.writeCache != nil && !s.cacheExternal() {
		c.placeLocalCache(m)
	}
}

// replaceFailed asks for the replacement of disks that failed by the spares of the node.
func (c *cloudDisks) replaceFailed(m *member) {
	taken := map[string]bool{}
	pick := func(fits func(*inventory.BlockDevice) bool) *inventory.BlockDevice {
		for _, v := range m.cloud {
			d := c.facts.Device(c.namespace, v.device)
			if v.role == record.Spare && d != nil && !taken[d.Name] && !c.standing.Pooled(d.Name) && fits(d) {
				taken[d.Name] = true
				return d
			}
		}
		return nil
	}
	c.replace.ask(m, pick, func(old string, d *inventory.BlockDevice, wait string) {
		if wait == "" {
			c.choose(c.deviceRef(d.Name), m.name, record.Data, place.Chosen, "it takes the place of "+old+": "+describe(d))
		}
	})
}

// placeLocalCache gives a new pool of cloud disks a write cache of its node.
func (c *cloudDisks) placeLocalCache(m *member) {
	s := c.offer(m.name, m.hostname, m.node)
	var devices []*inventory.BlockDevice
	for _, name := range m.data.Disks() {
		devices = append(devices, c.facts.Device(c.namespace, name))
	}
	s.fast = slices.DeleteFunc(s.fast, func(d *inventory.BlockDevice) bool { return c.matched[d.Name] != "" })
	p := picked{data: devices, cache: named(s.fast, c.standing.Reserved(m.name, record.Cache))}
	if lack := c.pickCache(m.name, s, &p); lack != "" {
		m.waiting = true
		c.report(finding.Warning, awaitingDevices, c.settings(m.name).field("writeCache"), "awaiting disks on node %s: %s", m.name, lack)
		return
	}
	m.cache = c.settings(m.name).cacheGroups(c.takeAll(m.name, record.Cache, p.cache))
	c.reportNoCache(m.name, p)
}
