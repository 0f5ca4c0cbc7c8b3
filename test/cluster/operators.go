package cluster

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
)

const stripe = "stripe"

// Apply applies a CStorPoolCluster. The admission webhook may refuse it, and says why.
func (c *Cluster) Apply(name, owner string, pools []*pool.Pool) (refused string) {
	live := c.PoolCluster(name)
	var before []*pool.Pool
	if live != nil {
		before = live.Pools
	}
	if refused := c.review(name, before, pools); refused != "" {
		return refused
	}
	if live == nil {
		c.Pools = append(c.Pools, PoolCluster{Name: name})
		live = &c.Pools[len(c.Pools)-1]
	}
	live.Owner, live.Pools = owner, pools
	return ""
}

// Delete deletes a CStorPoolCluster, unless volumes are on it.
func (c *Cluster) Delete(name string) (refused string) {
	for _, i := range c.Instances {
		if i.Cluster == name && i.Replicas > 0 {
			return "volume still exists on pool " + i.Name
		}
	}
	c.Pools = slices.DeleteFunc(c.Pools, func(p PoolCluster) bool { return p.Name == name })
	return ""
}

// review is what the webhook asks of a CStorPoolCluster. An edit is judged as a whole.
func (c *Cluster) review(name string, before, after []*pool.Pool) string {
	had, seen := map[string]bool{}, map[string]bool{}
	old := pool.ByHost(before)
	for _, p := range before {
		for _, disk := range p.Disks() {
			had[disk] = true
		}
	}
	for _, p := range after {
		if c.Host(p.Hostname) == nil {
			return "invalid no.of nodes 0 for " + p.Hostname
		}
		for _, disk := range p.Disks() {
			d, claim := c.Device(disk), c.Claim(disk)
			switch {
			case seen[disk]:
				return "duplicate block device " + disk
			case d == nil:
				return disk + " not found"
			case d.Inactive:
				return disk + " is not in active state"
			case d.Host != p.Hostname:
				return disk + " does not belong to node " + p.Hostname
			case had[disk]:
			case d.Filesystem != "" && d.Filesystem != "zfs_member", d.Tagged:
				return disk + " has a file system or a tag"
			case claim != nil && claim.Cluster != name:
				return "can't use claimed block device " + disk
			}
			seen[disk] = true
		}
		if was := old[p.Hostname]; was != nil {
			if refused := reviewGroups(was, p); refused != "" {
				return refused
			}
		}
	}
	now := pool.ByHost(after)
	for _, p := range before {
		if now[p.Hostname] != nil || movedTo(p, after) != nil {
			continue
		}
		switch i := c.Instance(name, p.Hostname); {
		case i == nil:
			return "EOF" // it panics
		case i.Replicas > 0:
			return "volume still exists on pool " + i.Name
		}
	}
	return ""
}

// movedTo is the pool that has a disk of one that is on its host no longer, or nil.
func movedTo(old *pool.Pool, after []*pool.Pool) *pool.Pool {
	i := slices.IndexFunc(after, func(p *pool.Pool) bool { return shared(old.Disks(), p.Disks()) > 0 })
	if i < 0 {
		return nil
	}
	return after[i]
}

// reviewGroups lets groups be added, and one disk of a group be replaced.
func reviewGroups(was, now *pool.Pool) string {
	for _, old := range was.Data {
		kept := 0
		for _, group := range now.Data {
			kept = max(kept, shared(old, group))
		}
		if least := len(old) - 1; kept < least || was.RAIDType == stripe && kept < len(old) {
			return "removing raid group is invalid"
		}
	}
	return ""
}

func shared(a, b pool.Group) int {
	count := 0
	for _, disk := range a {
		if slices.Contains(b, disk) {
			count++
		}
	}
	return count
}

// ClaimDisks has the operator claim the disks of all pools.
func (c *Cluster) ClaimDisks() {
	for _, p := range c.Pools {
		for _, live := range p.Pools {
			i := c.Instance(p.Name, live.Hostname)
			for _, disk := range live.Disks() {
				if c.Claim(disk) != nil {
					continue
				}
				claim := Claim{Device: disk, Cluster: p.Name}
				if i != nil && len(i.Pool.Disks()) == len(live.Disks()) {
					claim.Predecessor = missing(i.Pool.Disks(), live.Disks())
				}
				c.Claims = append(c.Claims, claim)
			}
		}
	}
}

func missing(old, now []string) string {
	for _, disk := range old {
		if !slices.Contains(now, disk) {
			return disk
		}
	}
	return ""
}

