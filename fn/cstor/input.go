package cstor

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
)

// input is what every step of the render of one spec reads. The steps write to the
// collector, take disks, and add to the lock the pools that they take back.
type input struct {
	names
	*collector
	holder  string // the spec, as the account of disks names it
	cfg     config
	facts   *inventory.Facts
	disks   *place.Disks
	lock    *lock
	live    *livePools
	consent consent
}

// wanted is what every device of the cluster must meet, of whatever size.
func (in *input) wanted() place.Wanted {
	return place.Wanted{Namespace: in.namespace, Cluster: in.name, Holder: in.holder, AllowedTags: in.cfg.allowedTags}
}

// holdsData reports whether a claim is bound, as far as the snapshot or an
// attachment that was rendered for it tells. An attachment always is.
func (in *input) holdsData(o *krm.Object) bool {
	if o.Kind == volumeAttachmentKind {
		return true
	}
	if claim := in.facts.VolumeClaim(o.Namespace, o.Name); claim != nil && claim.Bound {
		return true
	}
	return in.lock.objects[in.attachmentID(o.Name)] != nil
}

// consent is what a person allows to be lost of one cluster.
type consent struct {
	names
	given *system.Consent
	whole bool // there is something that consent for the whole cluster can name
}

// allows reports whether the pool of a node may be removed.
func (c consent) allows(node string) bool {
	set := c.allowsSet(node)
	return c.whole && c.given.Covers(poolClusterKind, c.name) || set
}

// allowsSet reports whether the node itself is named.
func (c consent) allowsSet(node string) bool {
	return c.given.Covers(storageSetKind, c.storageSet(node))
}

// annotation is what allows the pool of a node to be removed.
func (c consent) annotation(node string) string {
	return krm.AnnotationAllowRemoval + ": " + storageSetKind + "/" + c.storageSet(node)
}
