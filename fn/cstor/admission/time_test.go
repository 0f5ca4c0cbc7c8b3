package admission

import (
	"fmt"
	"math"
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

// The requests that the real webhook was seen to make, beside the one for the
// CStorPoolCluster with every edit.
func TestCost(t *testing.T) {
	state := newState(t, none("volumegroups"))
	for _, c := range []struct {
		kind         string
		n, k, g      int
		disks, nodes int
		chance       int // of the disks
	}{
		{"create", 18, 0, 2, 18, 1, 0},
		{"create", 34, 0, 2, 34, 1, 0},
		{"settings", 9, 0, 1, 19, 3, 0},
		{"settings", 80, 0, 2, 161, 3, 0},
		{"pool", 9, 3, 3, 22, 4, 0},
		{"removal", 9, 3, 3, 21, 5, 0},
		{"growth", 9, 6, 3, 85, 3, 60},
		{"growth", 12, 8, 4, 137, 3, 104},
		{"growth", 7, 2, 1, 33, 3, 16},
		{"growth-cache", 9, 6, 3, 93, 3, 0}, // with the disk of the cache n is 10
		{"replacement", 20, 1, 2, 68, 3, 0},
		{"replacement", 20, 2, 2, 95, 3, 0},
	} {
		got := state.Cost(edited(c.kind, c.n, c.k, c.g))
		if disks, nodes := got.Requests(); disks != c.disks || nodes != c.nodes || got.Chance != c.chance {
			t.Errorf("%+v: %d, %d, %+v", c, disks, nodes, got)
		}
	}
}

// What the webhook does not look at, it does not ask for: it changes no RAID group of a pool
// whose node is not called like its hostname label. It then finds no pool that stays either.
func TestCostOfHostnames(t *testing.T) {
	facts := none("volumegroups")
	for i := range 5 {
		facts += fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: node-%d, labels: {kubernetes.io/hostname: m%d}}}\n---\n", i, i)
	}
	old, wanted := big(pool.Mirror, 2, 2, 2, 2, 2, 2), big(pool.Mirror, 2, 4, 2, 2, 2, 2)
	cost := newState(t, facts).Cost(old, wanted)
	if disks, nodes := cost.Requests(); disks != 23 || nodes != 35 {
		t.Errorf("%d and %d requests, %+v", disks, nodes, cost)
	}
	if _, most := cost.Seconds(burst); most != 6.6 {
		t.Errorf("%.1f seconds", most)
	}
}

