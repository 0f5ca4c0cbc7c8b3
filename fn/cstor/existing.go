package cstor

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// existing is what there is of one cluster, whatever its spec wants by now: as it was rendered, as
// it lives, and on which disks.
type existing struct {
	names
	owner    string // the owner key of the spec
	facts    *inventory.Facts
	ledger   *disk.Ledger
	standing *standing.Standing
	live     *livePools
	state    admission.State // what an edit meets
}

// disk is the disk of a block device; a missing one if nobody reports it.
func (e *existing) disk(device string) *disk.Disk { return e.ledger.Device(e.namespace, device) }

// unseen reports whether a disk is missing from the snapshot under any name, which does
// not mean that it is gone.
func (e *existing) unseen(name string) bool {
	d := e.disk(name)
	return d.Missing() && !slices.ContainsFunc(d.Others(), func(o *disk.Disk) bool { return !o.Missing() })
}

// mine reports whether a hold is one of this cluster. A manifest of its name is in the
// way itself, not because of its disks.
func (e *existing) mine(h disk.Holder) bool {
	named := h.Object.Kind == poolClusterKind && h.Object.Namespace == e.namespace && e.standing.Cluster(h.Object.Name) != nil
	return h.Owner == e.owner || named || e.isRunning(h)
}

// unused is mine, but for what lives in a pool: that has its use.
func (e *existing) unused(h disk.Holder) bool { return e.mine(h) && !e.isRunning(h) }

// isRunning reports whether a hold is one of the live pools of this cluster.
func (e *existing) isRunning(h disk.Holder) bool {
	if h.Source != disk.Live || h.Object.Namespace != e.namespace {
		return false
	}
	return h.Object.Kind == poolClusterKind && e.standing.Cluster(h.Object.Name) != nil ||
		h.Object.Kind == poolInstanceKind && e.live.named[h.Object.Name] != nil
}

// host is the one node that has a host, or nil.
func (e *existing) host(hostname string) *inventory.Node {
	if nodes := e.facts.Host(hostname); len(nodes) == 1 {
		return nodes[0]
	}
	return nil
}

// heldBy is the first holder of a disk that is not the asker, in words, or "".
func heldBy(d *disk.Disk, asker func(disk.Holder) bool) string {
	for _, h := range d.Holders() {
		if !asker(*h) {
			return h.String()
		}
	}
	return ""
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
func (e *existing) findAiling(of *standing.Cluster, skip func(*standing.Pool) bool) string {
	for _, p := range e.standing.PoolsOf(of) {
		if e.live.knownGone(p.Pool) || skip(p) {
			continue
		}
		if why := e.ails(p, nil); why != "" {
			return why
		}
	}
	return ""
}

// ails says which disk of a pool, but for some, is not there as it must be, or that its node
// is not, or "".
func (e *existing) ails(p *standing.Pool, without []string) string {
	for _, name := range p.Disks() {
		if slices.Contains(without, name) {
			continue
		}
		switch d := e.disk(name); {
		case d.Missing():
			return "block device " + name + " of the pool on node " + p.Node + " is missing from the inventory"
		case d.Device != nil && d.Device.State != "Active":
			return "block device " + name + " of the pool on node " + p.Node + " is " + cmp.Or(d.Device.State, "in an unknown state")
		case d.Device != nil && d.Device.Hostname != p.Hostname:
			return "block device " + name + " of the pool on node " + p.Node + " is on host " + d.Device.Hostname
		}
	}
	if e.host(p.Hostname) == nil {
		return "the node of the pool on " + p.Hostname + " is missing from the inventory"
	}
	return ""
}

// holdsData reports whether a claim is bound, as far as the snapshot or an
// attachment that was rendered for it tells; where the snapshot has no claims, it may
// be. An attachment always is.
func (e *existing) holdsData(o *krm.Object) bool {
	if o.Kind == volumeAttachmentKind {
		return true
	}
	claim := e.facts.VolumeClaim(o.Namespace, o.Name)
	if claim != nil && claim.Bound || claim == nil && !e.facts.Tells("", volumeClaimKind, e.namespace) {
		return true
	}
	return e.standing.VolumeObject(e.standing.AttachmentID(e.namespace, o.Name, record.NodeOfVolume(o))) != nil
}

// goes reports whether a disk of a node that is let go is in a pool that still lives there.
func (e *existing) goes(node, disk string) bool {
	p, i := e.live.pools[e.hostOf(node)], e.live.instances[e.hostOf(node)]
	return p != nil && slices.Contains(p.Disks(), disk) || i != nil && slices.Contains(i.Pool.Disks(), disk)
}

// hostOf is the hostname label of a node of the lock. Where its storage set is lost, it is
// what the snapshot says, and the name of the node where that says nothing.
func (e *existing) hostOf(node string) string {
	if p := e.standing.Pool(node); p != nil {
		return p.Hostname
	}
	if n := e.facts.Node(node); e.standing.SetOf(node).Hostname == "" && n != nil {
		return cmp.Or(n.Hostname, node)
	}
	return cmp.Or(e.standing.SetOf(node).Hostname, node)
}

// lingers reports whether the pool of a node that is let go may still use its volumes: so it may
// where claims that are to be deleted are not seen.
func (in *input) lingers(node string) bool { return in.mayUse(node) || len(in.unseenOf(node)) > 0 }

// unseenOf lists the claims of a node that are to be deleted with its pool, and that only an older
// snapshot does not have.
func (in *input) unseenOf(node string) []string {
	if in.retains() {
		return nil
	}
	return unseenClaims(in.facts, in.standing.Volumes(node))
}

// mayUse reports whether the pool of a node that is let go is there, or may be.
func (e *existing) mayUse(node string) bool {
	host := e.hostOf(node)
	if host == "" {
		return false
	}
	mayLive := e.standing.Pool(node) != nil || !e.standing.Knows(node) // it had a pool, in this run or an earlier one
	return e.live.pools[host] != nil || e.live.instances[host] != nil ||
		mayLive && !e.facts.Tells(cstorGroup, poolInstanceKind, e.namespace)
}

// volumeObject is a claim or an attachment as it was rendered last, or as it is running: as which it
// is adopted.
func (e *existing) volumeObject(id krm.ID) *krm.Object {
	if o := e.standing.VolumeObject(id); o != nil {
		return o
	}
	return e.facts.Object(id)
}
