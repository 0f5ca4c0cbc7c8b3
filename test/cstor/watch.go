package cstor

import (
	"errors"
	"fmt"
	"slices"
)

// Watch holds what must never happen: that a volume has fewer healthy replicas than it
// had, but for what fate took, and that an edit does what no step may.
type Watch struct {
	api   *API
	pools *poolManagers
	floor map[string]int // healthy replicas, by volume
	wrong []error

	struck map[string]int // how often fate had struck when it last took of a volume
	theirs bool           // what is applied is what a person put back, and was refused to be rendered again
	fates  int            // how often it has
	known  View
}

// View is what facts that were taken at some time show.
type View struct {
	fates int                 // that had struck
	false map[string]bool     // volumes of which a replica is not as the API says it is
	claim map[string]bool     // PersistentVolumeClaims, by name
	stays map[string][]string // disks of the instances that nobody deletes, by host
	pools map[string]string   // CStorPoolClusters, by the names of their instances
	lives map[string]bool     // CStorPoolClusters, by name
	hosts map[string]bool     // that a pool can select
	below map[string]bool     // volumes below quorum
}

// lost reports whether pools on none of some hosts select a node: these go in one edit, since the
// webhook refuses the removal of one while another selects none.
func (v View) lost(a *API, hosts []string) bool {
	there := v.hosts
	if there == nil {
		there = a.hosts()
	}
	return !slices.ContainsFunc(hosts, func(host string) bool { return there[host] })
}

// hosts are those that a pool can select.
func (a *API) hosts() map[string]bool {
	hosts := map[string]bool{}
	for _, n := range a.Nodes {
		hosts[n.Labels[labelHostname]] = true
	}
	return hosts
}

// pools are the clusters of the pools that are there.
func (a *API) pools() map[string]string {
	clusters := map[string]string{}
	for _, i := range a.Instances {
		clusters[i.Name] = i.cluster()
	}
	return clusters
}

// pooled reports whether a pool has the disk of a volume.
func (a *API) pooled(volume string) bool {
	v := a.PersistentVolumes[volume]
	return v != nil && slices.ContainsFunc(sorted(a.Instances), func(i *Instance) bool { return slices.Contains(i.Spec.disks(), device(v)) })
}

// clusterOf is the cluster of a pool, or "" where there is no such pool.
func (v View) clusterOf(a *API, pool string) string {
	if v.pools == nil {
		return a.pools()[pool]
	}
	return v.pools[pool]
}

// shows reports whether a CStorPoolCluster was there. For facts in which it is not, all of it is
// one creation, whatever was rendered before and may not be applied yet.
func (v View) shows(cluster string) bool { return v.lives == nil || v.lives[cluster] }

// Err is everything that happened and must not.
func (w *Watch) Err() error { return errors.Join(w.wrong...) }

func (w *Watch) report(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Errorf("minute %d: "+format, append([]any{w.api.minute}, args...)...))
}

// Healthy counts the replicas of a volume that can really be read.
func (w *Watch) Healthy(volume string) int {
	n := 0
	for _, r := range w.api.replicasOf(volume) {
		if w.pools.healthy(r) {
			n++
		}
	}
	return n
}

// Look is what facts show that are taken now.
func (w *Watch) Look() View {
	v := View{
		fates: w.fates, false: map[string]bool{}, claim: map[string]bool{}, stays: map[string][]string{},
		pools: w.api.pools(), lives: map[string]bool{}, hosts: w.api.hosts(), below: map[string]bool{},
	}
	for _, volume := range w.api.Volumes {
		v.below[volume.Name] = !w.pools.quorum(volume)
	}
	for name := range w.api.PoolClusters {
		v.lives[name] = true
	}
	for _, i := range w.api.Instances {
		if !i.going() {
			v.stays[i.selects()] = i.Spec.disks()
		}
	}
	for _, claim := range w.api.VolumeClaims {
		v.claim[claim.Name] = true
	}
	for _, r := range w.api.Replicas {
		i := w.api.Instances[r.instance()]
		if shown := r.Status.Phase == "Healthy" && i != nil && w.pools.hardware.runs(i.selects()); shown != w.pools.healthy(r) {
			v.false[r.volume()] = true
		}
	}
	return v
}

