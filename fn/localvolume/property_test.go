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
// that nothing lives yet.
func TestBesideOthers(t *testing.T) {
	together := map[int]int{} // by how many kinds took disks
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		if rapid.IntRange(0, 3).Draw(t, "templates") > 0 {
			texts = append(texts, generated.Volumes(rapid.IntRange(1, 3).Draw(t, "volumes a node")), generated.VolumeGroups(rapid.IntRange(1, 2).Draw(t, "disks of a group")))
		}
		if rapid.Bool().Draw(t, "cstor") {
			texts = append(texts, generated.CStor(rapid.IntRange(1, 2).Draw(t, "disks of cStor")))
		}
		if rapid.Bool().Draw(t, "nothing lives") {
			texts = append(texts, generated.NoneLive("volumes"))
		}
		held := map[string]bool{}
		for n := range rapid.IntRange(1, 4).Draw(t, "count") {
			n++
			texts = append(texts, generated.Node(n, n%2))
			for _, letter := range []string{"b", "c", "d", "e"}[:rapid.IntRange(0, 4).Draw(t, "on the node")] {
				texts = append(texts, generated.Device(n, letter, int64(rapid.IntRange(5, 40).Draw(t, "size"))<<30))
				if rapid.IntRange(0, 3).Draw(t, "by hand") == 0 {
					texts = append(texts, generated.VolumeByHand(n, letter))
					held[fmt.Sprintf("n%d-sd%s", n, letter)] = true
				}
			}
		}
		objects := generated.Parse(t, texts...)
		first := generated.Function().Render(fn.Package{Objects: objects})
		if finding.Failed(first.Findings) {
			for _, f := range first.Findings {
				if f.Severity == finding.Error && f.Object.Kind != "CStorClusterConfig" {
					t.Fatal(f)
				}
			}
			return
		}
		generated.Unordered(t, objects, first)
		lock := generated.Settled(t, objects, first)
		together[len(generated.Apart(t, lock, held))]++
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
	if together[3] == 0 {
		t.Error("cStor, Volumes and VolumeGroups were never together")
	}
}
