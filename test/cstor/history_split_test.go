package cstor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSplitHistories goes through histories of configs with maxDisksPerCluster, which have
// several CStorPoolClusters each: no pool ever goes from one to another.
func TestSplitHistories(t *testing.T) {
	t.Parallel()
	liveThrough(t, newSplitHistory)
}

// newSplitHistory begins with more nodes and pools, and a limit for each config.
func newSplitHistory(seed uint64) *history {
	h := newHistory(seed)
	h.split = true
	random := rand.New(rand.NewPCG(seed, 5))
	for range 3 {
		h.addNode(2 + random.IntN(4))
	}
	for _, c := range h.configs {
		c.minimum += random.IntN(4)
		c.limit = c.disks() * (2 + random.IntN(3))
	}
	h.cluster.Advance(1)
	return h
}

// disks is how many disks a new pool has that is not listed.
func (c *config) disks() int { return c.disksIn(c.groups) }

// disksIn is how many disks some RAID groups have.
func (c *config) disksIn(groups int) int {
	return map[string]int{"mirror": 2, "stripe": 1}[c.raid] * groups
}

// clustersOf lists the live CStorPoolClusters of a config, by name.
func (h *history) clustersOf(c *config) []string {
	var names []string
	for _, live := range sorted(h.cluster.PoolClusters) {
		if configOf(live.Name) == c.name {
			names = append(names, live.Name)
		}
	}
	return names
}

// configOf is the config of a CStorPoolCluster.
func configOf(cluster string) string {
	config, _, _ := strings.Cut(cluster, "-")
	return config
}

// clustersKeepPools: no pool is rendered in another CStorPoolCluster than it is in, nor on a
// host where another of its config has one.
func (h *history) clustersKeepPools() error {
	in := map[string]string{} // by config and host
	for _, o := range h.rendered {
		if o.Kind != "CStorPoolCluster" {
			continue
		}
		for i := range poolsOf(o).Spec.Pools {
			host := poolsOf(o).Spec.Pools[i].host()
			at := configOf(o.Name) + " on " + host
			if other := in[at]; other != "" {
				return broken{"one-cluster-a-pool", fmt.Sprintf("%s and %s have a pool on %s", other, o.Name, host)}
			}
			in[at] = o.Name
		}
	}
	for _, live := range sorted(h.cluster.Instances) {
		at := configOf(live.Labels[labelCluster]) + " on " + live.Labels[labelHostname]
		if of := in[at]; of != "" && of != live.Labels[labelCluster] {
			return broken{"one-cluster-a-pool", fmt.Sprintf("%s lives in %s and is rendered in %s", live.Name, live.Labels[labelCluster], of)}
		}
	}
	return nil
}
