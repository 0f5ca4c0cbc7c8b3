package fn

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/tool"
)

// TestMain asks rapid for a thousand checks a test, or its share of them, of which a short run does a tenth.
// -rapid.checks on the command line stands.
func TestMain(m *testing.M) {
	checks := strconv.Itoa(tool.Share(1000))
	if slices.Contains(os.Args, "-test.short=true") {
		checks = "500" // rapid itself does a fifth of them
	}
	debug.SetGCPercent(400) // much garbage, of which little is in use: a quarter of the processor time
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// world is a generated cluster and the specs for it.
type world struct {
	nodes    []*krm.Object
	devices  []*krm.Object
	claims   []*krm.Object
	specs    []*krm.Object
	complete map[string][]byte // completed specs by name
}

func (w *world) facts() []*krm.Object { return slices.Concat(w.nodes, w.devices, w.claims) }

const gi = int64(1) << 30

func drawWorld(t *rapid.T) *world {
	w := &world{complete: map[string][]byte{}}
	zones := rapid.IntRange(0, 3).Draw(t, "zones")
	count := rapid.IntRange(1, 7).Draw(t, "nodes")
	for i := range count {
		w.drawNode(t, fmt.Sprintf("node-%d", i), zones)
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "specs") {
		w.drawSpec(t, fmt.Sprintf("config-%d", i))
	}
	return w
}

func (w *world) drawNode(t *rapid.T, name string, zones int) {
	labels := map[string]any{"kubernetes.io/hostname": name, "pool": rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "pool")}
	if rapid.IntRange(0, 9).Draw(t, "host") == 0 {
		labels["kubernetes.io/hostname"] = "host-of-" + name
	}
	if zones > 0 {
		labels["topology.kubernetes.io/zone"] = fmt.Sprintf("zone-%d", rapid.IntRange(1, zones).Draw(t, "zone"))
	}
	meta := map[string]any{"name": name, "uid": "uid-" + name, "labels": labels}
	if rapid.IntRange(0, 9).Draw(t, "age known") > 0 {
		meta["creationTimestamp"] = fmt.Sprintf("2025-01-%02dT00:00:00Z", rapid.IntRange(1, 9).Draw(t, "day"))
	}
	spec := map[string]any{}
	switch rapid.IntRange(0, 9).Draw(t, "state") {
	case 0:
		spec["unschedulable"] = true
	case 1:
		spec["taints"] = []any{map[string]any{"key": "dedicated", "effect": "NoSchedule"}}
	}
	w.nodes = append(w.nodes, object(t, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec}))
	for i := range rapid.IntRange(0, 8).Draw(t, "disks") {
		w.drawDevice(t, name, labels["kubernetes.io/hostname"].(string), i)
	}
}

func (w *world) drawDevice(t *rapid.T, node, host string, i int) {
	name := fmt.Sprintf("bd-%s-%d", node, i)
	status := map[string]any{"state": "Active", "claimState": "Unclaimed"}
	labels := map[string]any{"kubernetes.io/hostname": host}
	details := map[string]any{
		"deviceType": "disk",
		"driveType":  rapid.SampledFrom([]string{"HDD", "HDD", "SSD"}).Draw(t, "drive"),
		"serial":     "serial-" + name,
	}
	spec := map[string]any{
		"capacity":       map[string]any{"storage": rapid.SampledFrom([]int64{50, 100, 100, 100, 200, 400}).Draw(t, "size") * gi, "logicalSectorSize": 512},
		"details":        details,
		"devlinks":       []any{map[string]any{"kind": "by-id", "links": []any{"/dev/disk/by-id/wwn-" + name}}},
		"nodeAttributes": map[string]any{"nodeName": node},
		"path":           fmt.Sprintf("/dev/disk%d", i),
		"partitioned":    "No",
	}
	switch rapid.IntRange(0, 24).Draw(t, "fault") {
	case 0:
		status["state"] = "Inactive"
	case 1:
		status["claimState"] = "Claimed"
	case 2:
		spec["filesystem"] = map[string]any{"fsType": "ext4"}
	case 3:
		labels["openebs.io/block-device-tag"] = "backup"
	case 4:
		spec["partitioned"] = "Yes"
	case 5:
		details["serial"] = "twin"
	case 6:
		status["claimState"] = "Claimed"
		spec["claimRef"] = map[string]any{"name": "bdc-" + name}
		w.claims = append(w.claims, object(t, map[string]any{
			"apiVersion": "openebs.io/v1alpha1", "kind": "BlockDeviceClaim",
			"metadata": map[string]any{"name": "bdc-" + name, "namespace": "openebs", "labels": map[string]any{
				"openebs.io/cstor-pool-cluster": rapid.SampledFrom([]string{"config-0", "other"}).Draw(t, "claimed by"),
			}},
			"spec": map[string]any{"blockDeviceName": name},
		}))
	}
	w.devices = append(w.devices, object(t, map[string]any{
		"apiVersion": "openebs.io/v1alpha1", "kind": "BlockDevice",
		"metadata": map[string]any{"name": name, "namespace": "openebs", "labels": labels},
		"spec":     spec, "status": status,
	}))
}

