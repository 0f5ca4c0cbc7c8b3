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
}

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

// check counts anew. A volume must not have less than it had, up to what was asked for.
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
		w.floor[c.Name] = max(w.floor[c.Name], min(healthy, c.Spec.Provision.ReplicaCount))
	}
}

// lets holds that no pool uses a cloud disk that an engine lets go: what happens to it.
func (w *Watch) lets(volume, what string) {
	v := w.api.PersistentVolumes[volume]
	if v == nil {
		return
	}
	for _, i := range sorted(w.api.Instances) {
		if slices.Contains(i.Spec.disks(), device(v)) && w.pools.hardware.works(device(v), i.selects()) {
			w.report("%s, and its disk is in pool %s", what, i.Name)
		}
	}
}

// accept takes what is left after fate has struck.
func (w *Watch) accept() {
	for name := range w.floor {
		w.floor[name] = min(w.floor[name], w.Healthy(name))
	}
}
