package cstor

import (
	"fmt"
	"slices"
)

// Cluster is a cluster with cStor on it.
type Cluster struct {
	*API
	*Hardware
	Watch  *Watch
	Engine *Engine

	pools   *poolManagers
	volumes volumeOperator
	acting  []operator
	paused  map[string]int // until which minute, by name
}

// operator is something that acts once a minute, on what it then sees.
type operator struct {
	name string
	act  func()
}

// The operators, in the order in which they act.
const (
	CloudProvider  = "cloud"
	DeviceManager  = "ndm"
	PoolOperator   = "cspc-operator"
	PoolManagers   = "pool-managers"
	VolumeOperator = "cvc-operator"
)

// New makes an empty cluster. What the operators choose at random follows from the seed.
func New(seed uint64) *Cluster {
	api := newAPI(seed)
	hardware := &Hardware{api: api, machines: map[string]*machine{}, disks: map[string]*disk{}, pulled: map[string]pulled{}}
	c := &Cluster{API: api, Hardware: hardware, paused: map[string]int{}}
	c.pools = &poolManagers{api: api, hardware: hardware, used: map[string]int64{}, pools: map[string]zpool{}}
	c.volumes = volumeOperator{api, c.pools}
	c.acting = []operator{
		{CloudProvider, cloud{api, hardware, map[string]int{}}.act},
		{DeviceManager, deviceManager{api, hardware}.act},
		{PoolOperator, (&poolOperator{api: api, ready: map[string]int{}}).act},
		{PoolManagers, c.pools.act},
		{VolumeOperator, c.volumes.act},
	}
	c.Watch = &Watch{api: api, pools: c.pools, floor: map[string]int{}, struck: map[string]int{}}
	c.Engine = &Engine{api: api, webhook: webhook{api: api}, watch: c.Watch, applied: map[string]header{}, owned: map[string]header{}, Edits: map[string]int{}}
	c.SetWebhookTimeout(5)
	class := &StorageClass{
		header: newHeader("storage.k8s.io/v1", "StorageClass", "", cloudClass), Provisioner: cloudDriver, AllowVolumeExpansion: true, VolumeBindingMode: "Immediate",
	}
	api.born(&class.header)
	api.Classes[cloudClass] = class
	return c
}

// SetWebhookTimeout sets how long the API server waits for the webhook of cStor.
func (c *Cluster) SetWebhookTimeout(seconds int) {
	const name = "openebs-cstor-validation-webhook"
	w := &WebhookConfiguration{header: newHeader("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", name)}
	w.Webhooks = []webhookEntry{{"admission-webhook.cstor.openebs.io", seconds}}
	c.born(&w.header)
	c.Webhooks[name] = w
}

// Advance lets minutes pass.
func (c *Cluster) Advance(minutes int) {
	for range minutes {
		c.minute++
		for _, o := range c.acting {
			if c.minute > c.paused[o.name] {
				o.act()
				c.count()
			}
			c.Watch.check("after " + o.name)
		}
	}
}

// Pause has an operator do nothing for minutes.
func (c *Cluster) Pause(name string, minutes int) error {
	for _, o := range c.acting {
		if o.name == name {
			c.paused[name] = c.minute + minutes
			return nil
		}
	}
	return fmt.Errorf("there is no operator %s", name)
}

// Revert applies what a person put back, as git revert does: what it asks for is not our doing.
func (c *Cluster) Revert(apply func() error) error {
	c.Watch.theirs = true
	defer func() { c.Watch.theirs = false }()
	return apply()
}

// Befall is something that fate does: what it takes from volumes is not our doing.
func (c *Cluster) Befall(what func() error) error { return c.Watch.befall(what) }

// Crash stops a node; what is on it misses what is written from then on.
func (c *Cluster) Crash(node string) error {
	return c.Befall(func() error { return c.Hardware.Crash(node) })
}

// Lose takes a node away.
func (c *Cluster) Lose(node string) error {
	return c.Befall(func() error { return c.Hardware.Lose(node) })
}

// Return starts a node again.
func (c *Cluster) Return(node string) error {
	if m := c.machines[node]; m != nil && !m.up {
		c.pools.missed(m.host)
	}
	return c.Befall(func() error { return c.Hardware.Return(node) })
}

