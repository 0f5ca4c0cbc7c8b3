package cstor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// input is what every step of the render of one spec reads. The steps write to the
// collector, take disks, and add to the lock the pools that they take back.
type input struct {
	names
	*collector
	owner   string // the owner key of the spec
	cfg     config
	listed  listing // of the nodes of the plan
	facts   *inventory.Facts
	ledger  *disk.Ledger
	lock    *lock
	live    *livePools
	state   admission.State // what an edit meets
	consent consent
}

// disk is the disk of a block device; a missing one if nobody reports it.
func (in *input) disk(device string) *disk.Disk { return in.ledger.Device(in.namespace, device) }

// unseen reports whether a disk is missing from the snapshot under any name, which does
// not mean that it is gone.
func (in *input) unseen(name string) bool {
	d := in.disk(name)
	return d.Missing() && !slices.ContainsFunc(d.Others(), func(o *disk.Disk) bool { return !o.Missing() })
}

// mine reports whether a hold is one of this cluster. A manifest of its name is in the
// way itself, not because of its disks.
func (in *input) mine(h disk.Holder) bool {
	named := h.Object.Kind == poolClusterKind && h.Object.Namespace == in.namespace && in.lock.clusterNamed(h.Object.Name) != nil
	return h.Owner == in.owner || named || in.lives(h)
}

// unused is mine, but for what lives in a pool: that has its use.
func (in *input) unused(h disk.Holder) bool { return in.mine(h) && !in.lives(h) }

// lives reports whether a hold is one of the live pools of this cluster.
func (in *input) lives(h disk.Holder) bool {
	if h.Source != disk.Live || h.Object.Namespace != in.namespace {
		return false
	}
	return h.Object.Kind == poolClusterKind && in.lock.clusterNamed(h.Object.Name) != nil ||
		h.Object.Kind == poolInstanceKind && in.live.named[h.Object.Name] != nil
}

// want is what every disk of a cluster must meet, of whatever size, to get its place
// now. node may be nil.
func (in *input) want(of *poolCluster, node *inventory.Node) disk.Want {
	return disk.Want{Mine: in.unused, Namespace: in.namespace, Node: node, AllowedTags: in.cfg.allowedTags, PoolCluster: of.name}
}

// keep is what a disk must meet to stay in its place on a node. Which volume a cloud disk
// is, its claim says.
func (in *input) keep(node string) disk.Want {
	want := in.want(in.lock.clusterOf(node), nil)
	want.Mine = in.mine
	if s := in.settings(node); s.external() || s.cacheExternal() {
		want.Volumes = func(*inventory.Volume) bool { return true }
	}
	return want
}

// heldBy is the first holder of a disk that is not the asker, in words, or "".
func heldBy(d *disk.Disk, asker func(disk.Holder) bool) string {
	for _, h := range d.Holders() {
		if !asker(h) {
			return h.String()
		}
	}
	return ""
}

// host is the one node that has a host, or nil.
func (in *input) host(hostname string) *inventory.Node {
	if nodes := in.facts.Host(hostname); len(nodes) == 1 {
		return nodes[0]
	}
	return nil
}

// nodeName is the name of the node that has a host, which is called like it where the facts do
// not say.
func nodeName(facts *inventory.Facts, hostname string) string {
	if nodes := facts.Host(hostname); len(nodes) == 1 {
		return nodes[0].Name
	}
	return hostname
}

// findAiling says which live pool of a cluster, but for those to skip, has a disk or a node that is not
// there, or "". Until that is mended the webhook refuses every edit but its removal or the
// replacement of the disk (version 3.6).
func (in *input) findAiling(of *poolCluster, skip func(*nodePool) bool) string {
	for _, p := range in.lock.poolsOf(of) {
		if !in.live.lives(p.Pool) || skip(p) {
			continue
		}
		if why := in.ails(p, nil); why != "" {
			return why
		}
	}
	return ""
}

