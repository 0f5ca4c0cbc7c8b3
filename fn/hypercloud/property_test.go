package hypercloud_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

const cephByHand = `apiVersion: ceph.rook.io/v1
kind: CephCluster
metadata: {name: hand-%[1]d, namespace: ceph-%[1]d, annotations: {poolwright.io/inventory: "true"}}
spec: {storage: {useAllDevices: true, nodes: [{name: n%[1]d}]}}
`

const set = `apiVersion: poolwright.io/v1alpha1
kind: DiskPoolSet
metadata: {name: fast, namespace: openebs}
spec: {poolsPerNode: %s, maxNodeCount: %d}
`

const storage = `apiVersion: hcs.tmax.io/v1alpha1
kind: HyperCloudStorage
metadata: {name: hcs, namespace: rook-ceph, annotations: {%s}}
spec:
  storage:
    replicas: 1
%s
  ceph: {mons: 1, mgrs: 1}
  block: [{name: one, allowUnsafe: true}]
  filesystem: []
  cdi: {}
`

// never is what no render may write.
var never = regexp.MustCompile(`cleanupPolicy|confirmation|wipeDevicesFromOtherClusters|useAllNodes: true|useAllDevices: true|deviceFilter|devicePathFilter`)

// expected are the errors that a generated package may have.
var expected = regexp.MustCompile(`CStorClusterConfig|cannot be taken|is also (held|named) by|may not be used|no disk is left`)

// TestBesideOthers holds that cStor, DiskPools, Ceph and local volumes on the same nodes never
// take a disk of each other or of anybody else, that the order of the input does not matter, and that one
// render is a fixed point.
func TestBesideOthers(t *testing.T) {
	together, volumes := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{
			fmt.Sprintf(set, rapid.SampledFrom([]string{"1", "2", "all"}).Draw(t, "pools"), rapid.IntRange(1, 4).Draw(t, "nodes")),
			generated.CStor(rapid.IntRange(1, 3).Draw(t, "disks of cStor")),
		}
		if rapid.IntRange(0, 2).Draw(t, "volumes") > 0 {
			texts = append(texts, generated.Volumes(1), generated.VolumeGroups(1))
		}
		held := map[string]bool{}
		var named []string
		for n := range rapid.IntRange(1, 4).Draw(t, "count") {
			n++
			texts = append(texts, generated.Node(n, n%2))
			letters := []string{"b", "c", "d", "e", "f", "g", "h"}[:rapid.SampledFrom([]int{0, 1, 4, 6, 7, 7}).Draw(t, "disks")]
			var devices []string
			for _, letter := range letters {
				texts = append(texts, generated.Device(n, letter, int64(rapid.IntRange(5, 40).Draw(t, "size"))<<30))
				if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
					devices = append(devices, rapid.SampledFrom([]string{"/dev/sd" + letter, fmt.Sprintf("/dev/disk/by-id/ata-%d%s", n, letter)}).Draw(t, "path"))
				}
			}
			switch rapid.IntRange(0, 9).Draw(t, "by hand") {
			case 0:
				texts = append(texts, generated.PoolByHand(n, "c"))
				held[fmt.Sprintf("n%d-sdc", n)] = true
			case 2:
				if len(letters) > 0 {
					texts = append(texts, generated.VolumeByHand(n, "b"))
					held[fmt.Sprintf("n%d-sdb", n)] = true
				}
			case 1:
				texts = append(texts, fmt.Sprintf(cephByHand, n))
				for _, letter := range letters {
					held[fmt.Sprintf("n%d-sd%s", n, letter)] = true
				}
			}
			if len(devices) > 0 {
				named = append(named, fmt.Sprintf("    - {hostname: n%d, devices: [%s]}", n, strings.Join(devices, ", ")))
			}
		}
		texts = append(texts, fmt.Sprintf(storage, "", disksText(t, named)))
		objects := generated.Parse(t, texts...)
		first := generated.Function().Render(fn.Package{Objects: objects})
		if finding.Failed(first.Findings) {
			for _, f := range first.Findings {
				if f.Severity == finding.Error && !expected.MatchString(f.String()) {
					t.Fatal(first.Findings)
				}
			}
			return
		}
		generated.Unordered(t, objects, first)
		lock := generated.Settled(t, objects, first)
		for _, o := range lock {
			if text := never.FindString(generated.Written(fn.Result{Objects: []fn.Rendered{{Object: o}}})); text != "" {
				t.Fatalf("%s has %s", o.Ref, text)
			}
		}
		kinds := generated.Apart(t, lock, held)
		if kinds["CStorPoolCluster"] && kinds["DiskPool"] && kinds["CephCluster"] {
			together++
		}
		if (kinds["Volume"] || kinds["VolumeGroup"]) && len(kinds) >= 3 {
			volumes++
		}
	})
	if together == 0 || volumes == 0 {
		t.Errorf("cStor, DiskPools and Ceph were together %d times, local volumes and two others %d times", together, volumes)
	}
}

