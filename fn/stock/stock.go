// Package stock is the volumes of nodes, one by one, and the groups that they are cut from, as a person
// who creates and deletes them sees them: what there is, how it is, how much is left, and whether it may go.
package stock

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// Unknown is a number of bytes that nobody knows.
const Unknown = -1

// Stock is the volumes and groups of a package and its cluster, each sorted by name.
type Stock struct {
	Volumes []Volume
	Groups  []Group
}

// State is how a volume or a group is, as its spec or the cluster says it.
type State struct {
	Phase           health.Phase
	Reason, Message string
}

// Removal is what becomes of a volume or a group if its spec is taken out of the package.
type Removal struct {
	Refused string // why it may not be taken out, "" if it may
	Cascade string // of a group: the annotation by which a person lets its volumes go with it, and which it lacks for that; "" for none
	Data    string // what becomes of the data, a sentence; "" if that is not known
}

// Volume is one volume on a node.
type Volume struct {
	Object finding.Ref
	Owner  string // the key of the spec that renders it, "" for one that a person wrote
	Node   string
	Source string // the field of its spec that says what it is made of
	Type   string // the same for people
	Size   int64  // bytes, or Unknown
	Group  string // the LVM group that it is cut from, "" for none
	Device string // path of its disk, "" if it has none of its own
	Class  string
	PV     string // the PersistentVolume, "" if there is none
	Claim  string // namespace/name of the claim that it is bound to, "" for none
	Spec   bool   // it is in the package
	State
	Removal
}

// Group is a volume group on a node.
type Group struct {
	Object  finding.Ref
	Owner   string // as of a Volume
	LVM     string // its name for LVM
	Node    string
	Source  string
	Size    int64    // bytes, or Unknown
	Free    int64    // what a new volume may have, in bytes, or Unknown; volumes that are not made yet count as there
	Devices []string // paths, or what the group is made of instead
	Volumes []string // names of those in it
	Spec    bool
	State
	Removal
}

// Order is a volume or a group that a person wants, by what a form asks. What is empty is not written.
type Order struct {
	Group   bool   // it is a volume group
	Source  Source // what it is made of
	Name    string
	Node    string
	LVM     string // of a volume: the LVM name of its group
	Size    string // as it is written
	Class   string
	Mode    string
	Labels  map[string]string // of the PersistentVolume
	Devices []disk.Identity
	Volume  string // of a group: whose device it takes
}

// Source is what a volume or a group is made of, in one word.
type Source string

// The sources: of a volume the first five, of a group Devices, Sparse and OnVolume.
const (
	LVM       Source = "lvm"
	Disk      Source = "disk"
	Partition Source = "partition"
	RAID      Source = "raid"
	Sparse    Source = "sparse"
	Devices   Source = "device"
	OnVolume  Source = "volume"
)
