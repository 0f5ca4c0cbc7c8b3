package preview

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// place puts the replicas of a volume on pools as the operator does: where it has some, on
// those; a clone on the pools of what it is made from; where it is pinned, on the pins; else
// at random on any that is not Offline and takes writes.
func (v *viewer) place(claim *krm.Object, c *Chain, vol *chain.Volume, pins []string) {
	made := v.replicas[vol.Name]
	for _, r := range made {
		vol.Pools = append(vol.Pools, v.poolOf(vol, volume.InstanceOf(r)))
	}
	if len(made) > 0 {
		c.Objects = append(c.Objects, vol.Bound()...)
		return
	}
	origin, _ := vol.Origin()
	if source := v.replicas[origin]; len(source) > 0 {
		pins = nil
		for _, r := range source {
			pins = append(pins, volume.InstanceOf(r))
		}
	}
	usable := v.usable(vol, pins)
	switch {
	case len(pins) > 0 && len(pins) != vol.Replicas:
		v.report(claim, "pinned-count", "the operators refuse its volume: its policy names %s, and its class wants %s; they have to be as many", finding.Count(len(pins), "pool"), finding.Count(vol.Replicas, "replica"))
		c.Objects = append(c.Objects, vol.Pending()...)
		return
	case len(usable) < vol.Replicas && v.facts.Tells(pool.APIGroup, pool.InstanceKind, vol.Namespace):
		v.report(claim, "too-few-pools", "not enough pools are available of provided CSPC %s: %d of the %d that it needs are neither Offline nor read-only; what is made of it is left behind", vol.Cluster, len(usable), vol.Replicas)
		c.Objects = append(c.Objects, vol.Unplaced()...)
		return
	}
	size := parseBytes(vol.Size)
	if len(usable) == vol.Replicas {
		for _, i := range usable {
			vol.Pools = append(vol.Pools, v.poolOf(vol, i.Name))
			v.pool(i).gets(size, true)
		}
	} else {
		for n := range vol.Replicas {
			vol.Pools = append(vol.Pools, chain.Pool{
				Name: chain.Hole("pool %d of %s", n+1, vol.Cluster), Host: chain.Hole("host of pool %d", n+1), UID: chain.Hole("uid of pool %d", n+1),
			})
		}
		for _, i := range usable {
			c.Candidates = append(c.Candidates, i.Name)
			v.pool(i).gets(size, false)
		}
	}
	c.Objects = append(c.Objects, vol.Bound()...)
}

// usable lists the pools that the operator may take, by name.
func (v *viewer) usable(vol *chain.Volume, pins []string) []*pool.Instance {
	var usable []*pool.Instance
	for _, i := range v.live.Instances(vol.Namespace, vol.Cluster) {
		if i.Phase != "OFFLINE" && !i.ReadOnly() && (len(pins) == 0 || slices.Contains(pins, i.Name)) {
			usable = append(usable, i)
		}
	}
	return usable
}

// poolOf is a pool by its name, with what is known of it.
func (v *viewer) poolOf(vol *chain.Volume, name string) chain.Pool {
	p := chain.Pool{Name: name, Host: chain.Hole("host of %s", name), UID: chain.Hole("uid of %s", name)}
	if i := v.live.Instance(inventory.Key{Namespace: vol.Namespace, Name: name}); i != nil {
		p.Host = i.Hostname
		if uid := i.Object.Node.Str("metadata", "uid"); uid != "" {
			p.UID = uid
		}
	}
	return p
}

// pool is what is known of a pool instance, and what it gets.
func (v *viewer) pool(i *pool.Instance) *Pool {
	key := inventory.Key{Namespace: i.Object.Namespace, Name: i.Name}
	if p := v.gets[key]; p != nil {
		return p
	}
	p := &Pool{Instance: i.Object.Ref, Node: i.Hostname, Phase: i.Phase, Replicas: v.live.Replicas(key.Namespace, key.Name), Free: -1}
	if nodes := v.facts.Host(i.Hostname); len(nodes) > 0 {
		p.Node, p.Zone = nodes[0].Name, nodes[0].Zone
	}
	if free, known := i.Free(); known {
		p.Free = free
	}
	v.gets[key] = p
	return p
}

// gets adds a replica that the pool gets, or may get.
func (p *Pool) gets(size int64, sure bool) {
	p.Possible++
	p.MostBytes += size
	if sure {
		p.Sure++
		p.SureBytes += size
	}
}
