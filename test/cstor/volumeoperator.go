package cstor

import (
	"fmt"
	"slices"
)

// volumeOperator is the cvc operator, with the targets of the volumes: it places replicas,
// and adds or removes one where the pools of a CStorVolumeConfig change.
type volumeOperator struct {
	api   *API
	pools *poolManagers
}

func (o volumeOperator) act() {
	for _, c := range sorted(o.api.VolumeConfigs) {
		switch {
		case c.VersionDetails.Status.Current != version: // of another version: never reconciled
		case c.Status.Phase == "Pending":
			o.create(c)
		case c.Status.Phase == "Bound":
			o.scaleUp(c)
			o.scaleDown(c)
		}
	}
	for _, v := range sorted(o.api.Volumes) {
		o.serve(v)
	}
}

// create places a new volume on pools at random.
func (o volumeOperator) create(c *VolumeConfig) {
	instances := slices.DeleteFunc(o.api.instancesOf(c.Labels[labelCluster]), func(i *Instance) bool {
		return i.going() || i.Status.Phase != online || i.Status.ReadOnly
	})
	count := c.Spec.Provision.ReplicaCount
	if len(instances) < count {
		return // not enough pools are available of provided CSPC
	}
	o.api.random.Shuffle(len(instances), func(a, b int) { instances[a], instances[b] = instances[b], instances[a] })
	v := &Volume{header: newHeader("cstor.openebs.io/v1", "CStorVolume", Namespace, c.Name)}
	v.Labels["openebs.io/persistent-volume"] = c.Name
	v.Spec = volumeSpec{Capacity: c.Spec.Capacity.Storage, ReplicationFactor: count, DesiredReplicationFactor: count, ConsistencyFactor: count/2 + 1}
	o.api.born(&v.header)
	v.own(&c.header)
	o.api.Volumes[c.Name] = v
	for _, i := range instances[:count] {
		o.place(c, i, "Init")
		c.Status.PoolInfo = append(c.Status.PoolInfo, i.Name)
	}
	slices.Sort(c.Status.PoolInfo)
	c.Spec.Policy.ReplicaPoolInfo = nil
	for _, name := range c.Status.PoolInfo {
		c.Spec.Policy.ReplicaPoolInfo = append(c.Spec.Policy.ReplicaPoolInfo, poolName{name})
	}
	c.Spec.Ref = &named{"CStorVolume", Namespace, c.Name}
	c.Status.Phase, c.Status.Capacity = "Bound", c.Spec.Capacity
}

// place makes a replica on an instance.
func (o volumeOperator) place(c *VolumeConfig, i *Instance, phase string) {
	r := &Replica{header: newHeader("cstor.openebs.io/v1", "CStorVolumeReplica", Namespace, c.Name+"-"+i.Name)}
	r.Labels[labelVolume], r.Labels[labelInstance], r.Labels["openebs.io/persistent-volume"] = c.Name, i.Name, c.Name
	r.Labels["cstorpoolinstance.openebs.io/uid"] = string(i.UID)
	r.Annotations[replicaHost] = i.host()
	r.Finalizers = []string{replFinalizer}
	r.Spec.Capacity, r.Status.Phase = c.Spec.Capacity.Storage, phase
	o.api.born(&r.header)
	if phase == "Recreate" {
		r.Spec.ReplicaID = fmt.Sprintf("%X", r.UID)
	}
	r.own(&o.api.Volumes[c.Name].header)
	o.api.Replicas[r.Name] = r
}

// scaleUp makes the replicas that the config asks for, and is done with one when that is
// healthy. One on a pool that there is not, or of another cluster, never comes.
func (o volumeOperator) scaleUp(c *VolumeConfig) {
	v := o.api.Volumes[c.Name]
	for _, name := range minus(c.Spec.pools(), c.Status.PoolInfo) {
		r := o.api.Replicas[c.Name+"-"+name]
		i := o.api.Instances[name]
		switch {
		case r != nil && r.Status.Phase == "Healthy":
			v.Spec.ReplicationFactor++
			v.Spec.ConsistencyFactor = v.Spec.ReplicationFactor/2 + 1
			c.Status.PoolInfo = append(c.Status.PoolInfo, name)
			slices.Sort(c.Status.PoolInfo)
		case r == nil && i != nil && i.cluster() == c.Labels[labelCluster]:
			v.Spec.DesiredReplicationFactor++
			o.place(c, i, "Recreate")
		}
	}
}

// scaleDown removes the replica that the config does not ask for any more, once the volume has
// quorum: until then the request waits.
func (o volumeOperator) scaleDown(c *VolumeConfig) {
	v := o.api.Volumes[c.Name]
	for _, name := range minus(c.Status.PoolInfo, c.Spec.pools()) {
		r := o.api.Replicas[c.Name+"-"+name]
		if r == nil {
			v.Spec.ReplicationFactor = v.Spec.DesiredReplicationFactor
			v.Spec.ConsistencyFactor = v.Spec.ReplicationFactor/2 + 1
			c.Status.PoolInfo = minus(c.Status.PoolInfo, []string{name})
			continue
		}
		if !r.going() && o.pools.quorum(v) {
			v.Spec.DesiredReplicationFactor--
			remove(o.api, o.api.Replicas, r.Name)
		}
	}
}

// serve is what the target of a volume writes: it sees which replicas answer.
func (o volumeOperator) serve(v *Volume) {
	switch {
	case o.pools.quorum(v):
		v.Status.Phase = "Healthy"
	case o.pools.answering(v) >= v.Spec.ConsistencyFactor:
		v.Status.Phase = "Degraded"
	default:
		v.Status.Phase = "Offline"
	}
	v.Status.Capacity = v.Spec.Capacity
}

// replicasOf lists the replicas of a volume by name.
func (a *API) replicasOf(volume string) []*Replica {
	return where(a.Replicas, func(r *Replica) bool { return r.volume() == volume })
}
