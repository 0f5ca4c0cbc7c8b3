package cstor

import (
	"github.com/poolwright/poolwright/fn/krm"
)

// planOnly reports whether a node is only planned: it has no pool, and none of
// its volumes was ever bound, so that nothing is lost with it.
func (c *cluster) planOnly(m *member) bool {
	if m.before != nil {
		return false
	}
	for _, o := range c.before.objects {
		if nodeOfVolume(o) == m.name && c.holdsData(o) {
			return false
		}
	}
	return true
}

// release lets the volumes of a node go with it.
func (c *cluster) release(node string) {
	for id, o := range c.before.objects {
		if nodeOfVolume(o) == node {
			c.out.Released[id] = true
		}
	}
}

// releaseUnbound lets go what was rendered but never became a volume.
func (c *cluster) releaseUnbound() {
	for id, o := range c.before.objects {
		if o.Kind == claimKind && !c.holdsData(o) {
			c.out.Released[id] = true
		}
	}
}

// nodeOfVolume is the node that a claim or an attachment is for, or "".
func nodeOfVolume(o *krm.Object) string {
	switch o.Kind {
	case claimKind:
		return o.Annotation(selectedNode)
	case attachmentKind:
		return o.Node.Str("spec", "nodeName")
	}
	return ""
}

// holdsData reports whether a claim is bound, as far as the snapshot or an
// attachment that was rendered for it tells. An attachment always is.
func (c *cluster) holdsData(o *krm.Object) bool {
	if o.Kind == attachmentKind {
		return true
	}
	if claim := c.facts.VolumeClaim(o.Namespace, o.Name); claim != nil && claim.Bound {
		return true
	}
	attachment := krm.ID{Group: storageGroup, Kind: attachmentKind, Name: attachmentName(o.Namespace, o.Name)}
	return c.before.objects[attachment] != nil
}