// Reconcile has the node disk manager bind the claims, and the operators make the
// instances of pools, carry out edits of them, and remove them. While there are as many
// instances as pools, none is made or removed.
func (c *Cluster) Reconcile() {
	for i := range c.Claims {
		if d := c.Device(c.Claims[i].Device); d != nil && !d.Inactive {
			c.Claims[i].Bound = true
		}
	}
	for _, p := range c.Pools {
		c.move(&p)
		c.scale(&p)
		for _, live := range p.Pools {
			if i := c.Instance(p.Name, live.Hostname); i != nil && c.allBound(live) {
				c.release(p.Name, i.Pool, live)
				i.Pool = live
			}
		}
	}
	c.Instances = slices.DeleteFunc(c.Instances, func(i Instance) bool {
		if c.PoolCluster(i.Cluster) != nil {
			return false
		}
		c.release(i.Cluster, i.Pool, nil)
		return true
	})
}

// move takes instances to the hosts to which their pools have moved.
func (c *Cluster) move(p *PoolCluster) {
	wanted := pool.ByHost(p.Pools)
	for i := range c.Instances {
		instance := &c.Instances[i]
		if instance.Cluster != p.Name || wanted[instance.Host] != nil {
			continue
		}
		if to := movedTo(instance.Pool, p.Pools); to != nil && c.Instance(p.Name, to.Hostname) == nil {
			instance.Host = to.Hostname
		}
	}
}

// scale makes or removes instances until there are as many as pools.
func (c *Cluster) scale(p *PoolCluster) {
	count := 0
	for _, i := range c.Instances {
		if i.Cluster == p.Name {
			count++
		}
	}
	for _, live := range p.Pools {
		if count < len(p.Pools) && c.Instance(p.Name, live.Hostname) == nil && c.allBound(live) {
			c.Instances = append(c.Instances, Instance{Name: fmt.Sprintf("%s-%s", p.Name, live.Hostname), Cluster: p.Name, Host: live.Hostname, Pool: live})
			count++
			for _, disk := range live.Disks() {
				c.Device(disk).Filesystem = "zfs_member"
			}
		}
	}
	wanted := pool.ByHost(p.Pools)
	c.Instances = slices.DeleteFunc(c.Instances, func(i Instance) bool {
		if i.Cluster != p.Name || count <= len(p.Pools) || wanted[i.Host] != nil {
			return false
		}
		count--
		c.release(p.Name, i.Pool, nil)
		return true
	})
}

// release gives up the claims of disks that a pool no longer has, and cleans them.
func (c *Cluster) release(cluster string, old, now *pool.Pool) {
	for _, disk := range old.Disks() {
		if now != nil && slices.Contains(now.Disks(), disk) {
			continue
		}
		c.Claims = slices.DeleteFunc(c.Claims, func(claim Claim) bool { return claim.Device == disk && claim.Cluster == cluster })
		if d := c.Device(disk); d != nil && d.Filesystem == "zfs_member" {
			d.Filesystem = ""
		}
	}
}

func (c *Cluster) allBound(p *pool.Pool) bool {
	return !slices.ContainsFunc(p.Disks(), func(disk string) bool {
		claim, d := c.Claim(disk), c.Device(disk)
		return claim == nil || !claim.Bound || d == nil
	})
}

// Provision applies the PersistentVolumeClaim of a cloud disk for a node.
func (c *Cluster) Provision(name, node, owner string) {
	if d := find(c.Cloud, func(d *CloudDisk) bool { return d.Name == name }); d != nil {
		d.Selected = node
		return
	}
	c.Cloud = append(c.Cloud, CloudDisk{Name: name, Selected: node, Node: node, Owner: owner})
}

// Unprovision deletes the PersistentVolumeClaim of a cloud disk, and the disk with it.
func (c *Cluster) Unprovision(name string) {
	c.Cloud = slices.DeleteFunc(c.Cloud, func(d CloudDisk) bool { return d.Name == name })
	c.Devices = slices.DeleteFunc(c.Devices, func(d Device) bool { return d.Handle == "handle-"+name })
}

// Attach applies a VolumeAttachment: the disk is seen on its node.
func (c *Cluster) Attach(volume string) {
	d := find(c.Cloud, func(d *CloudDisk) bool { return "pv-"+d.Name == volume })
	if d == nil || d.Attached {
		return
	}
	if n := c.Node(d.Node); n != nil {
		d.Attached = true
		c.Devices = append(c.Devices, Device{Name: "bd-" + d.Name, Host: n.Hostname, Size: 100, Handle: "handle-" + d.Name})
	}
}

// AttachTo has a cloud volume, by its handle, on another node.
func (c *Cluster) AttachTo(handle, node string) {
	if d := find(c.Cloud, func(d *CloudDisk) bool { return "handle-"+d.Name == handle }); d != nil {
		d.Node = node
	}
}
