package toy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

const cluster = `
apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata:
  name: prod
  namespace: openebs
spec:
  minPoolCount: 1
  poolConfig:
    raidType: stripe
  diskConfig:
    minCount: %d
    local: {}
`

// TestTogether holds that two systems on the same nodes never take the same disk, that
// the order of the input does not matter, and that one render is a fixed point.
func TestTogether(t *testing.T) {
	both := 0
	rapid.Check(t, func(t *rapid.T) {
		var names []string
		for i := range rapid.IntRange(1, 6).Draw(t, "disks") {
			names = append(names, fmt.Sprint("sd", string(rune('a'+i))))
		}
		asked := strings.Replace(specs, "disks: 2", fmt.Sprint("disks: ", rapid.IntRange(1, 4).Draw(t, "reservoir")), 1)
		objects := parseRapid(t, asked+"---"+fmt.Sprintf(cluster, rapid.IntRange(1, 3).Draw(t, "cluster")), disks(names...))
		first := function().Render(fn.Package{Objects: objects})
		if finding.Failed(first.Findings) {
			t.Fatal(first.Findings)
		}
		shuffled := function().Render(fn.Package{Objects: rapid.Permutation(objects).Draw(t, "order")})
		if written(shuffled) != written(first) {
			t.Fatalf("in another order:\n%s\nwant\n%s", written(shuffled), written(first))
		}
		lock := parseRapid(t, written(first))
		if again := function().Render(fn.Package{Objects: objects, Output: lock}); written(again) != written(first) {
			t.Fatalf("again:\n%s\nwant\n%s", written(again), written(first))
		}
		taken := map[string]string{}
		kinds := map[string]bool{}
		for _, o := range lock {
			for _, name := range devices(o) {
				if other := taken[name]; other != "" {
					t.Fatalf("%s is taken by %s and by %s", name, other, o.Ref)
				}
				taken[name] = o.Ref.String()
				kinds[o.Kind] = true
			}
		}
		if len(kinds) == 2 {
			both++
		}
	})
	if both == 0 {
		t.Error("the two systems were never together")
	}
}

// devices are the block devices that an object puts data on.
func devices(o *krm.Object) []string {
	switch o.Kind {
	case "Basin":
		return []string{o.Node.Str("spec", "device", "name")}
	case "CStorPoolCluster":
		var names []string
		for _, p := range o.Node.Seq("spec", "pools") {
			for _, g := range p.Seq("dataRaidGroups") {
				for _, d := range g.Seq("blockDevices") {
					names = append(names, d.Str("blockDeviceName"))
				}
			}
		}
		return names
	}
	return nil
}

func parseRapid(t *rapid.T, texts ...string) []*krm.Object {
	t.Helper()
	var all []*krm.Object
	for i, text := range texts {
		objects, err := parseText(i, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}
