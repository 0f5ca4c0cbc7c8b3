package fn

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

var convertAll = flag.Bool("convert.all", false, "convert every generated cluster, and not only the first of them")

// enough reports whether as many clusters were converted as a test does by default: to ask
// the schemas about each field of each takes time.
func enough(clusters int) bool {
	const most = 150
	return clusters >= most && !*convertAll
}

// TestConvert holds on generated clusters that the config that is made of a CStorPoolCluster
// alone, written by hand or alive, renders the same: pools, disks, order and settings. For ten
// thousand of them: go test ./fn -run TestConvert -timeout 2h -rapid.checks 10000 -convert.all
func TestConvert(t *testing.T) {
	clusters, pools := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if enough(clusters) {
			return
		}
		w := drawWorld(t)
		facts := w.facts()
		first := w.render(facts, nil)
		if finding.Failed(first.Findings) {
			return
		}
		grown := slices.DeleteFunc(w.grow(t, first), func(o *krm.Object) bool { return o.Kind != "BlockDevice" })
		facts = append(facts, w.grow(t, first)...)
		known := slices.Concat(w.nodes, w.devices, grown)
		var made []*krm.Object
		for _, o := range w.render(facts, reread(t, first)).Objects {
			if o.Object.Kind == "CStorPoolCluster" {
				made = append(made, alone(t, o.Object, rapid.Bool().Draw(t, "alive")))
				pools += len(o.Object.Node.Seq("spec", "pools"))
			}
		}
		clusters += len(made)
		checkConverted(t, made, known)
	})
	t.Logf("%d clusters with %d pools converted", clusters, pools)
	if clusters == 0 {
		t.Fatal("the generator made nothing to convert")
	}
}

// alone is an object as its author wrote it, or as it is in the cluster: without the marks of an owner.
func alone(t rapid.TB, o *krm.Object, alive bool) *krm.Object {
	bare := krm.Make(o.APIVersion, o.Kind, o.Namespace, o.Name, document.F("spec", *o.Node.Get("spec")))
	if alive {
		bare.SetAnnotation(krm.AnnotationInventory, "true")
	}
	return parsed(t, "alone.yaml", document.Append(nil, bare.Node, 0))[0]
}

func parsed(t rapid.TB, name string, text []byte) []*krm.Object {
	objects, err := krm.Parse(&document.Source{Name: name, Data: text})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return objects
}

// checkConverted converts objects, and renders what becomes of them again.
func checkConverted(t rapid.TB, objects, facts []*krm.Object) {
	done := poolwright().Convert(Package{Objects: slices.Concat(objects, facts)})
	if finding.Failed(done.Findings) || (len(done.Specs) == 0) != (len(objects) == 0) {
		t.Fatalf("%d specs of %d objects: %v", len(done.Specs), len(objects), done.Findings)
	}
	living := slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool { return o.Annotation(krm.AnnotationInventory) == "" })
	p := Package{Objects: slices.Concat(living, facts), Output: reread(t, Result{Objects: done.Rendered})}
	for _, spec := range done.Specs {
		p.Objects = append(p.Objects, parsed(t, "spec.yaml", spec.Text)...)
	}
	again := poolwright().Render(p)
	if finding.Failed(again.Findings) || text(again) != text(Result{Objects: done.Rendered}) {
		t.Fatalf("rendering twice changes the output: %v\n%s\n%s", again.Findings, text(Result{Objects: done.Rendered}), text(again))
	}
	for _, o := range objects {
		i := slices.IndexFunc(again.Objects, func(r Rendered) bool { return r.Object.ID() == o.ID() })
		if i < 0 || !document.Equal(again.Objects[i].Object.Node.Get("spec"), o.Node.Get("spec")) {
			t.Fatalf("%s is rendered otherwise than it was:\n%s\n%s", o.Ref, o.Raw, text(again))
		}
	}
}

