package localvolume_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

const volumeOnDisk = `apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: raw-%s}
spec: {nodeName: n%d, storageClassName: local, mode: Block, rawBlockDevice: {devicePath: %s}}
`

// TestWithCStor holds that a cStor cluster never takes the disk of a Volume of the package,
// that the order of the input does not matter, and that one render is a fixed point.
func TestWithCStor(t *testing.T) {
	together := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{generated.CStor(rapid.IntRange(1, 2).Draw(t, "disks of cStor"))}
		held := map[string]bool{}
		for n := range rapid.IntRange(1, 3).Draw(t, "count") {
			n++
			texts = append(texts, generated.Node(n, n%2))
			for _, letter := range []string{"b", "c", "d", "e"}[:rapid.IntRange(0, 4).Draw(t, "disks")] {
				texts = append(texts, generated.Device(n, letter, int64(rapid.IntRange(20, 40).Draw(t, "size"))<<30))
				if rapid.IntRange(0, 2).Draw(t, "volume") == 0 {
					name := fmt.Sprintf("n%d-sd%s", n, letter)
					held[name] = true
					texts = append(texts, fmt.Sprintf(volumeOnDisk, name, n, fmt.Sprintf("/dev/disk/by-id/wwn-0x5000%d%s", n, letter)))
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
		locks := 0
		for _, o := range generated.Settled(t, objects, first) {
			switch o.Kind {
			case "VolumeLock":
				locks++
			case "CStorPoolCluster":
				for _, p := range o.Node.Seq("spec", "pools") {
					for _, g := range p.Seq("dataRaidGroups") {
						for _, d := range g.Seq("blockDevices") {
							if held[d.Str("blockDeviceName")] {
								t.Fatalf("%s is that of a Volume", d.Str("blockDeviceName"))
							}
						}
					}
				}
				if len(held) > 0 {
					together++
				}
			}
		}
		if locks != len(held) {
			t.Fatalf("%d locks of %d Volumes", locks, len(held))
		}
	})
	if together == 0 {
		t.Error("cStor and Volumes were never together")
	}
}