func (w *world) drawSpec(t *rapid.T, name string) {
	raid, size, groups := drawShape(t)
	disk := map[string]any{"minCount": size * groups, "groupSize": size, "minCapacity": "100Gi"}
	pool := map[string]any{"raidType": raid, "spare": rapid.IntRange(0, 2).Draw(t, "spare")}
	if rapid.Bool().Draw(t, "local") {
		local := map[string]any{}
		if rapid.Bool().Draw(t, "select") {
			local["blockDeviceSelector"] = map[string]any{"selectorTerms": []any{map[string]any{
				"matchFields": []any{map[string]any{"key": "spec.details.driveType", "operator": "In", "values": []any{"HDD"}}},
			}}}
		}
		disk["local"] = local
		if rapid.Bool().Draw(t, "cache") {
			pool["writeCache"] = map[string]any{"auto": true, "count": 1, "raidType": "stripe"}
		}
	} else {
		disk["externalProvisioner"] = map[string]any{"csiAttacherName": "csi.example.com", "storageClassName": "fast"}
		if rapid.Bool().Draw(t, "cache") {
			pool["writeCache"] = map[string]any{"count": 2, "raidType": "mirror", "capacity": "20Gi", "externalProvisioner": disk["externalProvisioner"]}
		}
	}
	spec := map[string]any{"diskConfig": disk, "poolConfig": pool}
	if rapid.Bool().Draw(t, "min given") {
		spec["minPoolCount"] = rapid.IntRange(1, 4).Draw(t, "min")
	}
	if rapid.Bool().Draw(t, "selected") {
		spec["allowedNodes"] = map[string]any{"nodeSelectorTerms": []any{map[string]any{"matchLabels": map[string]any{"pool": "a"}}}}
	}
	largest := size * groups
	if cache, given := pool["writeCache"].(map[string]any); given {
		largest += cache["count"].(int)
	}
	if rapid.IntRange(0, 2).Draw(t, "pools listed") == 0 {
		largest = w.drawListed(t, spec, largest)
	}
	if limit := rapid.IntRange(0, 4).Draw(t, "pools in a CStorPoolCluster"); limit > 0 {
		pool["maxDisksPerCluster"] = limit*largest + rapid.IntRange(0, largest-1).Draw(t, "room")
	}
	content := map[string]any{
		"apiVersion": "dao.mayadata.io/v1alpha1", "kind": "CStorClusterConfig",
		"metadata": map[string]any{"name": name, "namespace": "openebs"}, "spec": spec,
	}
	w.specs = append(w.specs, object(t, content))
	completed, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	w.complete[name] = completed
}

func object(t rapid.TB, content map[string]any) *krm.Object {
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	src := &document.Source{Name: "generated.json", Data: text}
	docs, err := document.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewObject(src, &docs[0].Node)
}

// render renders the world. That the completed specs are what CUE makes of them is a test
// of its own.
func (w *world) render(facts, before []*krm.Object) Result {
	return renderCompleted(slices.Concat(w.specs, facts), before, w.complete)
}

// text is the whole output as it would be written.
func text(r Result) string {
	var b strings.Builder
	for _, o := range r.Objects {
		b.WriteString("--- " + o.Path + "\n")
		b.Write(o.Object.Raw)
	}
	return b.String()
}

// reread is the output as the next render finds it.
func reread(t rapid.TB, r Result) []*krm.Object {
	var objects []*krm.Object
	for _, o := range r.Objects {
		src := &document.Source{Name: o.Path, Data: o.Object.Raw}
		docs, err := document.Parse(src)
		if err != nil || len(docs) != 1 {
			t.Fatalf("rendered %s: %d documents, %v", o.Path, len(docs), err)
		}
		again := krm.NewObject(src, &docs[0].Node)
		again.Raw = o.Object.Raw
		objects = append(objects, again)
	}
	return objects
}

