package cstor

import (
	"fmt"
	"slices"
	"strings"
)

// String shows the pools and volumes, a line each, by the nodes that they are on:
//
//	pool of prod on n1: ONLINE 40%, n1-0 n1-1 | n1-2 n1-3
//	volume db: Healthy on n1 n2 n3
func (c *Cluster) String() string {
	var b strings.Builder
	instances := sorted(c.Instances)
	slices.SortStableFunc(instances, func(a, b *Instance) int {
		return strings.Compare(a.cluster()+" "+a.selects(), b.cluster()+" "+b.selects())
	})
	for _, i := range instances {
		var groups []string
		for _, group := range i.Spec.Data {
			groups = append(groups, strings.Join(group.names(), " "))
		}
		fmt.Fprintf(&b, "pool of %s on %s: %s %d%%, %s\n", i.cluster(), i.selects(), state(&i.header, i.Status.Phase), c.pools.percent(i), strings.Join(groups, " | "))
	}
	for _, v := range sorted(c.VolumeConfigs) {
		var on []string
		for _, r := range c.replicasOf(v.Name) {
			at := r.instance()
			if i := c.Instances[at]; i != nil {
				at = i.selects()
			}
			if phase := state(&r.header, r.Status.Phase); phase != "Healthy" {
				at += " (" + phase + ")"
			}
			on = append(on, at)
		}
		slices.Sort(on)
		phase := v.Status.Phase
		if target := c.Volumes[v.Name]; target != nil {
			phase = target.Status.Phase
		}
		fmt.Fprintf(&b, "volume %s: %s on %s\n", v.Name, phase, strings.Join(on, " "))
	}
	return b.String()
}

func state(h *header, phase string) string {
	if h.going() {
		return "going"
	}
	return phase
}