// isBelow reports whether a volume is below quorum as facts show it: an edit of its replicas then waits,
// and comes true when nobody expects it.
func (v View) isBelow(w *Watch, volume string) bool {
	if v.below == nil {
		of := w.api.Volumes[volume]
		return of != nil && !w.pools.quorum(of)
	}
	return v.below[volume] && !v.false[volume]
}

// Know says by which facts edits are made from now on. Where it is never called they are
// always those of the moment.
func (w *Watch) Know(v View) { w.known = v }

// check counts again. A volume must not have less than it had, up to what was asked for, as
// far as the facts can show.
func (w *Watch) check(when string) {
	for name := range w.floor {
		if w.api.VolumeConfigs[name] == nil {
			delete(w.floor, name)
		}
	}
	for _, c := range sorted(w.api.VolumeConfigs) {
		healthy := w.Healthy(c.Name)
		if healthy < w.floor[c.Name] {
			w.report("%s: volume %s has %d healthy replicas, and had %d", when, c.Name, healthy, w.floor[c.Name])
			w.floor[c.Name] = healthy
		}
		if blind := w.known.false != nil && (w.struck[c.Name] > w.known.fates || w.known.false[c.Name]); !blind {
			w.floor[c.Name] = max(w.floor[c.Name], min(healthy-w.late(c.Name), c.Spec.Provision.ReplicaCount))
		}
	}
}

// late counts the healthy replicas of a volume that an edit has released, or its pool, and that the
// operators have not removed yet. No later edit can do anything about them, not even if another
// fails meanwhile: a volume that had them before that edit has them in its floor.
func (w *Watch) late(volume string) int {
	n, v := 0, w.api.VolumeConfigs[volume]
	for _, r := range w.api.replicasOf(volume) {
		i := w.api.Instances[r.instance()]
		if i == nil || !w.pools.healthy(r) {
			continue
		}
		c := w.api.PoolClusters[i.cluster()]
		poolGoes := c == nil || !slices.ContainsFunc(c.Spec.Pools, func(p Pool) bool { return of(&p, []*Instance{i}) == i })
		if poolGoes || v.Status.Phase == "Bound" && !slices.Contains(v.Spec.pools(), i.Name) {
			n++
		}
	}
	return n
}

// lets holds that no pool uses a cloud disk that an engine releases: what happens to it. What goes
// since a person put back an older output, against an error of the renderer, is his doing.
func (w *Watch) lets(volume, what string) {
	v := w.api.PersistentVolumes[volume]
	if v == nil {
		return
	}
	for _, i := range sorted(w.api.Instances) {
		if slices.Contains(i.Spec.disks(), device(v)) && w.pools.hardware.works(device(v), i.selects()) {
			if w.theirs {
				w.strike(i)
				continue
			}
			w.report("%s, and its disk is in pool %s", what, i.Name)
		}
	}
}

// strike notes that a pool is to lose a disk, and volumes their replicas with it.
func (w *Watch) strike(i *Instance) {
	w.fates++
	for _, r := range w.api.replicasOn(i.Name) {
		w.floor[r.volume()], w.struck[r.volume()] = max(0, w.floor[r.volume()]-1), w.fates
	}
}

// befall is something that fate does. What it takes of a volume is not our doing; nor is it
// that another replica goes before the facts show it.
func (w *Watch) befall(what func() error) error {
	before := map[string]int{}
	for name := range w.floor {
		before[name] = w.Healthy(name)
	}
	err := what()
	w.fates++
	for name := range w.floor {
		if taken := before[name] - w.Healthy(name); taken > 0 {
			w.floor[name] = max(0, w.floor[name]-taken)
			w.struck[name] = w.fates
		}
	}
	return err
}
