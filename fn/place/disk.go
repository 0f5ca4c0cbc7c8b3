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

// Groups picks groups*size devices, group after group. Within a group it wants
// one type and one size, then the smallest that are sufficient, then the order
// of stable identities. The first group is of a type that can fill all of them,
// if there is one, and the others follow it as long as they can. It returns nil
// if there are too few devices.
func Groups(candidates []*inventory.BlockDevice, groups, size int) []*inventory.BlockDevice {
	if len(candidates) < groups*size {
		return nil
	}
	left := slices.Clone(candidates)
	slices.SortFunc(left, Smallest)
	var picked []*inventory.BlockDevice
	prefer := func(_ string, devices int) bool { return devices >= groups*size }
	for range groups {
		group := bestGroup(left, size, prefer)
		if len(picked) == 0 {
			first := group[0].Type()
			prefer = func(name string, _ int) bool { return name == first }
		}
		picked = append(picked, group...)
		left = slices.DeleteFunc(left, func(d *inventory.BlockDevice) bool { return slices.Contains(group, d) })
	}
	return picked
}

// Smallest orders devices by capacity, then identity.
func Smallest(a, b *inventory.BlockDevice) int {
	return cmp.Or(cmp.Compare(a.Capacity, b.Capacity), cmp.Compare(identity(a), identity(b)), cmp.Compare(a.Name, b.Name))
}

// bestGroup finds the window of sorted devices with the least spread of sizes,
// among devices of one type if any type has enough; a preferred one goes first.
func bestGroup(sorted []*inventory.BlockDevice, size int, prefer func(name string, devices int) bool) []*inventory.BlockDevice {
	byType := map[string][]*inventory.BlockDevice{}
	for _, d := range sorted {
		byType[d.Type()] = append(byType[d.Type()], d)
	}
	types := make([]string, 0, len(byType))
	for name := range byType {
		types = append(types, name)
	}
	slices.Sort(types)

	var best []*inventory.BlockDevice
	var bestCost [3]int64
	consider := func(name string, devices []*inventory.BlockDevice) {
		rank := int64(1)
		if prefer(name, len(devices)) {
			rank = 0
		}
		for i := 0; i+size <= len(devices); i++ {
			window := devices[i : i+size]
			last := window[size-1].Capacity
			cost := [3]int64{rank, last - window[0].Capacity, last}
			if best == nil || slices.Compare(cost[:], bestCost[:]) < 0 {
				best, bestCost = window, cost
			}
		}
	}
	for _, name := range types {
		consider(name, byType[name])
	}
	if best == nil {
		consider("", sorted)
	}
	return slices.Clone(best)
}

// identity is what stays the same when a node is rebooted and disks are renamed:
// the serial number, else the first by-id link, else the object's name.
func identity(d *inventory.BlockDevice) string {
	if d.Serial != "" {
		return d.Serial
	}
	if len(d.ByID) > 0 {
		return slices.Min(d.ByID)
	}
	return d.Name
}
