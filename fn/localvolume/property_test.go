package localvolume_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

// TestBesideOthers holds that templates never take a disk of each other, of a person's Volume or
// of a cStor cluster, and neither does that; that each Volume of a person has a lock, that the
// order of the input does not matter, and that one render is a fixed point, also where it is known
// that nothing exists yet. With room for all of them on each node, all of them take disks.
func TestBesideOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roomy := rapid.Bool().Draw(t, "room for all")
		var texts []string
		if roomy {
			texts = append(texts, generated.Volumes(1), generated.VolumeGroups(1), generated.CStor(1))
		} else {
			if rapid.IntRange(0, 3).Draw(t, "templates") > 0 {
				texts = append(texts, generated.Volumes(rapid.IntRange(1, 3).Draw(t, "volumes a node")), generated.VolumeGroups(rapid.IntRange(1, 2).Draw(t, "disks of a group")))
			}
			if rapid.Bool().Draw(t, "cstor") {
				texts = append(texts, generated.CStor(rapid.IntRange(1, 2).Draw(t, "disks of cStor")))
			}
		}
		if rapid.Bool().Draw(t, "nothing lives") {
			texts = append(texts, generated.NoneLive("volumes"))
		}
		held := map[string]bool{}
		fewest, smallest := 0, 5
		if roomy {
			fewest, smallest = 4, 10
		}
		for n := range rapid.IntRange(1, 4).Draw(t, "count") {
			n++
			texts = append(texts, generated.Node(n, n%2))
			for _, letter := range []string{"b", "c", "d", "e"}[:rapid.IntRange(fewest, 4).Draw(t, "on the node")] {
				texts = append(texts, generated.Device(n, letter, int64(rapid.IntRange(smallest, 40).Draw(t, "size"))<<30))
				if rapid.IntRange(0, 3).Draw(t, "by hand") == 0 && (!roomy || letter == "b") {
					texts = append(texts, generated.VolumeByHand(n, letter))
					held[fmt.Sprintf("n%d-sd%s", n, letter)] = true
				}
			}
		}
		objects := generated.Parse(t, texts...)
		first := generated.Function().Render(fn.Package{Objects: objects})
		if finding.Failed(first.Findings) {
			for _, f := range first.Findings {
				if f.Severity == finding.Error && (roomy || f.Object.Kind != "CStorClusterConfig") {
					t.Fatal(f)
				}
			}
			return
		}
		generated.Unordered(t, objects, first)
		lock := generated.Settled(t, objects, first)
		if kinds := generated.Apart(t, lock, held); roomy && len(kinds) < 3 {
			t.Fatalf("on the disks are %v, and there is room for all", kinds)
		}
		locks := 0
		for _, o := range lock {
			if o.Kind == "VolumeLock" {
				locks++
			}
		}
		if locks != len(held) {
			t.Fatalf("%d locks of %d Volumes", locks, len(held))
		}
	})
}
