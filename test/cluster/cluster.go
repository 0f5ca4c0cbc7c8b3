// Package cluster is a model of a live cluster for histories: nodes, the block devices on
// them, who claims or holds these, and the cStor pools that the operators make of what is
// applied. It does what was seen of the real operators (cStor 3.6), as far as the rules
// of rendering can meet it. A Cluster is a value: what changes it leaves copies alone.
package cluster

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// Namespace is that of everything that has one.
const Namespace = "openebs"

// Cluster is everything that exists.
type Cluster struct {
	Nodes     []Node
	Devices   []Device
	Claims    []Claim
	Pools     []PoolCluster
	Instances []Instance
	Volumes   []Volume
	Holders   []Holder
	Cloud     []CloudDisk
}

// Node is a node. Hostname is the value of its label.
type Node struct {
	Name, UID, Hostname string
	Label               string // which terms select it
	Day                 int    // of its creation
}

// Device is a BlockDevice. Two of one serial number are reports of one disk.
type Device struct {
	Name, Serial, Host string
	Size               int64 // GiB
	Inactive           bool
	Partitioned        bool
	Tagged             bool
	Filesystem         string
	Handle             string // of the cloud volume that it is
}

// Claim is a BlockDeviceClaim.
type Claim struct {
	Device      string
	Cluster     string // the CStorPoolCluster, or somebody else
	Predecessor string
	Bound       bool
}

// PoolCluster is a CStorPoolCluster as it was applied.
type PoolCluster struct {
	Name  string
	Owner string
	Pools []*pool.Pool
}

// Instance is a CStorPoolInstance, with the number of replicas on it.
type Instance struct {
	Name, Cluster, Host string
	Pool                *pool.Pool
	Replicas            int
}

// Volume is a local PersistentVolume on a disk.
type Volume struct{ Name, Host, Serial string }

// Holder is a live object of another system that holds a disk: a DiskPool, a CephCluster
// or a Volume.
type Holder struct{ Kind, Name, Node, Serial string }

// CloudDisk is a PersistentVolumeClaim that was applied. It is bound at once.
type CloudDisk struct {
	Name, Owner string
	Selected    string // the node that its annotation names
	Node        string // to which the volume is attached
	Attached    bool
}

// Clone copies the cluster.
func (c Cluster) Clone() Cluster {
	c.Nodes, c.Devices, c.Claims = slices.Clone(c.Nodes), slices.Clone(c.Devices), slices.Clone(c.Claims)
	c.Pools, c.Instances = slices.Clone(c.Pools), slices.Clone(c.Instances)
	c.Volumes, c.Holders, c.Cloud = slices.Clone(c.Volumes), slices.Clone(c.Holders), slices.Clone(c.Cloud)
	return c
}

// Node returns a node by name, or nil.
func (c *Cluster) Node(name string) *Node {
	return find(c.Nodes, func(n *Node) bool { return n.Name == name })
}

// Host returns the one node of a hostname label, or nil.
func (c *Cluster) Host(hostname string) *Node {
	return find(c.Nodes, func(n *Node) bool { return n.Hostname == hostname })
}

// Device returns a block device by name, or nil.
func (c *Cluster) Device(name string) *Device {
	return find(c.Devices, func(d *Device) bool { return d.Name == name })
}

// Claim returns the claim of a device, or nil.
func (c *Cluster) Claim(device string) *Claim {
	return find(c.Claims, func(claim *Claim) bool { return claim.Device == device })
}

// PoolCluster returns a CStorPoolCluster by name, or nil.
func (c *Cluster) PoolCluster(name string) *PoolCluster {
	return find(c.Pools, func(p *PoolCluster) bool { return p.Name == name })
}

// Instance returns the instance of a cluster on a host, or nil.
func (c *Cluster) Instance(cluster, host string) *Instance {
	return find(c.Instances, func(i *Instance) bool { return i.Cluster == cluster && i.Host == host })
}

// Holds says who of another system holds a disk, or "".
func (c *Cluster) Holds(serial string) string {
	if v := find(c.Volumes, func(v *Volume) bool { return v.Serial == serial }); v != nil {
		return "PersistentVolume " + v.Name
	}
	if h := find(c.Holders, func(h *Holder) bool { return h.Serial == serial }); h != nil {
		return h.Kind + " " + h.Name
	}
	return ""
}

func find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}