// disksText says of a spec which disks it wants.
func disksText(t *rapid.T, named []string) string {
	if len(named) == 0 || rapid.Bool().Draw(t, "selects") {
		return "    deviceSelector: " + rapid.SampledFrom([]string{"{}", "{selectorTerms: [{matchFields: {spec.path: [/dev/sdb, /dev/sde]}}]}"}).Draw(t, "selector")
	}
	return "    nodes:\n" + strings.Join(named, "\n")
}

// TestNothingLeavesUnasked holds that a disk of the cluster leaves it only where the spec
// allows it, of one host a render, and while Ceph is healthy; whatever else changes.
func TestNothingLeavesUnasked(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		var facts, all, some, consent []string
		allowed := map[string]bool{}
		for n := 1; n <= 3; n++ {
			facts = append(facts, generated.Node(n, n%2))
			var before, after []string
			for _, letter := range []string{"b", "c"} {
				facts = append(facts, generated.Device(n, letter, 20<<30))
				link := fmt.Sprintf("/dev/disk/by-id/wwn-0x5000%d%s", n, letter)
				before = append(before, link)
				if rapid.Bool().Draw(t, "stays") {
					after = append(after, link)
				}
				if rapid.Bool().Draw(t, "allowed") {
					allowed[link] = true
					consent = append(consent, fmt.Sprintf("CephCluster/hcs/n%d/wwn-0x5000%d%s", n, n, letter))
				}
			}
			all = append(all, fmt.Sprintf("    - {hostname: n%d, devices: [%s]}", n, strings.Join(before, ", ")))
			if len(after) > 0 {
				some = append(some, fmt.Sprintf("    - {hostname: n%d, devices: [%s]}", n, strings.Join(after, ", ")))
			}
		}
		if len(some) == 0 {
			return
		}
		lock := generated.Function().Render(fn.Package{Objects: generated.Parse(t, append(slices.Clone(facts), fmt.Sprintf(storage, "", "    nodes:\n"+strings.Join(all, "\n")))...)})
		output := generated.Parse(t, generated.Written(lock))
		health := rapid.SampledFrom([]string{"HEALTH_OK", "HEALTH_WARN", ""}).Draw(t, "health")
		live := ""
		for _, o := range output {
			if o.Kind == "CephCluster" {
				live = string(o.Raw) + "status: {ceph: {health: " + health + "}}\n"
			}
		}
		annotation := ""
		if len(consent) > 0 {
			annotation = `poolwright.io/allow-removal: "` + strings.Join(consent, ",") + `"`
		}
		objects := generated.Parse(t, append(facts, fmt.Sprintf(storage, annotation, "    nodes:\n"+strings.Join(some, "\n")))...)
		pkg := fn.Package{Objects: append(objects, fact(t, live)), Output: output}
		next := generated.Function().Render(pkg)
		if finding.Failed(next.Findings) {
			t.Fatal(next.Findings)
		}
		text, cluster, hosts := generated.Written(next), "", map[string]bool{}
		for _, o := range generated.Parse(t, text) {
			if o.Kind == "CephCluster" {
				cluster = string(o.Raw)
			}
		}
		for n := 1; n <= 3; n++ {
			for _, letter := range []string{"b", "c"} {
				link := fmt.Sprintf("/dev/disk/by-id/wwn-0x5000%d%s", n, letter)
				if strings.Contains(cluster, link) {
					continue
				}
				if hosts[fmt.Sprint(n)] = true; !allowed[link] || health != "HEALTH_OK" {
					t.Fatalf("%s left: allowed %v, health %q", link, allowed[link], health)
				}
			}
		}
		if len(hosts) > 1 {
			t.Fatalf("disks of %d hosts left", len(hosts))
		}
		left += len(hosts)
		pkg.Output = generated.Parse(t, text)
		if again := generated.Function().Render(pkg); generated.Written(again) != text {
			t.Fatalf("again:\n%s\nwant\n%s\n%v", generated.Written(again), text, again.Findings)
		}
	})
	if left == 0 {
		t.Error("no disk ever left")
	}
}

// fact is a live object.
func fact(t *rapid.T, text string) *krm.Object {
	o := generated.Parse(t, text)[0]
	o.SetAnnotation(krm.AnnotationInventory, "true")
	return o
}
