package localvolume_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

const volumeOnDisk = `apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: raw-%s}
spec: {nodeName: n%d, storageClassName: local, mode: Block, rawBlockDevice: {devicePath: %s}}
`

const templateOfDisks = `apiVersion: poolwright.io/v1alpha1
kind: VolumeTemplate
metadata: {name: %s}
spec:
  perNode: %d
  disksPerGroup: %d
  template: {kind: %s, spec: %s}
`

// TestTemplates holds that templates never take a disk of each other, of a person's Volume or
// of a cStor cluster, that the order of the input does not matter, and that one render is a
// fixed point, also where it is known that nothing lives yet.
func TestTemplates(t *testing.T) {
	together := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{
			fmt.Sprintf(templateOfDisks, "disks", rapid.IntRange(1, 3).Draw(t, "disks"), 1, "Volume", "{storageClassName: local, mode: Block, rawBlockDevice: {}}"),
			fmt.Sprintf(templateOfDisks, "fast", 1, rapid.IntRange(1, 2).Draw(t, "disks of a group"), "VolumeGroup", "{}"),
		}
		if rapid.Bool().Draw(t, "cstor") {
			texts = append(texts, generated.CStor(1))
		}
		if rapid.Bool().Draw(t, "nothing lives") {
			texts = append(texts, "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: volumes}\nitems: []\n")
		}
		taken := map[string]string{}
		for n := range rapid.IntRange(1, 4).Draw(t, "count") {
			n++
			texts = append(texts, generated.Node(n, n%2))
			for _, letter := range []string{"b", "c", "d", "e"}[:rapid.IntRange(0, 4).Draw(t, "on the node")] {
				texts = append(texts, generated.Device(n, letter, int64(rapid.IntRange(5, 40).Draw(t, "size"))<<30))
				if rapid.IntRange(0, 3).Draw(t, "by hand") == 0 {
					name := fmt.Sprintf("n%d-sd%s", n, letter)
					taken[fmt.Sprintf("S%d%s", n, letter)] = "Volume raw-" + name
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
		kinds := map[string]bool{}
		for _, o := range generated.Settled(t, objects, first) {
			for _, serial := range serials(o) {
				if taken[serial] != "" {
					t.Fatalf("disk %s is taken by %s and %s", serial, taken[serial], o.Ref)
				}
				taken[serial], kinds[o.Kind] = o.Ref.String(), true
			}
		}
		if kinds["Volume"] && kinds["VolumeGroup"] {
			together++
		}
	})
	if together == 0 {
		t.Error("both templates were never together")
	}
}

// serials are those of the disks that a rendered object is on.
func serials(o *krm.Object) []string {
	var found []string
	spec := o.Node.Get("spec")
	switch o.Kind {
	case "Volume":
		found = append(found, spec.Str("rawBlockDevice", "disk", "serial"))
	case "VolumeGroup":
		for _, of := range spec.Seq("devices") {
			found = append(found, of.Str("serial"))
		}
	case "CStorPoolCluster":
		for _, p := range spec.Seq("pools") {
			for _, g := range p.Seq("dataRaidGroups") {
				for _, d := range g.Seq("blockDevices") {
					found = append(found, strings.NewReplacer("n", "S", "-sd", "").Replace(d.Str("blockDeviceName")))
				}
			}
		}
	}
	return found
}

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
