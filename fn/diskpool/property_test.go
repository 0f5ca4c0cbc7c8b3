package diskpool_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

var function = sync.OnceValue(func() *fn.Function { return fn.New(schema.Load(), systems.All()...) })

const node = `apiVersion: v1
kind: Node
metadata:
  name: n%[1]d
  creationTimestamp: "2025-01-0%[1]dT00:00:00Z"
  labels: {kubernetes.io/hostname: n%[1]d, openebs.io/engine: mayastor, topology.kubernetes.io/zone: z%[2]d}
`

const device = `apiVersion: openebs.io/v1alpha1
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
`

const byHand = `apiVersion: openebs.io/v1beta3
kind: DiskPool
metadata: {name: hand-%[1]d, namespace: mayastor, annotations: {poolwright.io/inventory: "true"}}
spec: {node: n%[1]d, disks: [/dev/sd%[2]s]}
`

const cstor = `apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata: {name: prod, namespace: openebs}
spec: {minPoolCount: 1, poolConfig: {raidType: stripe}, diskConfig: {minCount: %d, minCapacity: 10Gi, local: {}}}
`

const set = `apiVersion: poolwright.io/v1alpha1
kind: DiskPoolSet
metadata: {name: %s, namespace: openebs}
spec: {poolsPerNode: %s, maxNodeCount: %d, storageClasses: [{}]}
`

// TestWithCStor holds that sets of pools beside a cStor cluster never take a disk of each
// other or of anybody else, that the order of the input does not matter, and that one
// render is a fixed point, also where it is known that nothing lives yet.
func TestWithCStor(t *testing.T) {
	together := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{
			fmt.Sprintf(set, "fast", rapid.SampledFrom([]string{"1", "2", "all"}).Draw(t, "fast"), rapid.IntRange(1, 4).Draw(t, "nodes")),
			fmt.Sprintf(set, "slow", "1", 2),
		}
		if rapid.Bool().Draw(t, "cstor") {
			texts = append(texts, fmt.Sprintf(cstor, rapid.IntRange(1, 3).Draw(t, "disks of cStor")))
		}
		if rapid.Bool().Draw(t, "nothing lives") {
			texts = append(texts, "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: diskpools}\nitems: []\n")
		}
		held := map[string]bool{}
		for n := range rapid.IntRange(1, 4).Draw(t, "count") {
			n++
			texts = append(texts, fmt.Sprintf(node, n, n%2))
			for _, letter := range []string{"b", "c", "d", "e"}[:rapid.IntRange(0, 4).Draw(t, "disks")] {
				texts = append(texts, fmt.Sprintf(device, n, letter, int64(rapid.IntRange(5, 40).Draw(t, "size"))<<30))
			}
			if rapid.Bool().Draw(t, "by hand") {
				texts = append(texts, fmt.Sprintf(byHand, n, "c"))
				held[fmt.Sprintf("n%d-sdc", n)] = true
			}
		}
		objects := parse(t, texts...)
		first := function().Render(fn.Package{Objects: objects})
		if finding.Failed(first.Findings) {
			if !strings.Contains(fmt.Sprint(first.Findings), "CStorClusterConfig") && !strings.Contains(fmt.Sprint(first.Findings), "replicas") {
				t.Fatal(first.Findings)
			}
			return
		}
		shuffled := function().Render(fn.Package{Objects: rapid.Permutation(objects).Draw(t, "order")})
		if written(shuffled) != written(first) {
			t.Fatalf("in another order:\n%s\nwant\n%s", written(shuffled), written(first))
		}
		lock := parse(t, written(first))
		if again := function().Render(fn.Package{Objects: objects, Output: lock}); written(again) != written(first) {
			t.Fatalf("again:\n%s\nwant\n%s\n%v", written(again), written(first), again.Findings)
		}
		taken, kinds := map[string]string{}, map[string]bool{}
		for _, o := range lock {
			for _, name := range disks(o) {
				if taken[name] != "" || held[name] {
					t.Fatalf("%s is taken by %s and %s", name, taken[name], o.Ref)
				}
				taken[name], kinds[o.Kind] = o.Ref.String(), true
			}
		}
		if len(kinds) == 2 {
			together++
		}
	})
	if together == 0 {
		t.Error("cStor and DiskPools were never together")
	}
}

// disks are the block devices that an object puts data on.
func disks(o *krm.Object) []string {
	var names []string
	switch o.Kind {
	case "DiskPool":
		link := o.Node.Seq("spec", "disks")[0].Value()
		id := strings.TrimPrefix(link, "/dev/disk/by-id/wwn-0x5000")
		names = append(names, "n"+id[:1]+"-sd"+id[1:])
	case "CStorPoolCluster":
		for _, p := range o.Node.Seq("spec", "pools") {
			for _, g := range p.Seq("dataRaidGroups") {
				for _, d := range g.Seq("blockDevices") {
					names = append(names, d.Str("blockDeviceName"))
				}
			}
		}
	}
	return names
}

func parse(t *rapid.T, texts ...string) []*krm.Object {
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

func written(r fn.Result) string {
	texts := make([]string, len(r.Objects))
	for i, o := range r.Objects {
		texts[i] = string(o.Object.Raw)
	}
	return strings.Join(texts, "---\n")
}
