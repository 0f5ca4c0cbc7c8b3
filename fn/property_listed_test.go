package fn

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// drawShape draws a RAID type, the size of its groups and how many there are.
func drawShape(t *rapid.T) (raid string, size, groups int) {
	raid, groups = rapid.SampledFrom([]string{"stripe", "mirror", "raidz", "raidz2"}).Draw(t, "raid"), 1
	sizes := map[string][]int{"stripe": {1, 2, 3}, "mirror": {2, 4}, "raidz": {3, 5}, "raidz2": {6}}[raid]
	size = rapid.SampledFrom(sizes).Draw(t, "group size")
	if raid != "stripe" {
		groups = rapid.IntRange(1, 2).Draw(t, "groups")
	}
	return raid, size, groups
}

// drawListed lists some of the nodes in a completed spec, by name or label, with or without
// values of their own. It returns how many disks the largest pool has.
func (w *world) drawListed(t *rapid.T, spec map[string]any, largest int) int {
	var pools []any
	for i := range w.nodes {
		n := w.nodes[i]
		able := n.Node.Get("spec", "unschedulable") == nil && n.Node.Get("spec", "taints") == nil
		if !able && rapid.IntRange(0, 19).Draw(t, "refused") > 0 || rapid.IntRange(0, 2).Draw(t, "listed") == 0 {
			continue
		}
		entry, disks := drawEntry(t, n, spec)
		pools, largest = append(pools, entry), max(largest, disks)
	}
	if len(pools) == 0 {
		return largest
	}
	spec["pools"] = rapid.Permutation(pools).Draw(t, "order")
	if minimum, _ := spec["minPoolCount"].(int); minimum <= len(pools) && rapid.Bool().Draw(t, "only listed") {
		spec["onlyListed"] = true
	}
	return largest
}

// drawEntry draws the entry of a node in spec.pools, and returns how many disks its pool has.
func drawEntry(t *rapid.T, n *krm.Object, spec map[string]any) (entry map[string]any, disks int) {
	disk, pool := spec["diskConfig"].(map[string]any), spec["poolConfig"].(map[string]any)
	entry = map[string]any{"raidType": pool["raidType"], "minCount": disk["minCount"], "groupSize": disk["groupSize"]}
	if rapid.Bool().Draw(t, "by name") {
		entry["node"] = n.Name
	} else {
		entry["nodeSelector"] = map[string]any{"matchLabels": map[string]any{inventory.LabelHostname: n.Label(inventory.LabelHostname)}}
	}
	if rapid.Bool().Draw(t, "own shape") {
		raid, size, groups := drawShape(t)
		entry["raidType"], entry["minCount"], entry["groupSize"] = raid, size*groups, size
	}
	if size := rapid.SampledFrom([]string{"", "", "50Gi", "200Gi"}).Draw(t, "own size"); size != "" {
		entry["minCapacity"] = size
	}
	if disk["local"] != nil && rapid.IntRange(0, 3).Draw(t, "own selector") == 0 {
		entry["blockDeviceSelector"] = map[string]any{}
	}
	if rapid.IntRange(0, 2).Draw(t, "own spare") == 0 {
		entry["spare"] = rapid.IntRange(0, 1).Draw(t, "spare")
	}
	if rapid.IntRange(0, 2).Draw(t, "own compression") == 0 {
		entry["compression"] = "lz4"
	}
	disks = asInt(entry["minCount"])
	if cache, given := pool["writeCache"].(map[string]any); given {
		disks += asInt(cache["count"])
	}
	return entry, disks
}

// asInt is a number, generated or read again.
func asInt(n any) int {
	if f, read := n.(float64); read {
		return int(f)
	}
	return n.(int)
}

// listedSpec is what checkListed reads of a completed spec.
type listedSpec struct {
	Spec struct {
		MinPoolCount int
		OnlyListed   bool
		DiskConfig   struct{ MinCapacity string }
		Pools        []listedEntry
	}
}

type listedEntry struct {
	Node         string
	NodeSelector struct{ MatchLabels map[string]string }
	RAIDType     string `json:"raidType"`
	MinCount     int
	GroupSize    int
	MinCapacity  string
	Compression  string
}

// hostname is the label of the node of an entry.
func (e *listedEntry) hostname(w *world) string {
	for _, n := range w.nodes {
		if n.Name == e.Node {
			return n.Label(inventory.LabelHostname)
		}
	}
	return e.NodeSelector.MatchLabels[inventory.LabelHostname]
}

