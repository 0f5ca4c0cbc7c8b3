package cstor

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// mirrors is a cluster of so many pools of one mirror each, which run, with a spare node and four
// spare disks on every node. The hostname labels are the names of the nodes, or others.
func mirrors(t *testing.T, pools int, host func(i int) string) (*Cluster, *PoolCluster) {
	e := &edit{Cluster: New(uint64(pools))}
	e.SetWebhookTimeout(30)
	for i := range pools + 1 {
		e.AddNode(fmt.Sprint("n", i), host(i), nil)
		for d := range 6 {
			e.AddDisk(fmt.Sprint("n", i), fmt.Sprintf("n%d-%d", i, d), 100<<30)
		}
	}
	e.Advance(1)
	c := &PoolCluster{header: newHeader("cstor.openebs.io/v1", "CStorPoolCluster", Namespace, "prod")}
	for i := range pools {
		c.Spec.Pools = append(c.Spec.Pools, mirror(i, host))
	}
	if err := e.apply(t, c); err != nil {
		t.Fatal(err)
	}
	e.Advance(10)
	return e.Cluster, e.PoolClusters["prod"]
}

func mirror(i int, host func(i int) string) Pool {
	p := Pool{NodeSelector: map[string]string{labelHostname: host(i)}}
	p.Config.DataRAIDGroupType, p.Data = "mirror", groupsOf("mirror", 1, fmt.Sprint("n", i))
	return p
}

// TestWebhookSeconds: how long the webhook takes is what the product predicts. The webhook is
// played request by request against an API server that counts them, through two clients with
// client-go's own limits, on a clock that only they move.
func TestWebhookSeconds(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == pathNodes {
			seen["nodes"]++
		} else {
			seen["disks"]++
		}
	}))
	defer server.Close()
	send := func(path string) {
		answer, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	named, other := func(i int) string { return fmt.Sprint("n", i) }, func(i int) string { return fmt.Sprint("host-", i) }
	tune := func(c *PoolCluster) {
		for i := range c.Spec.Pools {
			c.Spec.Pools[i].Config.Compression = "lz4"
		}
	}
	grow := func(c *PoolCluster) { c.Spec.Pools[0].Data = groupsOf("mirror", 2, "n0") }
	step := 1
	if testing.Short() {
		step = 13
	}
	t.Log("pools  edit                       requests  node lists  predicted  measured")
	for pools := 1; pools <= 40; pools += step {
		var running *Cluster
		var old *PoolCluster
		for _, kind := range []struct {
			what string
			host func(i int) string
			edit func(c *PoolCluster) // nil for a create
		}{
			{"create", named, nil},
			{"settings", named, tune},
			{"a pool more", named, func(c *PoolCluster) { c.Spec.Pools = append(c.Spec.Pools, mirror(pools, named)) }},
			{"a pool more, first", named, func(c *PoolCluster) { c.Spec.Pools = append([]Pool{mirror(pools, named)}, c.Spec.Pools...) }},
			{"the first pool less", named, func(c *PoolCluster) { c.Spec.Pools = c.Spec.Pools[min(1, pools-1):] }},
			{"the last pool less", named, func(c *PoolCluster) { c.Spec.Pools = c.Spec.Pools[:max(1, pools-1)] }},
			{"growth", named, grow},
			{"growth, all", named, func(c *PoolCluster) {
				for i := range c.Spec.Pools {
					c.Spec.Pools[i].Data = groupsOf("mirror", 2, fmt.Sprint("n", i))
				}
			}},
			{"a write cache", named, func(c *PoolCluster) {
				p := &c.Spec.Pools[0]
				p.Config.WriteCacheType, p.Cache = "stripe", []RAIDGroup{{[]GroupDevice{{"n0-5"}}}}
			}},
			{"a disk replaced", named, func(c *PoolCluster) { c.Spec.Pools[0].Data[0].BlockDevices[0].Name = "n0-5" }},
			{"settings, other hostnames", other, tune},
			{"growth, other hostnames", other, grow},
		} {
			if other := kind.host(0); running == nil || old.Spec.Pools[0].host() != other {
				running, old = mirrors(t, pools, kind.host)
			}
			cluster, before, wanted := running, old, clone(*old)
			if kind.edit == nil {
				cluster, before = newUnclaimed(pools, named), nil
			} else {
				kind.edit(&wanted)
			}
			f := facts(t, cluster)
			cost := admission.NewState(f, pool.LiveOf(f)).Cost(decode(t, before), decode(t, &wanted))
			least, most := cost.Seconds(10)
			clear(seen)
			r := newPoolReview(webhook{cluster.API, send}, before, &wanted)
			if err := r.review(); err != nil {
				t.Fatalf("%s of %d: %v", kind.what, pools, err)
			}
			took := r.took().Seconds()
			disks, nodes := cost.Requests()
			line := fmt.Sprintf("%5d  %-25s  %8d  %10d  %8.1fs  %7.1fs", pools, kind.what, seen["disks"], seen["nodes"], most, took)
			if seen["disks"] < disks { // the growth of some pools was not looked at, by chance
				line += fmt.Sprintf(" (at least %.1fs)", least)
			}
			t.Log(line)
			if seen["nodes"] != nodes || seen["disks"] > disks || seen["disks"] < disks-cost.Chance {
				t.Errorf("%s: %d requests, of which %d by chance, and %d node lists are predicted", strings.TrimSpace(line), disks, cost.Chance, nodes)
			}
			if seen["disks"] == disks && math.Abs(took-most) > 0.3 || took > most+0.3 || took < least-0.3 {
				t.Errorf("%s: more than 0.3 s apart", strings.TrimSpace(line))
			}
		}
	}
}

// newUnclaimed is the same nodes and disks, and no pools.
func newUnclaimed(pools int, host func(i int) string) *Cluster {
	c := New(1)
	for i := range pools {
		c.AddNode(fmt.Sprint("n", i), host(i), nil)
		for d := range 2 {
			c.AddDisk(fmt.Sprint("n", i), fmt.Sprintf("n%d-%d", i, d), 100<<30)
		}
	}
	c.Advance(1)
	return c
}
