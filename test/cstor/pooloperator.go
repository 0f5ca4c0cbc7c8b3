package cstor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// growthMinutes is how long an instance may be without a new group whose claims are bound.
const growthMinutes = 2

// poolOperator is the cspc operator: it makes instances of pools, carries edits of these
// out, and removes them. It counts pools and instances: while there are as many, none
// comes or goes.
type poolOperator struct {
	api   *API
	ready map[string]int // since when the disks of a new group are bound, by cluster and disk
}

func (o *poolOperator) act() {
	for _, c := range sorted(o.api.PoolClusters) {
		o.reconcile(c)
	}
}

func (o *poolOperator) reconcile(c *PoolCluster) {
	instances := o.api.instancesOf(c.Name)
	if c.going() {
		for _, i := range instances {
			remove(o.api, o.api.Instances, i.Name)
		}
		if len(instances) == 0 {
			release(o.api.PoolClusters, c.Name)
		}
		return
	}
	o.count(c, instances)
	if slices.ContainsFunc(instances, func(i *Instance) bool { return i.going() }) {
		return // nothing else is done for the cluster meanwhile
	}
	switch pools := len(c.Spec.Pools); {
	case len(instances) < pools:
		o.add(c, instances)
	case len(instances) > pools:
		o.remove(c, instances)
	default:
		for i := range c.Spec.Pools {
			o.update(c, &c.Spec.Pools[i], instances)
		}
	}
}

func (o *poolOperator) count(c *PoolCluster, instances []*Instance) {
	c.Status = poolClusterStatus{Desired: len(c.Spec.Pools), Provisioned: len(instances)}
	for _, i := range instances {
		if i.Status.Phase == online {
			c.Status.Healthy++
		}
	}
}

// instancesOf lists the instances of a CStorPoolCluster.
func (a *API) instancesOf(cluster string) []*Instance {
	return where(a.Instances, func(i *Instance) bool { return i.cluster() == cluster })
}

// of is the instance of a pool: the one with its hostname, or, if it was moved, with a
// disk of it.
func of(p *Pool, instances []*Instance) *Instance {
	for _, i := range instances {
		if i.selects() == p.host() {
			return i
		}
	}
	for _, i := range instances {
		if common(i.Spec.disks(), p.disks()) > 0 {
			return i
		}
	}
	return nil
}

// add makes the instances of pools that have none, once their disks are bound.
func (o *poolOperator) add(c *PoolCluster, instances []*Instance) {
	for n := range c.Spec.Pools {
		p := &c.Spec.Pools[n]
		if of(p, instances) != nil {
			continue
		}
		for _, name := range p.disks() {
			o.api.claim(c, name, "")
		}
		if !o.bound(c, p.disks()) {
			continue
		}
		i := &Instance{header: newHeader("cstor.openebs.io/v1", "CStorPoolInstance", Namespace, c.Name+"-"+o.api.suffix())}
		i.Labels[labelHostname], i.Labels[labelCluster], i.Labels[labelVersion] = p.host(), c.Name, version
		i.Finalizers = []string{memberFinalizer}
		i.Spec = instanceSpec{HostName: p.host(), NodeSelector: maps.Clone(p.NodeSelector), PoolContent: clone(p.PoolContent)}
		o.api.born(&i.header)
		o.api.Instances[i.Name] = i
	}
}

// bound reports whether the claims of all disks are.
func (o *poolOperator) bound(c *PoolCluster, disks []string) bool {
	return !slices.ContainsFunc(disks, func(name string) bool {
		claim := o.api.claimOf(name)
		return claim == nil || !claim.bound() || claim.Labels[labelCluster] != c.Name
	})
}

// remove deletes the instances that no pool has.
func (o *poolOperator) remove(c *PoolCluster, instances []*Instance) {
	for _, i := range instances {
		wanted := slices.ContainsFunc(c.Spec.Pools, func(p Pool) bool { return of(&p, instances) == i })
		if !wanted {
			remove(o.api, o.api.Instances, i.Name)
		}
	}
}

// update carries out what changed in a pool that has an instance.
func (o *poolOperator) update(c *PoolCluster, p *Pool, instances []*Instance) {
	i := of(p, instances)
	if i == nil {
		return
	}
	if i.selects() != p.host() {
		i.Spec.NodeSelector, i.Spec.HostName = maps.Clone(p.NodeSelector), p.host()
	}
	i.Spec.Config.Compression, i.Spec.Config.ThickProvision = p.Config.Compression, p.Config.ThickProvision
	i.Spec.Config.ROThresholdPercent = p.Config.ROThresholdPercent
	if i.Spec.Config.DataRAIDGroupType != p.Config.DataRAIDGroupType { // it passes where the webhook does not look
		i.Spec.Config.DataRAIDGroupType = p.Config.DataRAIDGroupType
		i.Spec.Data = append(i.Spec.Data, clone(p.PoolContent).Data...)
		return
	}
	for _, group := range p.Data {
		o.updateGroup(c, i, group)
	}
}

// updateGroup carries out what changed in a RAID group: it is new, a disk of it is, or,
// of a stripe, some are.
func (o *poolOperator) updateGroup(c *PoolCluster, i *Instance, group RAIDGroup) {
	at := slices.IndexFunc(i.Spec.Data, func(old RAIDGroup) bool { return common(old.names(), group.names()) > 0 })
	if at < 0 {
		if o.usable(c, group.names()) {
			i.Spec.Data = append(i.Spec.Data, group)
		}
		return
	}
	old := &i.Spec.Data[at]
	out, in := minus(old.names(), group.names()), minus(group.names(), old.names())
	switch {
	case len(out) == 0 && len(in) > 0:
		if o.usable(c, in) {
			for _, name := range in {
				old.BlockDevices = append(old.BlockDevices, GroupDevice{name})
			}
		}
	case len(out) == 1 && len(in) == 1:
		claim := o.api.claimOf(in[0])
		if claim != nil && claim.bound() && claim.Annotations[predecessor] == out[0] {
			old.BlockDevices[slices.Index(old.names(), out[0])].Name = in[0]
		}
	}
}

// usable claims disks, and says whether they have been bound for a while.
func (o *poolOperator) usable(c *PoolCluster, disks []string) bool {
	for _, name := range disks {
		o.api.claim(c, name, "")
	}
	key := fmt.Sprint(c.Name, disks)
	if !o.bound(c, disks) {
		delete(o.ready, key)
		return false
	}
	if _, known := o.ready[key]; !known {
		o.ready[key] = o.api.minute
	}
	return o.api.minute >= o.ready[key]+growthMinutes
}

// clone copies a value that can be encoded.
func clone[T any](v T) T {
	var copied T
	if err := json.Unmarshal(mustEncode(v), &copied); err != nil {
		panic(err)
	}
	return copied
}