// The seconds that were measured on a stand-in API server and on a real one.
func TestMeasuredSeconds(t *testing.T) {
	state := newState(t, none("volumegroups"))
	pools := func(raidType string, size, n int) *pool.Cluster {
		return big(raidType, size, slices.Repeat([]int{size}, n)...)
	}
	tuned := func(c *pool.Cluster) (old, wanted *pool.Cluster) {
		edited := c.Clone()
		edited.Pools[0].Compression = "lz4"
		return c, edited
	}
	cached := func(c *pool.Cluster) (old, wanted *pool.Cluster) {
		edited := c.Clone()
		for i, p := range edited.Pools {
			p.CacheType, p.Cache = pool.Stripe, pool.Groups{{fmt.Sprint("cache", i)}}
		}
		return c, edited
	}
	edit := func(old, wanted *pool.Cluster) [2]*pool.Cluster { return [2]*pool.Cluster{old, wanted} }
	close, settings := 0, 0
	for _, c := range []struct {
		what     string
		edit     [2]*pool.Cluster
		measured float64
	}{
		{"settings of 5 mirrors", edit(tuned(pools(pool.Mirror, 2, 5))), 4.2},
		{"settings of 6 mirrors", edit(tuned(pools(pool.Mirror, 2, 6))), 6.3},
		{"settings of 7 mirrors", edit(tuned(pools(pool.Mirror, 2, 7))), 8.7},
		{"settings of 8 mirrors", edit(tuned(pools(pool.Mirror, 2, 8))), 11.3},
		{"settings of 7 stripes", edit(tuned(pools(pool.Stripe, 1, 7))), 6.5},
		{"settings of 9 stripes", edit(tuned(pools(pool.Stripe, 1, 9))), 10.6},
		{"settings of 12 stripes", edit(tuned(pools(pool.Stripe, 1, 12))), 18.9},
		{"a pool more than 7 mirrors", edit(pools(pool.Mirror, 2, 7), pools(pool.Mirror, 2, 8)), 9.2},
		{"a pool more than 9 stripes", edit(pools(pool.Stripe, 1, 9), pools(pool.Stripe, 1, 10)), 11.1},
		{"a pool less than 8 stripes", edit(pools(pool.Stripe, 1, 8), pools(pool.Stripe, 1, 7)), 8.3},
		{"a write cache for 3 mirrors", edit(cached(pools(pool.Mirror, 2, 3))), 5.3},
		{"18 disks created", edit(nil, big(pool.Mirror, 2, 6, 6, 6)), 1.6},
		{"34 disks created", edit(nil, big(pool.Mirror, 2, 10, 12, 12)), 4.9},
		{"settings of 9 disks", edit(tuned(big(pool.RAIDZ, 3, 3, 3, 3))), 1.6},
		{"a pool more than 9 disks", edit(big(pool.RAIDZ, 3, 3, 3, 3), big(pool.RAIDZ, 3, 3, 3, 3, 3)), 2.2},
		{"9 disks that get 6", edit(big(pool.RAIDZ, 3, 3, 3, 3), big(pool.RAIDZ, 3, 6, 6, 3)), 14.8},
	} {
		least, most := state.Cost(c.edit[0], c.edit[1]).Seconds(burst)
		off := math.Abs(most - c.measured)
		t.Logf("%-28s measured %4.1f s, predicted %4.1f s (%.1f without growth)", c.what, c.measured, most, least)
		if settings++; off < 0.21 {
			close++
		}
		if off > 0.31 {
			t.Errorf("%s: %.1f s were measured, not %.1f", c.what, c.measured, most)
		}
	}
	if close*10 < settings*8 {
		t.Errorf("only %d of %d are within 0.2 s", close, settings)
	}
	// Of 3 mirrors 1.3 s were measured: more than a rested webhook waits for. 12 node lists never wait, so it was the
	// other client that had 6 or 7 of its 10 requests left. CStorPoolClusters have no status subresource: each status
	// that the operator writes of one is an edit, too, for which the webhook asks once. Three or four of them within a
	// second explain it, and with fewer than ten no other edit of this table fits.
	if _, rested := state.Cost(tuned(pools(pool.Mirror, 2, 3))).Seconds(burst); rested != 0.6 {
		t.Errorf("3 mirrors: %.1f s", rested)
	}
	if _, tired := state.Cost(tuned(pools(pool.Mirror, 2, 3))).Seconds(7); math.Abs(tired-1.3) > 0.2 {
		t.Errorf("3 mirrors, soon after another edit: %.1f s", tired)
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
		{"", "create", 36, 0, 2, "the cStor webhook needs about 5.2 seconds for it (36 requests for disks, 1 node list), and " + unknown + "set timeoutSeconds: 6 there"},
		{"", "settings", 16, 0, 1, ""},
		{"", "settings", 17, 0, 1, "the cStor webhook needs about 5.0 seconds for it (35 requests for disks, 3 node lists), and " + unknown + "set timeoutSeconds: 6 there"},
		{"", "pool", 12, 2, 2, ""},
		{"", "removal", 14, 2, 2, ""},
		{"", "growth", 6, 2, 2, ""},
		{"", "growth", 8, 2, 2, "the cStor webhook may need up to 5.4 seconds for it (37 requests for disks, 3 node lists), and " + unknown + "set timeoutSeconds: 6 there"},
		{"", "growth", 6, 4, 2, "the cStor webhook may need up to 7.0 seconds for it (45 requests for disks, 3 node lists), and " + unknown + "set timeoutSeconds: 8 there, or add one RAID group at a time"},
		{"", "growth-cache", 8, 2, 2, "the cStor webhook needs about 6.2 seconds for it (41 requests for disks, 3 node lists)"},
		{"", "replacement", 8, 1, 2, ""},
		{"", "replacement", 10, 1, 2, "the cStor webhook needs about 5.6 seconds for it (38 requests for disks, 3 node lists)"},
		{"", "replacement", 8, 2, 2, "set timeoutSeconds: 8 there, or replace one disk at a time"},
		{webhook(30), "create", 158, 0, 2, ""},
		{webhook(30), "settings", 78, 0, 2, ""},
		{webhook(30), "growth", 38, 2, 1, ""},
		{webhook(30), "growth", 40, 2, 2, "the cStor webhook may need up to 31.0 seconds for it (165 requests for disks, 3 node lists)"},
		{webhook(30), "replacement", 50, 1, 2, ""},
		{webhook(30), "replacement", 51, 1, 3, "the cStor webhook needs about 30.4 seconds for it (162 requests for disks, 3 node lists)"},
		{webhook(30), "settings", 82, 0, 2, "the cStor webhook needs about 31.0 seconds for it (165 requests for disks, 3 node lists), and is given 30 seconds; timeoutSeconds: 30, the longest, is too short as well; make several smaller clusters"},
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
		{5, Kind{Disks: 2, Growth: 2, Group: 2, Replaces: true}, Ceiling{7, 8}},
		{30, Kind{Disks: 2, Growth: 2, Group: 2, Replaces: true}, Ceiling{23, 25}},
		{5, Kind{Disks: 2, Growth: 0, Group: 2, Replaces: true}, Ceiling{11, 8}},
		{5, Kind{Disks: 2, Growth: 0, Group: 2}, Ceiling{11, 11}},
		{5, Kind{Disks: 3, Growth: 3, Group: 3, Replaces: true}, Ceiling{5, 8}},
		{1, Kind{Disks: 6, Growth: 6, Group: 6, Replaces: true}, Ceiling{1, 1}},
	} {
		if got := (Timeout{Seconds: c.seconds}).Ceiling(c.kind); got != c.want {
			t.Errorf("%d s, %+v: %+v, want %+v", c.seconds, c.kind, got, c.want)
		}
	}
	state := newState(t, none("volumegroups"))
	for n := 1; n < 14; n++ {
		for _, g := range []int{2, 3, 4} {
			kind := Kind{Disks: g, Growth: g, Group: g, Replaces: true}
			all := big(pool.Mirror, g, slices.Repeat([]int{g}, n)...)
			tuned, grown, replaced := all.Clone(), all.Clone(), all.Clone()
			tuned.Pools[0].Compression = "lz4"
			grown.Pools[0].Data = big(pool.Mirror, g, 2*g).Pools[0].Data
			replaced.Pools[0].Data = pool.Groups{append([]string{"new"}, all.Pools[0].Data[0][1:]...)}
			for what, c := range map[string]struct {
				wanted *pool.Cluster
				want   Cost
			}{"settings": {tuned, kind.settings(n * g)}, "growth": {grown, kind.growth(n * g)}, "replacement": {replaced, kind.replacement(n * g)}} {
				got := state.Cost(all, c.wanted)
				if got.slots(burst, got.Chance) != c.want.slots(burst, 0) {
					t.Errorf("%s of %d pools of %d disks: %+v, and the ceiling counts %+v", what, n, g, got, c.want)
				}
			}
			for what, edit := range map[string][2]*pool.Cluster{"a pool more": {big(pool.Mirror, g, slices.Repeat([]int{g}, n-1)...), all}, "a pool less": {big(pool.Mirror, g, slices.Repeat([]int{g}, n+1)...), all}} {
				larger := max(len(edit[0].Pools), len(edit[1].Pools))
				if c := state.Cost(edit[0], edit[1]); c.slots(burst, 0) > kind.settings(larger*g).slots(burst, 0) {
					t.Errorf("%s of %d pools takes longer than settings", what, n)
				}
			}
		}
	}
}

