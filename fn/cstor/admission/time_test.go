package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/test/expected"
)

// big is pools of so many disks on nodes m0, m1, ..., in RAID groups of size.
func big(raidType string, size int, disks ...int) *pool.Cluster {
	c := &pool.Cluster{Namespace: "openebs", Name: "prod"}
	for i, n := range disks {
		p := &pool.Pool{Hostname: fmt.Sprint("m", i), Config: pool.Config{RAIDType: raidType}}
		for d := 0; d < n; d += size {
			var group pool.Group
			for k := range size {
				group = append(group, fmt.Sprintf("d%d-%d", i, d+k))
			}
			p.Data = append(p.Data, group)
		}
		c.Pools = append(c.Pools, p)
	}
	return c
}

// edited is a change of each kind, as old and wanted.
func edited(kind string, n, k, g int) (old, wanted *pool.Cluster) {
	raidType := pool.Mirror
	old, wanted = big(raidType, g, n), big(raidType, g, n)
	switch kind {
	case "create":
		return nil, wanted
	case "settings":
		wanted.Pools[0].Compression = "lz4"
	case "pool":
		wanted = big(raidType, g, n, k)
	case "removal":
		old = big(raidType, g, n, k)
	case "growth", "growth-cache":
		wanted = big(raidType, g, n+k)
		if kind == "growth-cache" { // the cache is counted in n
			for _, c := range []*pool.Cluster{old, wanted} {
				c.Pools[0].CacheType, c.Pools[0].Cache = pool.Stripe, pool.Groups{{"cache"}}
			}
		}
	case "replacement":
		for i := range k {
			wanted.Pools[0].Data[i][0] = fmt.Sprint("new", i)
		}
	}
	return old, wanted
}