// Fill sets how full the pools on a node are, in percent.
func (c *Cluster) Fill(node string, percent int) error {
	m := c.machines[node]
	if m == nil {
		return fmt.Errorf("there is no node %s", node)
	}
	for _, i := range sorted(c.Instances) {
		if i.selects() == m.host {
			c.pools.used[i.Name] = (c.pools.total(i)*int64(percent) + 99) / 100
		}
	}
	return nil
}

// Provision makes a volume as the CSI driver does. source is what it is a clone of, as
// volume@snapshot, or "".
func (c *Cluster) Provision(name, cluster string, replicas int, source string) {
	const gib = "10Gi"
	v := &VolumeConfig{header: newHeader("cstor.openebs.io/v1", "CStorVolumeConfig", Namespace, name)}
	v.Labels[labelCluster] = cluster
	v.Annotations["openebs.io/volumeID"], v.Annotations["openebs.io/persistent-volume-claim"] = name, name
	v.Finalizers = []string{"cvc.openebs.io/finalizer"}
	v.Spec = volumeConfigSpec{Capacity: capacity{gib}, Source: source, Provision: provision{capacity{gib}, replicas}}
	v.Status.Phase = "Pending"
	v.VersionDetails = versionDetails{version, versionStatus{version}}
	c.born(&v.header)
	c.VolumeConfigs[name] = v

	volume := &PersistentVolume{header: newHeader("v1", "PersistentVolume", "", name)}
	volume.Spec = persistentVolumeSpec{Capacity: capacity{gib}, StorageClassName: "cstor", CSI: csiSource{"cstor.csi.openebs.io", name}, ClaimRef: &claimReference{"shop", name}}
	volume.Status.Phase = "Bound"
	c.born(&volume.header)
	c.PersistentVolumes[name] = volume

	claim := &VolumeClaim{header: newHeader("v1", "PersistentVolumeClaim", "shop", name)}
	claim.Spec = volumeClaimSpec{StorageClassName: "cstor", VolumeName: name, AccessModes: []string{"ReadWriteOnce"}, Resources: resources{capacity{gib}}}
	claim.Status = volumeClaimStatus{"Bound", capacity{gib}}
	c.born(&claim.header)
	c.VolumeClaims["shop/"+name] = claim
}

// Unprovision deletes a volume as the CSI driver does.
func (c *Cluster) Unprovision(name string) {
	for _, r := range c.replicasOf(name) {
		remove(c.API, c.Replicas, r.Name)
	}
	delete(c.VolumeConfigs, name)
	delete(c.Volumes, name)
	delete(c.PersistentVolumes, name)
	delete(c.VolumeClaims, "shop/"+name)
}

// Unfinalize takes the finalizers of a replica or an instance, as kubectl patch does where
// the node that would do it is lost.
func (c *Cluster) Unfinalize(name string) error {
	switch {
	case c.Replicas[name] != nil:
		release(c.Replicas, name)
	case c.Instances[name] != nil:
		i := c.Instances[name]
		if i.going() {
			for _, device := range i.Spec.disks() {
				c.unclaim(device)
			}
		}
		release(c.Instances, name)
	default:
		return fmt.Errorf("there is no replica or instance %s", name)
	}
	return nil
}

// Stuck lists the instances and replicas that go, and wait for a node that does not run,
// by name.
func (c *Cluster) Stuck() []string {
	var names []string
	for _, i := range c.Instances {
		if i.going() && !c.runs(i.selects()) {
			names = append(names, i.Name)
		}
	}
	for _, r := range c.Replicas {
		if i := c.Instances[r.instance()]; r.going() && (i == nil || !c.runs(i.selects())) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Relabel sets the hostname label of the instance on a node, as kubectl label does after a
// pool was moved there.
func (c *Cluster) Relabel(node, host string) error {
	for _, i := range sorted(c.Instances) {
		if m := c.machines[node]; m != nil && i.selects() == m.host {
			i.Labels[labelHostname] = host
			return nil
		}
	}
	return fmt.Errorf("there is no pool on %s", node)
}