// The table of docs/day2.md, of mirrors of two disks.
func TestCeilingOfMirrors(t *testing.T) {
	kind := Kind{Disks: 2, Growth: 2, Group: 2, Replaces: true}
	for _, c := range []struct{ seconds, pools, grows, replaces int }{{5, 5, 7, 8}, {10, 7, 11, 13}, {20, 10, 17, 19}, {30, 13, 23, 25}} {
		given := Timeout{Seconds: c.seconds}
		pools, replaces := 0, 0
		for given.Allows(kind.settings(2 * (pools + 1))) {
			pools++
		}
		for given.Allows(kind.replacement(replaces + 1)) {
			replaces++
		}
		if grows := given.Ceiling(kind).Grows; pools != c.pools || grows != c.grows || replaces != c.replaces {
			t.Errorf("%d s: %d pools, %d, %d disks", c.seconds, pools, grows, replaces)
		}
	}
}

// TestEdits: the requests of each edit are those that were measured, with n disks in the cluster, k of them
// new and groups of g: create n, growth 2n+k+k(1+n), replacement 3n+g+5, beside the read of an edit.
func TestEdits(t *testing.T) {
	kind := Kind{Disks: 4, Growth: 2, Group: 2, Replaces: true}
	const n, k, g = 12, 2, 2
	want := map[string]int{"the creation": n, "growth": 1 + 2*n + k + k*(1+n), "a replacement": 1 + 3*n + g + 5}
	got := kind.Edits([]int{4, 4, 4}, true)
	if len(got) != len(want) {
		t.Fatalf("got %d edits, want %d", len(got), len(want))
	}
	for _, edit := range got {
		if disks, nodes := edit.Cost.Requests(); disks != want[edit.Name] {
			t.Errorf("%s: got %d requests and %d node lists, want %d requests", edit.Name, disks, nodes, want[edit.Name])
		}
	}
	if got := (Kind{Disks: 4, Group: 4}).Edits([]int{4}, false); len(got) != 0 {
		t.Errorf("a stripe that exists and does not grow: got %v", got)
	}
}
