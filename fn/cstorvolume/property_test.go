package cstorvolume_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

const (
	spec = `apiVersion: poolwright.io/v1alpha1
kind: CStorVolumeClass
metadata: {name: %s, namespace: openebs}
spec: {cluster: prod, placement: %s, policy: {target: {luWorkers: %d}}, claims: [%s]%s}
`
	cluster = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata: {name: prod, namespace: openebs, annotations: {poolwright.io/inventory: "true"}}
spec: {pools: [%s]}
`
	node = `apiVersion: v1
kind: Node
metadata: {name: n%[1]d, labels: {kubernetes.io/hostname: n%[1]d, topology.kubernetes.io/zone: %[2]s}}
`
	instance = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolInstance
metadata: {name: prod-%[1]d, namespace: openebs, labels: {kubernetes.io/hostname: n%[1]d, openebs.io/cstor-pool-cluster: prod}}
spec: {hostName: n%[1]d}
status: {phase: %[2]s, readOnly: %[3]t, capacity: {free: %[4]dG, total: 100G}}
`
)

// pools are the pools of a cluster, by the name of their instance.
type pools map[string]struct {
	zone   string
	usable bool
}

// drawn is a cluster with a few pools, and classes on it.
func drawn(t *rapid.T) (texts []string, all pools) {
	all = pools{}
	var selectors []string
	for n := range rapid.IntRange(1, 6).Draw(t, "pools") {
		zone := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")
		phase := rapid.SampledFrom([]string{"ONLINE", "ONLINE", "ONLINE", "OFFLINE", "DEGRADED"}).Draw(t, "phase")
		readOnly := rapid.IntRange(0, 4).Draw(t, "read-only") == 0
		selectors = append(selectors, fmt.Sprintf("{nodeSelector: {kubernetes.io/hostname: n%d}}", n))
		texts = append(texts, fmt.Sprintf(node, n, zone), fmt.Sprintf(instance, n, phase, readOnly, rapid.IntRange(0, 3).Draw(t, "free")*10))
		all[fmt.Sprintf("prod-%d", n)] = struct {
			zone   string
			usable bool
		}{zone, phase == "ONLINE" && !readOnly}
	}
	texts = append(texts, fmt.Sprintf(cluster, strings.Join(selectors, ", ")))
	for i, name := range []string{"db", "web"}[:rapid.IntRange(1, 2).Draw(t, "classes")] {
		var claims []string
		for j := range rapid.IntRange(0, 3).Draw(t, "claims") {
			source := ""
			if j > 0 && rapid.Bool().Draw(t, "clone") {
				source = fmt.Sprintf(", source: {claim: %s-%d}", name, j-1)
			}
			claims = append(claims, fmt.Sprintf("{name: %s-%d, namespace: shop, size: %dMi%s}", name, j, 1024*(1+j)+rapid.IntRange(0, 1).Draw(t, "odd"), source))
		}
		more := ""
		if n := rapid.IntRange(0, 4).Draw(t, "replicas"); n > 0 {
			more = fmt.Sprintf(", replicaCount: %d", n)
		}
		texts = append(texts, fmt.Sprintf(spec, name, rapid.SampledFrom([]string{"operator", "pinned"}).Draw(t, "placement"), i+1, strings.Join(claims, ", "), more))
	}
	return texts, all
}

// TestRender holds that the order of the input does not matter, that one render is a fixed
// point, that volumes are pinned to pools that take them, spread over the zones, and that
// they stay pinned whatever becomes of the pools.
func TestRender(t *testing.T) {
	pinned := 0
	rapid.Check(t, func(t *rapid.T) {
		texts, all := drawn(t)
		objects := generated.Parse(t, texts...)
		first := generated.Function().Render(fn.Package{Objects: objects})
		generated.Unordered(t, objects, first)
		if finding.Failed(first.Findings) {
			if !strings.Contains(fmt.Sprint(first.Findings), "each on another pool") {
				t.Fatal(first.Findings)
			}
			return
		}
		lock := generated.Settled(t, objects, first)
		for _, o := range lock {
			if o.Kind == "CStorVolumePolicy" && o.Node.Get("spec", "replicaPoolInfo") != nil {
				checkPins(t, o, lock, all)
				pinned++
			}
		}
		// Whatever becomes of the pools, what was rendered stays; but a pin that had to wait
		// may come.
		texts2, _ := drawn(t)
		facts := slices.DeleteFunc(texts2, func(text string) bool { return strings.Contains(text, specWord) })
		specs := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !strings.Contains(text, specWord) })
		later := generated.Function().Render(fn.Package{Objects: generated.Parse(t, append(specs, facts...)...), Output: lock})
		if finding.Failed(later.Findings) {
			if !strings.Contains(fmt.Sprint(later.Findings), "each on another pool") {
				t.Fatalf("with other pools: %v", later.Findings)
			}
			return
		}
		now := generated.Written(later)
		for _, o := range lock {
			if !strings.Contains(now, string(o.Raw)) {
				t.Fatalf("with other pools:\n%s\nwas\n%s", now, o.Raw)
			}
		}
	})
	if pinned == 0 {
		t.Error("nothing was ever pinned")
	}
}

const specWord = "kind: CStorVolumeClass"

// checkPins holds the pools of a policy against those that there are.
func checkPins(t *rapid.T, policy *krm.Object, lock []*krm.Object, all pools) {
	held, chosen := map[string]int{}, map[string]bool{}
	for _, p := range policy.Node.Seq("spec", "replicaPoolInfo") {
		name := p.Str("poolName")
		if !all[name].usable || chosen[name] {
			t.Fatalf("pinned to %s, which is taken or takes no volumes", name)
		}
		chosen[name] = true
		held[all[name].zone]++
	}
	for name, p := range all {
		if p.usable && !chosen[name] && held[p.zone] == 0 && slices.ContainsFunc([]string{"a", "b", "c"}, func(zone string) bool { return held[zone] > 1 }) {
			t.Fatalf("two pools of a zone, and none of %s, where %s is free", p.zone, name)
		}
	}
	for _, o := range lock {
		if o.Kind == "StorageClass" && o.Name == policy.Name && o.Node.Str("parameters", "replicaCount") != fmt.Sprint(len(chosen)) {
			t.Fatalf("%d pools for %s replicas", len(chosen), o.Node.Str("parameters", "replicaCount"))
		}
	}
}