// The requests that were measured on the real webhook.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		kind        string
		n, k, g     int
		least, most int
	}{
		{"create", 18, 0, 2, 18, 18},
		{"create", 34, 0, 2, 34, 34},
		{"settings", 9, 0, 1, 18, 18},
		{"settings", 80, 0, 2, 160, 160},
		{"pool", 9, 3, 3, 21, 21},
		{"removal", 9, 3, 3, 18, 18},
		{"growth", 9, 6, 3, 24, 84},
		{"growth", 12, 8, 4, 32, 136},
		{"growth", 7, 2, 1, 16, 32},
		{"growth-cache", 9, 6, 3, 92, 92}, // with the disk of the cache n is 10
		{"replacement", 20, 1, 2, 67, 67},
		{"replacement", 20, 2, 2, 94, 94},
	} {
		old, wanted := edited(c.kind, c.n, c.k, c.g)
		had := map[string]bool{}
		if old != nil {
			for _, name := range old.Disks() {
				had[name] = true
			}
		}
		got := NewStep(old, wanted).Cost(old, wanted, func(name string) bool { return had[name] })
		if got != (Cost{c.least, c.most}) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// The webhook is feared where it may be late, and only there.
func TestTime(t *testing.T) {
	const unknown = "is given 5 seconds unless its ValidatingWebhookConfiguration, which the inventory does not have, says otherwise; "
	for _, c := range []struct {
		facts   string
		kind    string
		n, k, g int
		want    expected.Text
	}{
		{"", "create", 34, 0, 2, ""},
		{"", "create", 36, 0, 2, "the cStor webhook needs about 6 seconds for it (36 requests), and " + unknown + "set timeoutSeconds: 6 there"},
		{"", "settings", 17, 0, 1, ""},
		{"", "settings", 18, 0, 2, "the cStor webhook needs about 6 seconds for it (36 requests), and " + unknown + "set timeoutSeconds: 6 there"},
		{"", "pool", 12, 2, 2, ""},
		{"", "removal", 16, 2, 2, ""},
		{"", "growth", 6, 2, 2, ""},
		{"", "growth", 8, 2, 2, "the cStor webhook may need up to 6 seconds for it (36 requests), and " + unknown + "set timeoutSeconds: 6 there"},
		{"", "growth", 6, 4, 2, "the cStor webhook may need up to 7 seconds for it (44 requests), and " + unknown + "set timeoutSeconds: 8 there, or add one RAID group at a time"},
		{"", "growth-cache", 8, 2, 2, "the cStor webhook needs about 6 seconds for it (40 requests)"},
		{"", "replacement", 8, 1, 2, ""},
		{"", "replacement", 10, 1, 2, "the cStor webhook needs about 6 seconds for it (37 requests)"},
		{"", "replacement", 8, 2, 2, "set timeoutSeconds: 8 there, or replace one disk at a time"},
		{webhook(30), "create", 160, 0, 2, ""},
		{webhook(30), "settings", 80, 0, 2, ""},
		{webhook(30), "growth", 39, 2, 1, ""},
		{webhook(30), "growth", 40, 2, 2, "the cStor webhook may need up to 31 seconds for it (164 requests)"},
		{webhook(30), "replacement", 50, 1, 2, ""},
		{webhook(30), "replacement", 51, 1, 3, "the cStor webhook needs about 31 seconds for it (161 requests)"},
		{webhook(30), "settings", 82, 0, 2, "the cStor webhook needs about 31 seconds for it (164 requests), and is given 30 seconds; timeoutSeconds: 30, the longest, is too short as well; make several smaller clusters"},
		{webhook(10), "settings", 36, 0, 2, "and is given 10 seconds; set timeoutSeconds: 13 there"},
		{strings.ReplaceAll(webhook(30), "admission-webhook.cstor.openebs.io", "other"), "settings", 18, 0, 2, unknown},
		{strings.ReplaceAll(webhook(30), "name: admission-webhook.cstor.openebs.io", "name: other, rules: [{resources: [cstorpoolclusters]}]"), "settings", 18, 0, 2, ""},
		{strings.ReplaceAll(webhook(30), ", timeoutSeconds: 30", ""), "settings", 18, 0, 2, ""},
	} {
		state := newState(t, c.facts+none("volumegroups"))
		old, wanted := edited(c.kind, c.n, c.k, c.g)
		got := ""
		for _, p := range state.Review(old, wanted) {
			if p.Outcome == Late {
				got = p.Advice()
			}
		}
		if !c.want.In(t, got) || (got == "") != (c.want == "") {
			t.Errorf("%s %d %d: %s", c.kind, c.n, c.k, got)
		}
	}
}

// Disks that failed are replaced together: while one of them is left in, the webhook refuses
// every edit. Of disks that are well one may go after the other.
func TestTimeOfFailedDisks(t *testing.T) {
	for state, apart := range map[string]bool{"Active": true, "Inactive": false} {
		facts := none("volumegroups")
		for _, name := range []string{"d0-0", "d0-2"} {
			facts += "---\napiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata: {name: " + name + ", namespace: openebs}\nstatus: {state: " + state + "}\n"
		}
		late, found := newState(t, facts).Late(edited("replacement", 8, 2, 2))
		if !found || strings.Contains(late.Remedy, "replace one disk at a time") != apart {
			t.Errorf("%s: %v %s", state, found, late.Remedy)
		}
	}
}

// What the webhook claims while it looks, also in a dry run.
func TestClaims(t *testing.T) {
	for _, c := range []struct{ old, wanted, want string }{
		{"n1 mirror a,b c,d", "n1 mirror a,x c,y", "x y"},
		{"n1 mirror a,b | mirror c,d", "n1 mirror a,b | mirror c,x", "x"},
		{"n1 mirror a,b c,d", "n1 mirror a,c b,d", ""}, // they swap: refused before
		{"n1 mirror a,b", "n1 mirror x,y", ""},
		{"n1 mirror a,b", "n1 mirror a,b c,d", ""},
	} {
		if got := strings.Join(Claims(cluster(c.old), cluster(c.wanted)), " "); got != c.want {
			t.Errorf("%s to %s: %q", c.old, c.wanted, got)
		}
	}
}

// How large a cluster may get at a timeout, by the formula that Cost counts by.
func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		seconds int
		kind    Kind
		want    Ceiling
	}{
		{5, Kind{Disks: 2, Growth: 2, Group: 2, Replaces: true}, Ceiling{7, 9}},
		{30, Kind{Disks: 2, Growth: 2, Group: 2, Replaces: true}, Ceiling{39, 41}},
		{5, Kind{Disks: 2, Growth: 0, Group: 2, Replaces: true}, Ceiling{17, 9}},
		{5, Kind{Disks: 2, Growth: 0, Group: 2}, Ceiling{17, 17}},
		{5, Kind{Disks: 3, Growth: 3, Group: 3, Replaces: true}, Ceiling{5, 8}},
		{1, Kind{Disks: 6, Growth: 6, Group: 6, Replaces: true}, Ceiling{0, 1}},
	} {
		if got := (Timeout{Seconds: c.seconds}).Ceiling(c.kind); got != c.want {
			t.Errorf("%d s, %+v: %+v, want %+v", c.seconds, c.kind, got, c.want)
		}
	}
	for n := range 40 {
		for _, k := range []int{2, 3, 4} {
			for kind, requests := range map[string]int{"growth": growthRequests(n, k), "pool": additionRequests(n, k), "replacement": replacementRequests(n, k), "settings": additionRequests(n, 0)} {
				if n%k > 0 || n == 0 {
					continue
				}
				disks := k
				if kind == "replacement" {
					disks = 1
				}
				old, wanted := edited(kind, n, disks, k)
				claimed := func(name string) bool { return slices.Contains(old.Disks(), name) }
				if cost := NewStep(old, wanted).Cost(old, wanted, claimed); cost.Most != requests {
					t.Errorf("%s of %d among %d: %d requests, Cost has %d", kind, k, n, requests, cost.Most)
				}
			}
		}
	}
}
