package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
)

const (
	deviceGroup     = "openebs.io"
	blockDeviceKind = "BlockDevice"
	zfs             = "zfs_member" // the filesystem that a pool leaves on its disks
)

// Disk says what speaks against a block device in the pool on a host, as the webhook and
// the operators see it; whether Poolwright would use it is for the ledger of disks to
// say. added is whether it is new in the cluster.
func (s State) Disk(cluster *pool.Cluster, hostname, name string, added bool) (Problem, bool) {
	p := Problem{Outcome: Refused, Host: hostname, Disk: name}
	d := s.Facts.Device(cluster.Namespace, name)
	if d == nil {
		if len(s.Facts.Devices) == 0 || !s.Facts.Tells(deviceGroup, blockDeviceKind, cluster.Namespace) {
			return p, false
		}
		return s.missing(p, added), true
	}
	const first = "bring it back or replace it before anything else: until then every other change is refused"
	claim := s.Facts.ClaimOf(d)
	switch {
	case d.State != "Active":
		p.Rule, p.Text = "disk-inactive", "is "+cmp.Or(d.State, "in an unknown state")+", not Active"
		if !added {
			p.Remedy = first
		}
	case d.Filesystem != "" && d.Filesystem != zfs:
		p.Rule, p.Text = "disk-filesystem", "has a filesystem: "+d.Filesystem
	case hostname != "" && d.Hostname != "" && d.Hostname != hostname:
		p.Rule, p.Text = "disk-elsewhere", fmt.Sprintf("is on host %s, not %s", d.Hostname, hostname)
		if !added {
			p.Remedy = "put the disk back, or move the pool with all its disks"
		}
	case d.Tagged && d.Tag == "":
		p.Rule, p.Text = "disk-tagged", "has a block device tag without a value"
	case claim != nil && claim.PoolCluster != cluster.Name:
		p.Rule, p.Text = "disk-claimed", "is claimed by "+cmp.Or(claim.PoolCluster, claim.Name)
	case !added:
		return p, false
	case d.Filesystem == zfs && (claim == nil || d.ClaimState != "Claimed"):
		p.Outcome, p.Rule, p.Text = Lost, "disk-zfs", "is of another pool, which it may still hold: it has a filesystem: "+zfs
	case d.Tagged && !slices.Contains(strings.Split(cluster.AllowedTags, ","), d.Tag):
		p.Outcome, p.Rule = Ignored, "disk-tag"
		p.Text = fmt.Sprintf("is tagged %q, and its claim is never answered", d.Tag)
		p.Remedy = "allow the tag with the annotation " + pool.AnnotationAllowedTags
	default:
		return p, false
	}
	return p, true
}

// missing tells a disk that is nowhere from one of another namespace, where the webhook
// may look and the operators do not.
func (s State) missing(p Problem, added bool) Problem {
	p.Rule, p.Text = "disk-missing", "is not among the block devices"
	if !added {
		p.Text = "is gone"
		p.Remedy = "until it is back, or its pool is released, every other change is refused"
	}
	i := slices.IndexFunc(s.Facts.Devices, func(d *inventory.BlockDevice) bool { return d.Name == p.Disk })
	if added && p.Disk != "" && i >= 0 {
		p.Outcome, p.Rule = Ignored, "disk-namespace"
		p.Text = "is in namespace " + s.Facts.Devices[i].Namespace + ", where the operators do not look for it"
	}
	return p
}