// TestConvertWritten holds the same of clusters as people write them: each pool of another
// shape and with settings of its own. What no spec can say is named.
func TestConvertWritten(t *testing.T) {
	said, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if enough(said) {
			return
		}
		w := drawWorld(t)
		written, odd := drawWritten(t, w)
		if written == nil {
			return
		}
		known := slices.Concat(w.nodes, w.devices)
		if odd == "" {
			said++
			checkConverted(t, []*krm.Object{written}, known)
			return
		}
		refused++
		done := poolwright().Convert(Package{Objects: append(known, written)})
		named := slices.ContainsFunc(done.Findings, func(f finding.Finding) bool {
			return f.Severity == finding.Error && f.Object == written.Ref && strings.HasSuffix(f.Field, odd) && f.Pos.Line > 0
		})
		if !named || done.Rendered != nil {
			t.Fatalf("%s is not named, or something is rendered: %v\n%s", odd, done.Findings, written.Raw)
		}
	})
	t.Logf("%d clusters converted, %d refused", said, refused)
	if said == 0 || refused == 0 {
		t.Fatal("the generator made nothing to convert")
	}
}

// drawWritten draws a CStorPoolCluster on disks of the nodes, nil where there are none. odd is
// the end of a field that no spec can say, or "".
func drawWritten(t *rapid.T, w *world) (written *krm.Object, odd string) {
	spec := map[string]any{}
	maybe := func(to map[string]any, key string, values ...any) {
		if rapid.IntRange(0, 3).Draw(t, key) == 0 {
			to[key] = rapid.SampledFrom(values).Draw(t, "value of "+key)
		}
	}
	resources := map[string]any{"limits": map[string]any{"memory": "2Gi"}}
	tolerations := []any{map[string]any{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}}
	for key, value := range map[string]any{"auxResources": resources, "priorityClassName": "storage", "resources": resources, "tolerations": tolerations} {
		maybe(spec, key, value)
	}
	var pools []any
	for _, i := range rapid.Permutation(w.nodes).Draw(t, "order") {
		host := i.Label(inventory.LabelHostname)
		var disks []string
		for _, d := range w.devices {
			if d.Label(inventory.LabelHostname) == host && d.Node.Str("spec", "details", "serial") != "twin" {
				disks = append(disks, d.Name)
			}
		}
		disks = rapid.Permutation(disks).Draw(t, "disks of "+host)
		config := map[string]any{}
		raid := rapid.SampledFrom([]string{"stripe", "mirror", "raidz"}).Draw(t, "raid")
		size := map[string]int{"stripe": max(len(disks)-1, 1), "mirror": 2, "raidz": 3}[raid]
		if len(disks) < size {
			continue
		}
		config["dataRaidGroupType"] = raid
		groups := rapid.IntRange(1, max(len(disks)/size, 1)).Draw(t, "groups")
		if raid == "stripe" {
			groups = 1
		}
		pool := map[string]any{"nodeSelector": map[string]any{inventory.LabelHostname: host}, "poolConfig": config}
		pool["dataRaidGroups"] = raidGroups(disks[:groups*size], size)
		if left := disks[groups*size:]; len(left) > 0 && rapid.Bool().Draw(t, "cache") {
			pool["writeCacheRaidGroups"] = raidGroups(left[:1], 1)
			config["writeCacheGroupType"] = "stripe"
		}
		maybe(config, "compression", "lz4", "off", "gzip")
		maybe(config, "thickProvision", true, false)
		maybe(config, "roThresholdLimit", 70, 0, 100)
		maybe(config, "tolerations", tolerations)
		maybe(config, "resources", resources)
		if odd == "" && rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
			odd = drawOdd(t, pool, config)
		}
		pools = append(pools, pool)
	}
	if len(pools) == 0 {
		return nil, ""
	}
	spec["pools"] = pools
	o := object(t, map[string]any{
		"apiVersion": "cstor.openebs.io/v1", "kind": "CStorPoolCluster",
		"metadata": map[string]any{"name": "written", "namespace": "openebs"}, "spec": spec,
	})
	return alone(t, o, rapid.Bool().Draw(t, "alive")), odd
}

// drawOdd gives a pool something that no spec can say, and returns the end of its field.
func drawOdd(t *rapid.T, pool, config map[string]any) string {
	switch rapid.IntRange(0, 4).Draw(t, "oddity") {
	case 0:
		pool["nodeSelector"] = map[string]any{"example.com/rack": "r1"}
		return ".nodeSelector"
	case 1:
		config["priorityClassName"] = "low"
		return ".priorityClassName"
	case 2:
		config["auxResources"] = map[string]any{"limits": map[string]any{"cpu": "1"}}
		return ".auxResources.limits.cpu"
	case 3:
		config["dataRaidGroupType"] = "mirror"
		pool["dataRaidGroups"] = append(raidGroups([]string{"a", "b"}, 2), raidGroups([]string{"c", "d", "e", "f"}, 4)...)
		return ".dataRaidGroups"
	}
	config["fsync"] = true
	return ".fsync"
}

