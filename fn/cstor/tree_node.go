package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// host says where something is that is on a host, and what is amiss there if the
// facts tell of nodes.
func (f *forest) host(hostname string) (where, down string) {
	where = "on host " + hostname
	if nodes := f.facts.Host(hostname); len(nodes) == 1 {
		where = "on node " + nodes[0].Name
	}
	return where, f.pools.HostDown(hostname)
}

// nodeName is the node of a host, or the host where that is not known.
func (f *forest) nodeName(hostname string) string {
	if nodes := f.facts.Host(hostname); len(nodes) == 1 {
		return nodes[0].Name
	}
	return hostname
}

// node is a node with its pools and what they serve, then its other disks.
func (f *forest) node(n *inventory.Node) *health.Tree {
	t := &health.Tree{Object: n.Object.Ref}
	switch ready := condition(n.Object, "Ready"); {
	case n.Down():
		t.Phase, t.State, t.Note = health.Error, "NotReady", ready.Str("reason")
	case ready != nil:
		t.Phase, t.State = health.OK, "Ready"
	}
	if n.Unschedulable {
		t.Note = note(t.Note, "cordoned")
	}
	return f.onHost(t, n.Hostname)
}

// missingNode is a node that is gone, nil if nothing was on it.
func (f *forest) missingNode(name string) *health.Tree {
	hostname := name // unless its disks know better
	for _, d := range f.facts.Devices {
		if d.NodeName == name {
			hostname = d.Hostname
		}
	}
	if len(f.facts.Host(hostname)) > 0 {
		return nil // it has another name now
	}
	t := f.onHost(health.Absent(system.NodeRef(name), "its pools or disks name it"), hostname)
	if len(t.Children) == 0 {
		return nil
	}
	return t
}

// onHost hangs on a node what is on its host: pools, those that are not there, too,
// and the disks that are in none of them.
func (f *forest) onHost(t *health.Tree, hostname string) *health.Tree {
	if hostname == "" {
		return t
	}
	var pools []*pool.Instance
	var lost []*krm.Object
	for _, i := range f.pools.All() {
		if i.RunsOn == hostname {
			pools = append(pools, i)
			lost = append(lost, f.volumes.ReplicasOn(key(i.Object))...)
		}
	}
	pooled := map[inventory.Key]bool{}
	for _, i := range pools {
		under(t, f.poolAndVolumes(i, lost, "without this node"))
		for _, name := range i.Pool.Disks() {
			pooled[inventory.Key{Namespace: i.Object.Namespace, Name: name}] = true
		}
	}
	for _, p := range f.planned {
		if p.made || p.Hostname != hostname {
			continue
		}
		under(t, f.missingPool(p))
		for _, name := range p.Disks() {
			pooled[inventory.Key{Namespace: p.cluster.Namespace, Name: name}] = true
		}
	}
	for _, d := range f.facts.DevicesOn(hostname) {
		if !pooled[keyOf(d)] {
			under(t, f.deviceAndVolumes(d))
		}
	}
	return t
}

func key(o *krm.Object) inventory.Key { return inventory.Key{Namespace: o.Namespace, Name: o.Name} }

func keyOf(d *inventory.BlockDevice) inventory.Key {
	return inventory.Key{Namespace: d.Namespace, Name: d.Name}
}
