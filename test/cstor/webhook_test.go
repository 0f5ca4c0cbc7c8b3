package cstor

import (
	"errors"
	"fmt"
	"testing"
)

// big is a cluster whose first pool has so many mirrors, with as many disks free.
func big(t *testing.T, disks, seconds int, seed uint64) (*edit, *PoolCluster) {
	e := &edit{Cluster: New(seed)}
	e.AddNode("n1", "", nil)
	for i := range disks + 8 {
		e.AddDisk("n1", fmt.Sprintf("n1-%d", i), 100<<30)
	}
	e.SetWebhookTimeout(30)
	e.Advance(1)
	c := &PoolCluster{header: newHeader("cstor.openebs.io/v1", "CStorPoolCluster", Namespace, "prod")}
	p := Pool{NodeSelector: map[string]string{labelHostname: "n1"}}
	p.Config.DataRAIDGroupType, p.Data = "mirror", groupsOf("mirror", disks/2, "n1")
	c.Spec.Pools = []Pool{p}
	if err := e.apply(t, c); err != nil {
		t.Fatal(err)
	}
	e.Advance(5)
	e.SetWebhookTimeout(seconds)
	edited := clone(*e.PoolClusters["prod"])
	return e, &edited
}

// TestWebhookTime: the webhook that is played is late where the real one was measured to be.
func TestWebhookTime(t *testing.T) {
	replace := func(c *PoolCluster, disks int) {
		c.Spec.Pools[0].Data[0].BlockDevices[0].Name = fmt.Sprintf("n1-%d", disks)
	}
	grow := func(c *PoolCluster, disks int) {
		p := &c.Spec.Pools[0]
		p.Data = append(p.Data, RAIDGroup{[]GroupDevice{{fmt.Sprintf("n1-%d", disks)}, {fmt.Sprintf("n1-%d", disks+1)}}})
	}
	tune := func(c *PoolCluster, _ int) { c.Spec.Pools[0].Config.Compression = "lz4" }
	for _, c := range []struct {
		what           string
		edit           func(*PoolCluster, int)
		disks, seconds int
		late           string
	}{
		{"one replaced of 4", replace, 4, 5, "never"},
		{"one replaced of 14", replace, 14, 5, "always"},
		{"one replaced of 20", replace, 20, 30, "never"},
		{"a group more than 14", grow, 14, 5, "sometimes"},
		{"a group more than 6", grow, 6, 5, "never"},
		{"16 tuned", tune, 16, 5, "never"},
		{"18 tuned", tune, 18, 5, "always"},
		{"78 tuned", tune, 78, 30, "never"},
	} {
		late := 0
		const tries = 20
		for seed := range uint64(tries) {
			e, wanted := big(t, c.disks, c.seconds, seed)
			c.edit(wanted, c.disks)
			switch err := e.apply(t, wanted); {
			case errors.Is(err, errLate):
				late++
			case err != nil:
				t.Fatalf("%s: %v", c.what, err)
			}
		}
		got := map[int]string{0: "never", tries: "always"}[late]
		if got == "" {
			got = "sometimes"
		}
		if got != c.late {
			t.Errorf("%s, %d seconds: late %d of %d times, and should be %s", c.what, c.seconds, late, tries, c.late)
		}
	}
}