// checkListed holds on new clusters that the pool of a listed node is what its entry says, that
// onlyListed allows no other, and that no other comes in the place of one that is awaited. It
// returns how many listed pools it saw.
func checkListed(t *rapid.T, w *world, facts []*krm.Object, r Result) int {
	sizes := map[string]int64{}
	for _, o := range facts {
		if o.Kind == "BlockDevice" {
			size := resource.MustParse(o.Node.Str("spec", "capacity", "storage"))
			sizes[o.Name] = size.Value()
		}
	}
	lived, seen, others := adopted(r), 0, map[string]int{}
	for _, o := range r.Objects {
		if o.Object.Kind != "CStorPoolCluster" {
			continue
		}
		id, _ := krm.ParseOwner(o.Object.Owner())
		config := w.listedSpec(t, id.Name)
		for _, p := range o.Object.Node.Seq("spec", "pools") {
			host := p.Str("nodeSelector", inventory.LabelHostname)
			if lived[id.Name+" "+nodeOf(w, host)] {
				continue
			}
			i := slices.IndexFunc(config.Spec.Pools, func(e listedEntry) bool { return e.hostname(w) == host })
			if i < 0 {
				if others[id.Name]++; others[id.Name] > config.others() {
					t.Fatalf("%d pools of %s are on nodes that it does not list, of at most %d:\n%s", others[id.Name], id.Name, config.others(), text(r))
				}
				continue
			}
			seen++
			e, count := config.Spec.Pools[i], 0
			least := e.MinCapacity
			if least == "" {
				least = config.Spec.DiskConfig.MinCapacity
			}
			for _, group := range p.Seq("dataRaidGroups") {
				devices := group.Seq("blockDevices")
				if count += len(devices); len(devices) != e.GroupSize {
					t.Fatalf("the pool on %s has a group of %d disks, wanted %d", host, len(devices), e.GroupSize)
				}
				for _, d := range devices {
					if limit := resource.MustParse(least); sizes[d.Str("blockDeviceName")] < limit.Value() {
						t.Fatalf("disk %s of the pool on %s is smaller than %s", d.Str("blockDeviceName"), host, least)
					}
				}
			}
			if raid := p.Str("poolConfig", "dataRaidGroupType"); raid != e.RAIDType || count != e.MinCount || p.Str("poolConfig", "compression") != e.Compression {
				t.Fatalf("the pool on %s is %s of %d disks, and its entry is %+v", host, raid, count, e)
			}
		}
	}
	return seen
}

// listedSpec reads a completed spec.
func (w *world) listedSpec(t *rapid.T, name string) *listedSpec {
	var config listedSpec
	if err := json.Unmarshal(w.complete[name], &config); err != nil {
		t.Fatal(err)
	}
	return &config
}

// others is how many pools a new cluster may have on nodes that are not listed.
func (c *listedSpec) others() int {
	minimum := c.Spec.MinPoolCount
	if minimum == 0 {
		minimum = 3 // as the default is
	}
	if c.Spec.OnlyListed {
		return 0
	}
	return max(0, minimum-len(c.Spec.Pools))
}

// editListed takes an entry out of a completed spec, puts one in, or changes one.
func (w *world) editListed(t *rapid.T, spec map[string]any) {
	pools, _ := spec["pools"].([]any)
	switch edit := rapid.IntRange(0, 3).Draw(t, "edit of pools"); {
	case edit == 0: // another entry, perhaps of a node that has a pool, or an entry
		n := rapid.SampledFrom(w.nodes).Draw(t, "entry of")
		entry, _ := drawEntry(t, n, spec)
		pools = append(slices.Clone(pools), entry)
	case len(pools) == 0:
		return
	case edit == 1:
		at := rapid.IntRange(0, len(pools)-1).Draw(t, "entry out")
		pools = slices.Delete(slices.Clone(pools), at, at+1)
	case edit == 2:
		entry := pools[rapid.IntRange(0, len(pools)-1).Draw(t, "entry grows")].(map[string]any)
		entry["minCount"] = 2 * asInt(entry["minCount"])
		if entry["raidType"] == "stripe" {
			entry["groupSize"] = entry["minCount"]
		}
	default:
		spec["onlyListed"] = spec["onlyListed"] == nil
	}
	if spec["pools"] = pools; len(pools) == 0 {
		delete(spec, "pools")
		delete(spec, "onlyListed")
	}
	if minimum, given := spec["minPoolCount"]; given && asInt(minimum) > len(pools) && len(pools) > 0 {
		delete(spec, "minPoolCount") // the schema refuses it with onlyListed
	}
}

// adopted is which pools existed before, whatever the spec says: by config and node.
func adopted(r Result) map[string]bool {
	lived := map[string]bool{}
	for _, o := range r.Objects {
		if o.Object.Kind != "CStorClusterPlan" {
			continue
		}
		for _, n := range o.Object.Node.Seq("spec", "nodes") {
			if n.Str("reason") == "adopted" {
				lived[o.Object.Name+" "+n.Str("name")] = true
			}
		}
	}
	return lived
}
