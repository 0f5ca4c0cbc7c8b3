// Package generated is what the tests on generated packages of several systems share: the
// function with all of them, nodes and disks as text, and reading and writing.
package generated

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Function is the one with every system, made once.
var Function = sync.OnceValue(func() *fn.Function { return fn.New(schema.Load(), systems.All()...) })

// Node is node n<n> in a zone, with the label that Mayastor asks for.
func Node(n, zone int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Node
metadata:
  name: n%[1]d
  creationTimestamp: "2025-01-0%[1]dT00:00:00Z"
  labels: {kubernetes.io/hostname: n%[1]d, openebs.io/engine: mayastor, topology.kubernetes.io/zone: z%[2]d}
`, n, zone)
}

// Device is BlockDevice n<n>-sd<letter>, an empty disk of a size in bytes.
func Device(n int, letter string, size int64) string {
	return fmt.Sprintf(`apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: n%[1]d-sd%[2]s
  namespace: openebs
  labels: {kubernetes.io/hostname: n%[1]d}
spec:
  path: /dev/sd%[2]s
  capacity: {storage: %[3]d}
  details: {deviceType: disk, driveType: SSD, serial: S%[1]d%[2]s}
  devlinks:
  - {kind: by-id, links: [/dev/disk/by-id/ata-%[1]d%[2]s, /dev/disk/by-id/wwn-0x5000%[1]d%[2]s]}
  filesystem: {}
  partitioned: "No"
status: {claimState: Unclaimed, state: Active}
`, n, letter, size)
}

// PoolByHand is a live DiskPool of a person on disk sd<letter> of node n<n>.
func PoolByHand(n int, letter string) string {
	return fmt.Sprintf(`apiVersion: openebs.io/v1beta3
kind: DiskPool
metadata: {name: hand-%[1]d, namespace: mayastor, annotations: {poolwright.io/inventory: "true"}}
spec: {node: n%[1]d, disks: [/dev/sd%[2]s]}
`, n, letter)
}

// CStor is a cluster of stripes of some disks.
func CStor(disks int) string {
	return fmt.Sprintf(`apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata: {name: prod, namespace: openebs}
spec: {minPoolCount: 1, poolConfig: {raidType: stripe}, diskConfig: {minCount: %d, minCapacity: 10Gi, local: {}}}
`, disks)
}

// VolumeByHand is a Volume of a person on disk sd<letter> of node n<n>.
func VolumeByHand(n int, letter string) string {
	return fmt.Sprintf(`apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: hand-n%[1]d-sd%[2]s}
spec: {nodeName: n%[1]d, storageClassName: local, mode: Block, rawBlockDevice: {devicePath: /dev/disk/by-id/wwn-0x5000%[1]d%[2]s}}
`, n, letter)
}

// Volumes is a VolumeTemplate of whole disks, so many a node.
func Volumes(perNode int) string {
	return fmt.Sprintf(`apiVersion: poolwright.io/v1alpha1
kind: VolumeTemplate
metadata: {name: volumes}
spec: {perNode: %d, template: {kind: Volume, spec: {storageClassName: local, mode: Block, rawBlockDevice: {}}}}
`, perNode)
}

// VolumeGroups is a VolumeTemplate of groups, each of so many disks.
func VolumeGroups(disks int) string {
	return fmt.Sprintf(`apiVersion: poolwright.io/v1alpha1
kind: VolumeTemplate
metadata: {name: groups}
spec: {disksPerGroup: %d, template: {kind: VolumeGroup, spec: {}}}
`, disks)
}

// NoneLive says that nothing of a kind, by its plural, is in the cluster.
func NoneLive(plural string) string {
	return "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: " + plural + "}\nitems: []\n"
}

// Disks are the block devices that an object puts data on, by name.
func Disks(o *krm.Object) []string {
	var names []string
	link := func(text string) { // of a link, or a serial number
		id := text[strings.LastIndexByte(text, '/')+1:]
		for _, prefix := range []string{"wwn-0x5000", "ata-", "S"} {
			id = strings.TrimPrefix(id, prefix)
		}
		names = append(names, "n"+id[:1]+"-sd"+id[1:])
	}
	spec := o.Node.Get("spec")
	switch o.Kind {
	case "DiskPool":
		link(spec.Seq("disks")[0].Value())
	case "CephCluster":
		for _, n := range spec.Seq("storage", "nodes") {
			for _, d := range n.Seq("devices") {
				link(d.Str("name"))
			}
		}
	case "CStorPoolCluster":
		for _, p := range spec.Seq("pools") {
			for _, g := range p.Seq("dataRaidGroups") {
				for _, d := range g.Seq("blockDevices") {
					names = append(names, d.Str("blockDeviceName"))
				}
			}
		}
	case "Volume":
		link(spec.Str("rawBlockDevice", "disk", "serial"))
	case "VolumeGroup":
		for _, d := range spec.Seq("devices") {
			link(d.Str("serial"))
		}
	}
	return names
}

// Apart holds that no two objects are on one disk, nor on one that is held by others, and lists
// the kinds that are on any.
func Apart(t *rapid.T, objects []*krm.Object, held map[string]bool) (kinds map[string]bool) {
	t.Helper()
	taken := map[string]string{}
	kinds = map[string]bool{}
	for _, o := range objects {
		for _, name := range Disks(o) {
			if taken[name] != "" || held[name] {
				t.Fatalf("%s is taken by %s and %s", name, cmp.Or(taken[name], "somebody else"), o.Ref)
			}
			taken[name], kinds[o.Kind] = o.Ref.String(), true
		}
	}
	return kinds
}

// Parse reads the documents, each text a file of its own.
func Parse(t *rapid.T, texts ...string) []*krm.Object {
	t.Helper()
	var all []*krm.Object
	for i, text := range texts {
		objects, err := krm.Parse(&document.Source{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}

// Written is what a render writes.
func Written(r fn.Result) string {
	texts := make([]string, len(r.Objects))
	for i, o := range r.Objects {
		texts[i] = string(o.Object.Raw)
	}
	return strings.Join(texts, "---\n")
}

// Unordered holds that the order of the objects does not matter.
func Unordered(t *rapid.T, objects []*krm.Object, first fn.Result) {
	t.Helper()
	shuffled := Function().Render(fn.Package{Objects: rapid.Permutation(objects).Draw(t, "order")})
	if Written(shuffled) != Written(first) || finding.Failed(shuffled.Findings) != finding.Failed(first.Findings) {
		t.Fatalf("in another order:\n%s\nwant\n%s", Written(shuffled), Written(first))
	}
}

// Settled holds that a render with the lock of the first, which it returns, changes nothing.
func Settled(t *rapid.T, objects []*krm.Object, first fn.Result) (lock []*krm.Object) {
	t.Helper()
	lock = Parse(t, Written(first))
	if again := Function().Render(fn.Package{Objects: objects, Output: lock}); Written(again) != Written(first) {
		t.Fatalf("again:\n%s\nwant\n%s\n%v", Written(again), Written(first), again.Findings)
	}
	return lock
}
