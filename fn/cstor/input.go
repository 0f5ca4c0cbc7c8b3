package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// input is what every step of the render of one spec reads. The steps write to the
// collector, take disks, and change what stands by its verbs.
type input struct {
	existing
	desired
	*collector
	consent consent
	works   map[*standing.Cluster]*work
}

// desired is what the spec wants.
type desired struct {
	cfg    config
	listed listing // of the nodes of the plan

	nothing map[string]bool // the fields of selectors that select nothing
}

// want is what every disk of a cluster must meet, of whatever size, to get its place
// now. node may be nil.
func (in *input) want(of *standing.Cluster, node *inventory.Node) disk.Want {
	return disk.Want{Mine: in.unused, Namespace: in.namespace, Node: node, AllowedTags: in.cfg.allowedTags, PoolCluster: of.Name}
}

// keep is what a disk must meet to stay in its place on a node. Which volume a cloud disk
// is, its claim says.
func (in *input) keep(node string) disk.Want {
	want := in.want(in.standing.ClusterOf(node), nil)
	want.Mine = in.mine
	if s := in.settings(node); s.external() || s.cacheExternal() {
		want.Volumes = func(*inventory.Volume) bool { return true }
	}
	return want
}

// take reserves a disk that was chosen.
func (in *input) take(d *disk.Disk) { in.ledger.Take(d, in.spec.Object.Ref, in.owner) }

// consent is what a person allows to be lost of one cluster.
type consent struct {
	names
	given    *system.Consent
	whole    bool // there is something that consent for a whole cluster can name
	standing *standing.Standing
}

// allows reports whether the pool of a node may be removed.
func (c consent) allows(node string) bool {
	set := c.allowsSet(node)
	removing := c.standing.Removes(node) // what was allowed, and is in progress (see removal.go)
	return c.allowsWhole(c.standing.ClusterOf(node)) || set || removing
}

// allowsWhole reports whether all of a CStorPoolCluster may be removed.
func (c consent) allowsWhole(of *standing.Cluster) bool {
	return c.whole && c.given.Covers(poolClusterKind, of.Name)
}

// allowsSet reports whether the node itself is named.
func (c consent) allowsSet(node string) bool {
	return c.given.Covers(storageSetKind, c.storageSet(node))
}

// allowsClaim reports whether a PersistentVolumeClaim itself is named.
func (c consent) allowsClaim(name string) bool { return c.given.Covers(volumeClaimKind, name) }

// wholeAnnotation is what allows all of some CStorPoolClusters to be removed.
func (c consent) wholeAnnotation(clusters ...*standing.Cluster) string {
	entries := make([]string, len(clusters))
	for i, of := range clusters {
		entries[i] = poolClusterKind + "/" + of.Name
	}
	return krm.AnnotationAllowRemoval + ": " + strings.Join(entries, ",")
}

// annotation is what allows the pool of a node to be removed.
func (c consent) annotation(node string) string {
	return krm.AnnotationAllowRemoval + ": " + storageSetKind + "/" + c.storageSet(node)
}

// forgetGivenUp takes out of the storage sets of planned pools what is not held for the
// spec any more: this render has found that it is not wanted.
func (in *input) forgetGivenUp() {
	for node, set := range in.standing.Sets() {
		if in.standing.Pool(node) != nil {
			continue
		}
		for _, names := range set.Devices {
			in.standing.Unreserve(node, slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return slices.ContainsFunc(in.disk(name).Holders(), func(h *disk.Holder) bool { return h.Owner == in.owner && h.Source == disk.Lock })
			}))
		}
	}
}