// grow lets the cluster do its part: claims are bound, disks attached and seen.
func (w *world) grow(t rapid.TB, r Result) []*krm.Object {
	var grown []*krm.Object
	hosts := map[string]string{}
	for _, n := range w.nodes {
		hosts[n.Name] = n.Label(inventory.LabelHostname)
	}
	for _, o := range r.Objects {
		if o.Object.Kind != "PersistentVolumeClaim" {
			continue
		}
		name := o.Object.Name
		node := o.Object.Annotation("volume.kubernetes.io/selected-node")
		grown = append(grown,
			object(t, map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolumeClaim",
				"metadata": map[string]any{"name": name, "namespace": "openebs", "annotations": map[string]any{"poolwright.io/inventory": "true"}},
				"spec":     map[string]any{"volumeName": "pv-" + name}, "status": map[string]any{"phase": "Bound"},
			}),
			object(t, map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": "pv-" + name},
				"spec": map[string]any{"csi": map[string]any{"driver": "csi.example.com", "volumeHandle": "handle-" + name}},
			}),
			object(t, map[string]any{
				"apiVersion": "openebs.io/v1alpha1", "kind": "BlockDevice",
				"metadata": map[string]any{"name": "bd-" + name, "namespace": "openebs", "labels": map[string]any{"kubernetes.io/hostname": hosts[node]}},
				"spec": map[string]any{
					"capacity": map[string]any{"storage": o.Object.Node.Str("spec", "resources", "requests", "storage")}, "details": map[string]any{"deviceType": "disk"},
					"devlinks": []any{map[string]any{"kind": "by-id", "links": []any{"/dev/disk/by-id/scsi-handle-" + name}}},
				},
				"status": map[string]any{"state": "Active", "claimState": "Unclaimed"},
			}),
		)
	}
	return grown
}

// TestRules holds the rules of ARCHITECTURE.md on generated clusters.
func TestRules(t *testing.T) {
	const parts = 10
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			checkRules(t)
		})
	}
}

func checkRules(t *testing.T) {
	rendered, pools, listed := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		facts := w.facts()
		first := w.render(facts, nil)
		shuffled := slices.Clone(facts)
		rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "shuffle"))).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		if again := w.render(shuffled, nil); text(again) != text(first) || !slices.Equal(again.Findings, first.Findings) {
			t.Fatalf("the order of the input changes the output:\n%s\n%s", text(first), text(again))
		}
		if finding.Failed(first.Findings) {
			return
		}
		rendered++
		facts = append(facts, w.grow(t, first)...)
		second := w.render(facts, reread(t, first))
		if finding.Failed(second.Findings) {
			t.Fatalf("a cluster that grew as asked gives errors: %v", second.Findings)
		}
		lock := reread(t, second)
		if again := w.render(facts, lock); text(again) != text(second) {
			t.Fatalf("rendering twice changes the output:\n%s\n%s", text(second), text(again))
		}
		pools += checkPools(t, w, facts, second)
		listed += checkListed(t, w, facts, second)
		checkAdmitted(t, facts, second)
		checkSplit(t, w, second)
		checkAddition(t, w, facts, lock, second)
		checkUnused(t, w, facts, lock, second)
		checkEdits(t, w, facts, lock, second)
	})
	t.Logf("%d clusters rendered, %d pools checked, %d of them listed", rendered, pools, listed)
	if rendered == 0 || pools == 0 || listed == 0 {
		t.Fatal("the generator made nothing to check")
	}
}