// ails says which disk of a pool, but for some, is not there as it must be, or that its node
// is not, or "".
func (in *input) ails(p *nodePool, without []string) string {
	for _, name := range p.Disks() {
		if slices.Contains(without, name) {
			continue
		}
		switch d := in.disk(name); {
		case d.Missing():
			return "block device " + name + " of the pool on node " + p.node + " is missing from the inventory"
		case d.Device != nil && d.Device.State != "Active":
			return "block device " + name + " of the pool on node " + p.node + " is " + cmp.Or(d.Device.State, "in an unknown state")
		case d.Device != nil && d.Device.Hostname != p.Hostname:
			return "block device " + name + " of the pool on node " + p.node + " is on host " + d.Device.Hostname
		}
	}
	if in.host(p.Hostname) == nil {
		return "the node of the pool on " + p.Hostname + " is missing from the inventory"
	}
	return ""
}

// take reserves a disk that was chosen.
func (in *input) take(d *disk.Disk) { in.ledger.Take(d, in.spec.Object.Ref, in.owner) }

// holdsData reports whether a claim is bound, as far as the snapshot or an
// attachment that was rendered for it tells; where the snapshot has no claims, it may
// be. An attachment always is.
func (in *input) holdsData(o *krm.Object) bool {
	if o.Kind == volumeAttachmentKind {
		return true
	}
	claim := in.facts.VolumeClaim(o.Namespace, o.Name)
	if claim != nil && claim.Bound || claim == nil && !in.facts.Tells("", volumeClaimKind, in.namespace) {
		return true
	}
	return in.lock.volumeObject(in.lock.attachmentID(in.namespace, o.Name, nodeOfVolume(o))) != nil
}

// goes reports whether a disk of a node that is let go is in a pool that still lives there.
func (in *input) goes(node, disk string) bool {
	p, i := in.live.pools[in.hostOf(node)], in.live.instances[in.hostOf(node)]
	return p != nil && slices.Contains(p.Disks(), disk) || i != nil && slices.Contains(i.Pool.Disks(), disk)
}

// hostOf is the hostname label of a node of the lock. Where its storage set is lost, it is
// what the snapshot says, and the name of the node where that says nothing.
func (in *input) hostOf(node string) string {
	if p := in.lock.pool(node); p != nil {
		return p.Hostname
	}
	if n := in.facts.Node(node); in.lock.sets[node].hostname == "" && n != nil {
		return cmp.Or(n.Hostname, node)
	}
	return cmp.Or(in.lock.sets[node].hostname, node)
}

// lingers reports whether the pool of a node that is let go may still use its volumes.
func (in *input) lingers(node string) bool {
	host := in.hostOf(node)
	if host == "" {
		return false
	}
	mayLive := in.lock.pool(node) != nil || !in.lock.known[node] // it had a pool, in this run or an earlier one
	return in.live.pools[host] != nil || in.live.instances[host] != nil ||
		mayLive && !in.facts.Tells(cstorGroup, poolInstanceKind, in.namespace)
}

// consent is what a person allows to be lost of one cluster.
type consent struct {
	names
	given *system.Consent
	whole bool // there is something that consent for a whole cluster can name
	lock  *lock
}

// allows reports whether the pool of a node may be removed.
func (c consent) allows(node string) bool {
	set := c.allowsSet(node)
	_, removing := c.lock.removing[node] // what was allowed, and is under way (see removal.go)
	return c.allowsWhole(c.lock.clusterOf(node)) || set || removing
}

// allowsWhole reports whether all of a CStorPoolCluster may be removed.
func (c consent) allowsWhole(of *poolCluster) bool {
	return c.whole && c.given.Covers(poolClusterKind, of.name)
}

// allowsSet reports whether the node itself is named.
func (c consent) allowsSet(node string) bool {
	return c.given.Covers(storageSetKind, c.storageSet(node))
}

// allowsClaim reports whether a PersistentVolumeClaim itself is named.
func (c consent) allowsClaim(name string) bool { return c.given.Covers(volumeClaimKind, name) }

// wholeAnnotation is what allows all of some CStorPoolClusters to be removed.
func (c consent) wholeAnnotation(clusters ...*poolCluster) string {
	entries := make([]string, len(clusters))
	for i, of := range clusters {
		entries[i] = poolClusterKind + "/" + of.name
	}
	return krm.AnnotationAllowRemoval + ": " + strings.Join(entries, ",")
}

// annotation is what allows the pool of a node to be removed.
func (c consent) annotation(node string) string {
	return krm.AnnotationAllowRemoval + ": " + storageSetKind + "/" + c.storageSet(node)
}
