package cstor

import (
	"fmt"
	"slices"
)

// Phases of an instance, as zpool says them.
const (
	online   = "ONLINE"
	degraded = "DEGRADED"
	offline  = "OFFLINE"
)

// How long it takes to put the data of a disk onto another, and to rebuild a replica.
const (
	resilverMinutes = 4
	rebuildMinutes  = 3
)

// poolManagers run the pools of the nodes that are up: they import disks, repair RAID
// groups, and keep replicas.
type poolManagers struct {
	api      *API
	hardware *Hardware
	used     map[string]int64 // bytes, by instance
	pools    map[string]zpool // by instance
}

// zpool is a pool as it is on its disks.
type zpool struct {
	members   []string
	resilvers map[string]int // minutes left, by new disk
	rebuilds  map[string]int // minutes left, by replica
}

func (m *poolManagers) act() {
	for _, i := range sorted(m.api.Instances) {
		if m.hardware.runs(i.selects()) {
			m.manage(i)
		}
	}
}

func (m *poolManagers) manage(i *Instance) {
	if i.going() {
		for _, name := range i.Spec.disks() {
			m.api.unclaim(name)
		}
		delete(m.pools, i.Name)
		release(m.api.Instances, i.Name)
		return
	}
	z, known := m.pools[i.Name]
	if !known {
		z = zpool{members: i.Spec.disks(), resilvers: map[string]int{}, rebuilds: map[string]int{}}
	}
	m.resilver(i, &z)
	z.members = m.joined(i, &z)
	for _, name := range z.members {
		if d := m.api.BlockDevices[name]; d != nil && m.hardware.works(name, i.selects()) {
			d.Spec.FileSystem = &fileSystem{zfsMember}
		}
	}
	m.pools[i.Name] = z
	i.Status.Phase = m.phase(i)
	m.capacity(i)
	for _, r := range m.api.replicasOn(i.Name) {
		m.replica(i, r, &z)
	}
}

// joined lists the disks of an instance that are in its pool. Of those that are new to a RAID
// group, or to a stripe, none comes into it while one of them fails: zpool add refuses them all.
func (m *poolManagers) joined(i *Instance, z *zpool) []string {
	var members []string
	for _, group := range slices.Concat(i.Spec.Data, i.Spec.Cache) {
		refused := func(name string) bool {
			_, replaces := z.resilvers[name]
			return !slices.Contains(z.members, name) && !replaces && !m.hardware.works(name, i.selects())
		}
		fails := slices.ContainsFunc(group.names(), refused)
		for _, name := range group.names() {
			if _, replaces := z.resilvers[name]; !fails || replaces || slices.Contains(z.members, name) {
				members = append(members, name)
			}
		}
	}
	return members
}

// members are the disks of a RAID group that are in the pool.
func (m *poolManagers) members(i *Instance, group RAIDGroup) []string {
	z, known := m.pools[i.Name]
	return slices.DeleteFunc(group.names(), func(name string) bool { return known && !slices.Contains(z.members, name) })
}

// resilver starts for the disks that came in the place of other ones, and goes on. The claim
// of the old one goes when it is done.
func (m *poolManagers) resilver(i *Instance, z *zpool) {
	for _, name := range minus(i.Spec.disks(), z.members) {
		if claim := m.api.claimOf(name); claim != nil && claim.Annotations[predecessor] != "" {
			z.resilvers[name] = resilverMinutes
		}
	}
	for name := range z.resilvers {
		if !m.hardware.works(name, i.selects()) {
			continue
		}
		if z.resilvers[name]--; z.resilvers[name] > 0 {
			continue
		}
		delete(z.resilvers, name)
		if claim := m.api.claimOf(name); claim != nil {
			m.api.unclaim(claim.Annotations[predecessor])
			delete(claim.Annotations, predecessor)
		}
	}
	i.Status.Conditions = nil
	if len(z.resilvers) > 0 {
		i.Status.Conditions = []condition{{"DiskReplacement", "True", "BlockDeviceReplacementInprogress"}}
	}
}

// reads reports whether what a disk holds in its pool can be read. While it takes the place of
// another the pool has both, and reads the other; it says DEGRADED until that is over.
func (m *poolManagers) reads(i *Instance, name string) bool {
	if m.pools[i.Name].resilvers[name] == 0 {
		return m.hardware.works(name, i.selects())
	}
	claim := m.api.claimOf(name)
	return claim != nil && m.hardware.works(claim.Annotations[predecessor], i.selects())
}

