package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// planOnly reports whether a node is only planned: it has no pool, neither
// rendered nor live, and none of its volumes was ever bound, so that nothing is
// lost with it.
func (c *cluster) planOnly(m *member) bool {
	if m.before != nil || c.livePools()[m.hostname] != nil || c.poolInstance(m.hostname) != nil {
		return false
	}
	return !slices.ContainsFunc(c.volumesOf(m.name), c.holdsData)
}

// volumesOf lists the claims and attachments that were rendered for a node.
func (c *cluster) volumesOf(node string) []*krm.Object {
	if c.volumes == nil {
		c.volumes = map[string][]*krm.Object{}
		for _, o := range c.before.objects {
			if name := nodeOfVolume(o); name != "" {
				c.volumes[name] = append(c.volumes[name], o)
			}
		}
	}
	return c.volumes[node]
}

// release lets the volumes of a node go with it.
func (c *cluster) release(node string) {
	for _, o := range c.volumesOf(node) {
		c.out.Released[o.ID()] = true
	}
}

// releaseSurplus lets go what is in no pool: what was claimed and never became a
// volume, and with consent also what did. It matters for what is no longer
// wanted.
func (c *cluster) releaseSurplus() {
	pooled := c.pooledNames()
	for id, o := range c.before.objects {
		if o.Kind != volumeClaimKind || pooled[o.Name] || c.inPool(o) {
			continue
		}
		if !c.holdsData(o) || c.consents(o.Annotation(inventory.AnnotationSelectedNode)) {
			c.out.Released[id] = true
			c.out.Released[c.attachmentID(o.Name)] = true
		}
	}
}

// warnOfIdleConsent tells of consent to remove what stays: it would do its work later,
// when nobody thinks of it.
func (c *cluster) warnOfIdleConsent() {
	for _, m := range c.members {
		released := func(o *krm.Object) bool { return c.out.Released[o.ID()] }
		if m.before == nil || !c.Consent.Covers(storageSetKind, storageSetName(c.name(), m.name)) || slices.ContainsFunc(c.volumesOf(m.name), released) {
			continue
		}
		c.report(finding.Warning, "consent-idle", "",
			"node %s keeps its pool, whose removal is allowed: it would go as soon as the node is missing or no longer selected; until that is wanted, take out %s", m.name, c.consentFor(m.name))
	}
}

// pooledNames are the names that the disks of the earlier pools have as volumes,
// if they are volumes.
func (c *cluster) pooledNames() map[string]bool {
	names := map[string]bool{}
	for _, p := range c.before.pools {
		for i := range flatten(p.data) {
			names[storageName(c.name(), p.node, data, i)] = true
		}
		for i := range flatten(p.cache) {
			names[storageName(c.name(), p.node, cache, i)] = true
		}
	}
	return names
}

// inPool reports whether the volume of a claim is a disk of an earlier pool, whatever
// its name says: a spare that took the place of another is.
func (c *cluster) inPool(claim *krm.Object) bool {
	if storage := c.before.objects[c.storageID(claim.Name)]; storage != nil && c.pooled[storage.Annotation(krm.AnnotationBlockDevice)] {
		return true
	}
	node, pvName := nodeOfVolume(claim), ""
	if live := c.facts.VolumeClaim(claim.Namespace, claim.Name); live != nil {
		pvName = live.VolumeName
	}
	pv := c.facts.Volume(pvName)
	if pv == nil {
		return false
	}
	hostname := c.before.sets[node].Str("spec", "node", "hostname")
	return slices.ContainsFunc(c.facts.DevicesOf(pv, pv.Driver, node, hostname), func(d *inventory.BlockDevice) bool {
		return c.pooled[d.Name] && d.Namespace == c.namespace()
	})
}

// pooledVolumes counts the data disks of earlier pools that are cloud disks.
func (c *cluster) pooledVolumes() int {
	n := 0
	for _, p := range c.before.pools {
		for i := range flatten(p.data) {
			if c.before.objects[c.claimID(storageName(c.name(), p.node, data, i))] != nil {
				n++
			}
		}
	}
	return n
}

// nodeOfVolume is the node that a claim or an attachment is for, or "".
func nodeOfVolume(o *krm.Object) string {
	switch o.Kind {
	case volumeClaimKind:
		return o.Annotation(inventory.AnnotationSelectedNode)
	case volumeAttachmentKind:
		return o.Node.Str("spec", "nodeName")
	}
	return ""
}

// holdsData reports whether a claim is bound, as far as the snapshot or an
// attachment that was rendered for it tells. An attachment always is.
func (c *cluster) holdsData(o *krm.Object) bool {
	if o.Kind == volumeAttachmentKind {
		return true
	}
	if claim := c.facts.VolumeClaim(o.Namespace, o.Name); claim != nil && claim.Bound {
		return true
	}
	return c.before.objects[c.attachmentID(o.Name)] != nil
}

func (c *cluster) claimID(storage string) krm.ID {
	return krm.ID{Kind: volumeClaimKind, Namespace: c.namespace(), Name: storage}
}

func (c *cluster) attachmentID(storage string) krm.ID {
	return krm.ID{Group: storageGroup, Kind: volumeAttachmentKind, Name: attachmentName(c.namespace(), storage)}
}

func (c *cluster) storageID(storage string) krm.ID {
	return krm.ID{Group: daoGroup, Kind: storageKind, Namespace: c.namespace(), Name: storage}
}