// checkSplit holds that no CStorPoolCluster of a new config has more disks than it may, that a
// node has one pool, and that at most one of them has fewer pools than three, if three fit.
func checkSplit(t *rapid.T, w *world, r Result) {
	few, hosts, lived := map[string]int{}, map[string]bool{}, adopted(r)
	for _, o := range r.Objects {
		if o.Object.Kind != "CStorPoolCluster" {
			continue
		}
		id, _ := krm.ParseOwner(o.Object.Owner())
		var config struct {
			Spec struct {
				Pools      []any
				DiskConfig struct{ MinCount int }
				PoolConfig struct {
					MaxDisksPerCluster int
					WriteCache         struct{ Count int }
				}
			}
		}
		if err := json.Unmarshal(w.complete[id.Name], &config); err != nil {
			t.Fatal(err)
		}
		spec, c := &config.Spec, pool.DecodeCluster(o.Object)
		limit := spec.PoolConfig.MaxDisksPerCluster
		lives := slices.ContainsFunc(c.Pools, func(p *pool.Pool) bool { return lived[id.Name+" "+nodeOf(w, p.Hostname)] })
		if disks := len(c.Disks()); limit > 0 && disks > limit && !lives {
			t.Fatalf("%s has %d disks of at most %d", c.Name, disks, limit)
		}
		// A pool that was there before the limit may be so large that there is no room for three,
		// pools that are listed may not all be of one size, and one may lack the write cache for
		// which there was room.
		size := spec.DiskConfig.MinCount + spec.PoolConfig.WriteCache.Count
		planned := max(len(c.Disks()), len(c.Pools)*size)
		if len(spec.Pools) == 0 && len(c.Pools) < 3 && (limit == 0 || planned+size <= limit) {
			if few[id.Name]++; few[id.Name] > 1 {
				t.Fatalf("two CStorPoolClusters of %s have fewer than three pools, and room for more:\n%s", id.Name, text(r))
			}
		}
		for _, p := range c.Pools {
			if at := id.Name + " on " + p.Hostname; hosts[at] {
				t.Fatalf("%s has two pools", at)
			} else {
				hosts[at] = true
			}
		}
	}
}

// checkAddition adds a node and a disk: no earlier choice may change.
func checkAddition(t *rapid.T, w *world, facts, lock []*krm.Object, before Result) {
	more := &world{}
	more.drawNode(t, "another", 3)
	old := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "gets a disk")]
	more.drawDevice(t, old.Name, old.Label(inventory.LabelHostname), 50)
	more.claims = nil // one of the cluster's own would say that a pool is there
	after := w.render(slices.Concat(facts, more.facts()), lock)
	if finding.Failed(after.Findings) {
		t.Fatalf("adding a node and a disk gives errors: %v", after.Findings)
	}
	now := uses(after)
	for device, where := range uses(before) {
		if now[device] != where {
			t.Fatalf("%s was %s and is now %q", device, where, now[device])
		}
	}
	for _, node := range planned(before) {
		if !slices.Contains(planned(after), node) {
			t.Fatalf("%s left the plan", node)
		}
	}
}

// checkUnused takes away a node that holds nothing: nothing may change. A node
// whose disks are awaited is not unused, and neither is one with the twin of a
// disk elsewhere, which is refused because of it.
func checkUnused(t *rapid.T, w *world, facts, lock []*krm.Object, before Result) {
	if slices.ContainsFunc(before.Findings, func(f finding.Finding) bool { return f.Field == "spec.minPoolCount" }) {
		return
	}
	twin := func(host string) bool {
		return slices.ContainsFunc(w.devices, func(d *krm.Object) bool {
			return d.Label(inventory.LabelHostname) == host && d.Node.Str("spec", "details", "serial") == "twin"
		})
	}
	for _, n := range w.nodes {
		if twin(n.Label(inventory.LabelHostname)) || slices.ContainsFunc(planned(before), func(p string) bool { return strings.HasSuffix(p, "/"+n.Name) }) {
			continue
		}
		fewer := slices.DeleteFunc(slices.Clone(facts), func(o *krm.Object) bool {
			return o == n || o.Kind == "BlockDevice" && o.Label(inventory.LabelHostname) == n.Label(inventory.LabelHostname)
		})
		after := w.render(fewer, lock)
		if !finding.Failed(after.Findings) && text(after) != text(before) {
			t.Fatalf("removing the unused node %s changes the output:\n%s\n%s", n.Name, text(before), text(after))
		}
		return
	}
}

func planned(r Result) []string {
	var names []string
	for _, o := range r.Objects {
		if o.Object.Kind == "CStorClusterPlan" {
			for _, n := range o.Object.Node.Seq("spec", "nodes") {
				names = append(names, o.Object.Name+"/"+n.Str("name"))
			}
		}
	}
	return names
}

// uses says what each block device is used for.
func uses(r Result) map[string]string {
	used := map[string]string{}
	for _, o := range r.Objects {
		if o.Object.Kind != "CStorPoolCluster" {
			continue
		}
		for _, p := range o.Object.Node.Seq("spec", "pools") {
			for _, field := range []string{"dataRaidGroups", "writeCacheRaidGroups"} {
				for g, group := range p.Seq(field) {
					for d, device := range group.Seq("blockDevices") {
						used[device.Str("blockDeviceName")] = fmt.Sprintf("%s %s %s %d.%d", o.Object.Name, p.Str("nodeSelector", inventory.LabelHostname), field, g, d)
					}
				}
			}
		}
	}
	return used
}