// phase is what zpool says of a pool: each RAID group can do without some of its disks.
func (m *poolManagers) phase(i *Instance) string {
	phase := online
	for _, group := range i.Spec.Data {
		bad := 0
		for _, name := range m.members(i, group) {
			if !m.reads(i, name) {
				bad++
			}
		}
		spare := map[string]int{"mirror": len(group.BlockDevices) - 1, "raidz": 1, "raidz2": 2}[i.Spec.Config.DataRAIDGroupType]
		if bad > spare {
			return offline
		}
		if bad > 0 || slices.ContainsFunc(m.members(i, group), func(name string) bool { return m.pools[i.Name].resilvers[name] > 0 }) {
			phase = degraded
		}
	}
	return phase
}

// total is the size of a pool in bytes.
func (m *poolManagers) total(i *Instance) int64 {
	var total int64
	for _, group := range i.Spec.Data {
		least, all := int64(0), int64(0)
		members := m.members(i, group)
		for _, name := range members {
			if d := m.api.BlockDevices[name]; d != nil {
				all += d.Spec.Capacity.Storage
				if least == 0 || d.Spec.Capacity.Storage < least {
					least = d.Spec.Capacity.Storage
				}
			}
		}
		switch n := int64(len(members)); i.Spec.Config.DataRAIDGroupType {
		case "stripe":
			total += all
		case "mirror":
			total += least
		case "raidz":
			total += (n - 1) * least
		case "raidz2":
			total += (n - 2) * least
		}
	}
	return total
}

// percent is how full a pool is.
func (m *poolManagers) percent(i *Instance) int64 {
	if total := m.total(i); total > 0 {
		return m.used[i.Name] * 100 / total
	}
	return 0
}

// capacity writes how full a pool is.
func (m *poolManagers) capacity(i *Instance) {
	text := func(bytes int64) string { return fmt.Sprint(bytes) }
	total, used := m.total(i), m.used[i.Name]
	i.Status.Capacity = instanceCapacity{Free: text(total - used), Total: text(total), Used: text(used)}
	limit := int64(85)
	if given := i.Spec.Config.ROThresholdPercent; given != nil && *given > 0 {
		limit = *given
	}
	i.Status.ReadOnly = m.percent(i) >= limit
}

// replica keeps one replica: a new one is rebuilt from a healthy one, if there is any.
func (m *poolManagers) replica(i *Instance, r *Replica, z *zpool) {
	if r.going() {
		delete(z.rebuilds, r.Name)
		release(m.api.Replicas, r.Name)
		return
	}
	if i.Status.Phase == offline {
		r.Status.Phase = "Offline"
		return
	}
	others := slices.ContainsFunc(m.api.replicasOf(r.volume()), func(other *Replica) bool {
		return other != r && m.healthy(other)
	})
	volume := m.api.Volumes[r.volume()]
	others = others && volume != nil && m.answering(volume) >= volume.Spec.ConsistencyFactor
	switch r.Status.Phase {
	case "Healthy":
	case "Init":
		r.Status.Phase = "Healthy"
	case "Recreate", "Degraded", "Offline":
		if others {
			r.Status.Phase, z.rebuilds[r.Name] = "Rebuilding", rebuildMinutes
		} else if r.Status.Phase != "Recreate" && len(m.api.replicasOf(r.volume())) == 1 {
			r.Status.Phase = "Healthy" // it is the only one, and is what there is
		}
	case "Rebuilding":
		if !others {
			return
		}
		if z.rebuilds[r.Name]--; z.rebuilds[r.Name] <= 0 {
			r.Status.Phase = "Healthy"
		}
	}
}

// healthy reports whether a replica can really be read.
func (m *poolManagers) healthy(r *Replica) bool {
	i := m.api.Instances[r.instance()]
	return r.Status.Phase == "Healthy" && !r.going() && i != nil && m.hardware.runs(i.selects()) && m.phase(i) != offline
}

// quorum reports whether the target of a volume has enough healthy replicas to remove one.
func (m *poolManagers) quorum(v *Volume) bool {
	healthy := 0
	for _, r := range m.api.replicasOf(v.Name) {
		if m.healthy(r) {
			healthy++
		}
	}
	return healthy >= v.Spec.ConsistencyFactor
}

// answering counts the replicas that are connected to the target of a volume: with too few of them
// it rebuilds none.
func (m *poolManagers) answering(v *Volume) int {
	n := 0
	for _, r := range m.api.replicasOf(v.Name) {
		if i := m.api.Instances[r.instance()]; i != nil && m.hardware.runs(i.selects()) && m.phase(i) != offline {
			n++
		}
	}
	return n
}

// missed has the replicas on a host miss what is written to others, before it is up again.
func (m *poolManagers) missed(host string) {
	for _, r := range sorted(m.api.Replicas) {
		i := m.api.Instances[r.instance()]
		if i == nil || i.selects() != host || r.Status.Phase != "Healthy" {
			continue
		}
		if slices.ContainsFunc(m.api.replicasOf(r.volume()), m.healthy) {
			r.Status.Phase = "Degraded"
		}
	}
}
