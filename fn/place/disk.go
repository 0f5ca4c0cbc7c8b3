package place

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Disks says which block devices may be used, by whom, and why not. It keeps
// account of what is taken, so that no device is used twice.
type Disks struct {
	facts   *inventory.Facts
	takenBy map[inventory.Key]string // device -> what took it
}

// NewDisks starts with nothing taken.
func NewDisks(facts *inventory.Facts) *Disks {
	return &Disks{facts: facts, takenBy: map[inventory.Key]string{}}
}

// Take records that a device is in use. It returns who
// else holds it already, or "".
func (d *Disks) Take(namespace, name, by string) string {
	key := inventory.Key{Namespace: namespace, Name: name}
	if holder := d.takenBy[key]; holder != "" && holder != by {
		return holder
	}
	d.takenBy[key] = by
	return ""
}

// Holder is who has taken a device, or "".
func (d *Disks) Holder(device *inventory.BlockDevice) string {
	return d.takenBy[inventory.Key{Namespace: device.Namespace, Name: device.Name}]
}

// Wanted is what a user of devices asks of one.
type Wanted struct {
	Namespace   string
	Cluster     string   // the pool cluster that may have claimed it already
	MinCapacity int64    // bytes
	AllowedTags []string // values of the block device tag that do not exclude it
	Holder      string   // who asks, as it is named to Take; what it holds itself is not taken
}

// Refuse says why a device may not be used, or "" if it may.
func (d *Disks) Refuse(device *inventory.BlockDevice, want Wanted) string {
	switch holder := d.Holder(device); {
	case holder != "" && holder != want.Holder:
		return "it is taken by " + holder
	case device.Namespace != want.Namespace:
		return "it is in namespace " + device.Namespace
	case d.facts.Twin(device) != nil:
		return d.twinOf(device)
	case device.Fault != "":
		return device.Fault
	case !device.Whole():
		return "it is a part of " + cmp.Or(device.Parent, "another disk")
	case device.Partitioned:
		return "it has partitions"
	case device.State != "Active":
		return "it is " + cmp.Or(device.State, "in an unknown state") + ", not Active"
	case device.Filesystem != "" && !(device.Filesystem == "zfs_member" && d.ours(device, want)):
		return "it has a filesystem: " + device.Filesystem
	case device.MountPoint != "":
		return "it is mounted at " + device.MountPoint
	case device.Tagged && !slices.Contains(want.AllowedTags, device.Tag):
		return fmt.Sprintf("it is tagged %q", device.Tag)
	case device.Capacity <= 0:
		return "its capacity cannot be read"
	case device.Capacity < want.MinCapacity:
		return fmt.Sprintf("it is too small: %s, wanted %s", quantity.Size(device.Capacity), quantity.Size(want.MinCapacity))
	}
	return d.refuseClaim(device, want)
}

// Doubt says why a device that is in a pool should perhaps not be: what is
// there could be somebody else's data. It returns "" if all is well.
func (d *Disks) Doubt(device *inventory.BlockDevice, want Wanted) string {
	claim := d.facts.ClaimOf(device)
	switch {
	case d.facts.Twin(device) != nil:
		return d.twinOf(device)
	case device.Filesystem != "" && device.Filesystem != "zfs_member":
		return "it has a filesystem: " + device.Filesystem
	case device.MountPoint != "":
		return "it is mounted at " + device.MountPoint
	case claim != nil && claim.PoolCluster != want.Cluster:
		return "it is claimed by " + cmp.Or(claim.PoolCluster, claim.Name)
	}
	return device.Fault
}

// Occupied says what a device may hold that a new user of it would lose, or "" if
// nothing is known of it.
func (d *Disks) Occupied(device *inventory.BlockDevice, want Wanted) string {
	switch {
	case d.Doubt(device, want) != "":
		return d.Doubt(device, want)
	case device.Filesystem == "zfs_member" && !d.ours(device, want):
		return "it has a filesystem: zfs_member"
	case !device.Whole():
		return "it is a part of " + cmp.Or(device.Parent, "another disk")
	case device.Partitioned:
		return "it has partitions"
	case d.facts.ClaimOf(device) == nil && device.ClaimState == "Claimed":
		return "it is claimed, and the claim is not in the inventory"
	}
	return ""
}

func (d *Disks) twinOf(device *inventory.BlockDevice) string {
	return fmt.Sprintf("it has the same serial number or by-id link as %s", d.facts.Twin(device).Name)
}

func (d *Disks) refuseClaim(device *inventory.BlockDevice, want Wanted) string {
	claim := d.facts.ClaimOf(device)
	switch {
	case device.ClaimState != "Unclaimed" && device.ClaimState != "Claimed":
		return "it is " + cmp.Or(device.ClaimState, "in an unknown claim state") + ", not Unclaimed"
	case claim == nil && device.ClaimState == "Claimed":
		return "it is claimed, and the claim is not in the inventory"
	// A claim that is not answered yet names a device that is still Unclaimed.
	case claim != nil && claim.PoolCluster != want.Cluster:
		return "it is claimed by " + cmp.Or(claim.PoolCluster, claim.Name)
	}
	return ""
}

// ours reports whether the device is claimed by the very cluster that asks.
func (d *Disks) ours(device *inventory.BlockDevice, want Wanted) bool {
	claim := d.facts.ClaimOf(device)
	return device.ClaimState == "Claimed" && claim != nil && claim.PoolCluster == want.Cluster
}