func raidGroups(disks []string, size int) []any {
	var groups []any
	for group := range slices.Chunk(disks, size) {
		var devices []any
		for _, name := range group {
			devices = append(devices, map[string]any{"blockDeviceName": name})
		}
		groups = append(groups, map[string]any{"blockDevices": devices})
	}
	return groups
}

// TestConvertDiskPools holds the same of DiskPools, of which nodes have as many as they like.
func TestConvertDiskPools(t *testing.T) {
	pools := 0
	rapid.Check(t, func(t *rapid.T) {
		if enough(pools) {
			return
		}
		w := drawWorld(t)
		alive := rapid.Bool().Draw(t, "alive")
		var written []*krm.Object
		for i, d := range w.devices {
			if d.Node.Str("spec", "details", "serial") == "twin" || rapid.Bool().Draw(t, "free") {
				continue
			}
			scheme := rapid.SampledFrom([]string{"", "", "aio://", "uring://"}).Draw(t, "scheme")
			spec := map[string]any{"node": d.Node.Str("spec", "nodeAttributes", "nodeName"), "disks": []any{scheme + "/dev/disk/by-id/wwn-" + d.Name}}
			if rapid.IntRange(0, 3).Draw(t, "labelled") == 0 {
				spec["topology"] = map[string]any{"labelled": map[string]any{"tier": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tier")}}
			}
			if rapid.IntRange(0, 3).Draw(t, "grows") == 0 {
				spec["maxExpansion"] = "5x"
			}
			o := object(t, map[string]any{
				"apiVersion": "openebs.io/v1beta3", "kind": "DiskPool", "metadata": map[string]any{"name": fmt.Sprintf("pool-%d", i), "namespace": "mayastor"}, "spec": spec,
			})
			written = append(written, alone(t, o, alive))
		}
		if len(written) == 0 {
			return
		}
		pools += len(written)
		checkConverted(t, written, slices.Concat(w.nodes, w.devices))
	})
	t.Logf("%d pools converted", pools)
	if pools == 0 {
		t.Fatal("the generator made nothing to convert")
	}
}

// TestConvertFiveShapes holds that the spec of forty pools of five shapes is shorter than a
// tenth of them.
func TestConvertFiveShapes(t *testing.T) {
	shapes := []struct {
		raid         string
		disks, group int
		settings     string
	}{
		{"mirror", 8, 2, ""}, {"mirror", 4, 2, ""}, {"raidz2", 6, 6, ""}, {"raidz", 10, 5, ", compression: lz4"}, {"stripe", 3, 3, ""},
	}
	text := "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: forty, namespace: openebs}\nspec:\n  pools:\n"
	facts := ""
	for i := range 40 {
		s, node := shapes[i%len(shapes)], fmt.Sprintf("worker-%02d", i)
		facts += fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s}}\n", node)
		text += fmt.Sprintf("  - nodeSelector:\n      kubernetes.io/hostname: %s\n    dataRaidGroups:\n", node)
		for j := range s.disks {
			if j%s.group == 0 {
				text += "    - blockDevices:\n"
			}
			name := fmt.Sprintf("blockdevice-%032x", i*100+j)
			text += "      - blockDeviceName: " + name + "\n"
			facts += fmt.Sprintf("---\napiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata: {name: %[1]s, namespace: openebs, labels: {kubernetes.io/hostname: %[2]s}}\n"+
				"spec: {capacity: {storage: 4000787030016}, details: {serial: %[1]s}}\nstatus: {state: Active, claimState: Unclaimed}\n", name, node)
		}
		text += fmt.Sprintf("    poolConfig: {dataRaidGroupType: %s%s}\n", s.raid, s.settings)
	}
	objects := parsed(t, "cspc.yaml", []byte(text))
	checkConverted(t, objects, parsed(t, "facts.yaml", []byte(facts)))
	done := poolwright().Convert(Package{Objects: slices.Concat(objects, parsed(t, "facts.yaml", []byte(facts)))})
	spec := string(done.Specs[0].Text)
	t.Logf("%d bytes and %d lines become %d bytes and %d lines:\n%s", len(text), strings.Count(text, "\n"), len(spec), strings.Count(spec, "\n"), spec)
	if 10*len(spec) > len(text) {
		t.Error("the spec is longer than a tenth")
	}
}
