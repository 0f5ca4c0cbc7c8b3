package diskpool_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

const set = `apiVersion: poolwright.io/v1alpha1
kind: DiskPoolSet
metadata: {name: %s, namespace: openebs}
spec: {poolsPerNode: %s, maxNodeCount: %d, storageClasses: [{}]}
`

// TestWithCStor holds that sets of pools beside a cStor cluster never take a disk of each
// other or of anybody else, that the order of the input does not matter, and that one
// render is a fixed point, also where it is known that nothing exists yet.
func TestWithCStor(t *testing.T) {
	together := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{
			fmt.Sprintf(set, "fast", rapid.SampledFrom([]string{"1", "2", "all"}).Draw(t, "fast"), rapid.IntRange(1, 4).Draw(t, "nodes")),
			fmt.Sprintf(set, "slow", "1", 2),
		}
		if rapid.Bool().Draw(t, "cstor") {
			texts = append(texts, generated.CStor(rapid.IntRange(1, 3).Draw(t, "disks of cStor")))
		}
		if rapid.Bool().Draw(t, "nothing lives") {
			texts = append(texts, generated.NoneLive("diskpools"))
		}
		held := map[string]bool{}
		for n := range rapid.IntRange(1, 4).Draw(t, "count") {
			n++
			texts = append(texts, generated.Node(n, n%2))
			for _, letter := range []string{"b", "c", "d", "e"}[:rapid.IntRange(0, 4).Draw(t, "disks")] {
				texts = append(texts, generated.Device(n, letter, int64(rapid.IntRange(5, 40).Draw(t, "size"))<<30))
			}
			if rapid.Bool().Draw(t, "by hand") {
				texts = append(texts, generated.PoolByHand(n, "c"))
				held[fmt.Sprintf("n%d-sdc", n)] = true
			}
		}
		objects := generated.Parse(t, texts...)
		first := generated.Function().Render(fn.Package{Objects: objects})
		if finding.Failed(first.Findings) {
			if !strings.Contains(fmt.Sprint(first.Findings), "CStorClusterConfig") && !strings.Contains(fmt.Sprint(first.Findings), "replicas") {
				t.Fatal(first.Findings)
			}
			return
		}
		generated.Unordered(t, objects, first)
		if kinds := generated.Apart(t, generated.Settled(t, objects, first), held); len(kinds) == 2 {
			together++
		}
	})
	if together == 0 {
		t.Error("cStor and DiskPools were never together")
	}
}
