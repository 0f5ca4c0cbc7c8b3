package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// How many turns a cluster may take to come to rest, and how many without a change are rest.
const (
	mostTurns = 60
	restTurns = 4
)

// settle lets the operators go on, and takes turns until nothing changes any more.
func (h *history) settle() error {
	h.cluster.paused = map[string]int{}
	h.tell("nothing happens any more")
	quiet, before := 0, ""
	for range mostTurns {
		if _, err := unfinalized(h, event{}); err != nil {
			return err
		}
		if err := h.turn(6); err != nil {
			return err
		}
		if err := h.cluster.Watch.Err(); err != nil {
			return err
		}
		now := textOf(h.rendered) + h.cluster.String()
		if now != before {
			h.tell("turn: %s", h.said())
			quiet, before = 0, now
			continue
		}
		if quiet++; quiet == restTurns {
			return h.atRest()
		}
	}
	return broken{"comes-to-rest", fmt.Sprintf("after %d turns rendering still changes", mostTurns)}
}

// atRest holds that what is rendered exists, or that a person can read what stands in the way.
func (h *history) atRest() error {
	if finding.Failed(h.findings) {
		h.Waiting++
		for _, f := range h.findings {
			if f.Severity == finding.Error && !slices.Contains(h.stopped, f.Rule) {
				h.stopped = append(h.stopped, f.Rule)
			}
		}
		return nil
	}
	h.Rested++
	warned := func(config string) bool {
		return slices.ContainsFunc(h.findings, func(f finding.Finding) bool { return f.Severity == finding.Warning && f.Object.Name == config })
	}
	for _, f := range h.findings {
		if f.Rule == "step" && f.Severity == finding.Info && !warned(f.Object.Name) {
			return broken{"stuck", fmt.Sprintf("at rest a step is still under way, and no warning says why: %s", f.Message)}
		}
	}
	for _, o := range h.rendered {
		if id, _ := krm.ParseOwner(o.RenderedFor()); h.deleted[id.Name] != nil && !warned(id.Name) {
			return broken{"not-deleted", fmt.Sprintf("%s is still rendered, and no warning says why", o.Ref)}
		}
		if o.Kind == "CStorPoolCluster" && !warned(configOf(o.Name)) && !h.lives(o) {
			return broken{"not-alive", fmt.Sprintf("%s is not what lives, and no warning says why", o.Ref)}
		}
	}
	for _, c := range h.configs {
		pools := 0
		for _, of := range h.clustersOf(c) {
			pools += len(h.cluster.instancesOf(of))
		}
		if pools < c.fewest() && !warned(c.name) {
			return broken{"too-few", fmt.Sprintf("%s has %d pools of %d, and no warning says why", c.name, pools, c.fewest())}
		}
	}
	if err := h.listedAtRest(warned); err != nil {
		return err
	}
	return h.volumesAtRest(warned)
}

// lives reports whether the instances of a rendered cluster are what it says.
func (h *history) lives(o *krm.Object) bool {
	live := h.cluster.PoolClusters[o.Name]
	return live != nil && len(changesOf(&live.Spec, &poolsOf(o).Spec)) == 0 && h.cluster.unfinished(live) == ""
}

func changesOf(old, wanted *PoolClusterSpec) []string {
	t := newTransition(old, wanted)
	return t.kinds()
}

// volumesAtRest holds that each volume has the replicas that it was made with, where there
// are pools for them.
func (h *history) volumesAtRest(warned func(string) bool) error {
	for _, v := range sorted(h.cluster.VolumeConfigs) {
		if v.Status.Phase != "Bound" {
			continue
		}
		want := v.Spec.Provision.ReplicaCount
		if have := len(h.cluster.replicasOf(v.Name)); have != want && !warned(configOf(v.Labels[labelCluster])) {
			return broken{"replicas", fmt.Sprintf("volume %s has %d replicas of %d, and no warning says why", v.Name, have, want)}
		}
	}
	return nil
}
