package hypercloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
)

// TestConvert holds on generated clusters of Ceph that the spec that is made of them, as a person
// wrote them or as they live, renders the same: disks, nodes, pools, classes and settings.
func TestConvert(t *testing.T) {
	clusters, disks := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if clusters >= 60 {
			return
		}
		facts, spec := drawCeph(t)
		first := generated.Function().Render(fn.Package{Objects: generated.Parse(t, append(facts, spec)...)})
		if finding.Failed(first.Findings) {
			t.Fatalf("%v\n%s", first.Findings, spec)
		}
		alive := rapid.Bool().Draw(t, "alive")
		var made []*krm.Object
		for _, o := range first.Objects {
			made = append(made, unowned(t, o.Object, alive))
			disks += strings.Count(string(o.Object.Raw), "name: /dev/disk/by-id/")
		}
		clusters++
		known := generated.Parse(t, facts...)
		done := generated.Function().Convert(fn.Package{Objects: slices.Concat(made, known)})
		if finding.Failed(done.Findings) || len(done.Specs) != 1 {
			t.Fatalf("%d specs: %v\nof\n%s", len(done.Specs), done.Findings, spec)
		}
		got, want := generated.Written(fn.Result{Objects: done.Rendered}), generated.Written(first)
		if alive { // the facts show its disks in the cluster, as the first render could not know
			got = strings.ReplaceAll(got, "    applied: true\n", "")
		}
		if got != want {
			t.Fatalf("\n%s\nbecame\n%s\nwhich renders\n%s\nand not\n%s", spec, done.Specs[0].Text, got, want)
		}
		again := generated.Function().Render(fn.Package{Objects: append(generated.Parse(t, string(done.Specs[0].Text)), known...), Output: generated.Parse(t, generated.Written(first))})
		if finding.Failed(again.Findings) || generated.Written(again) != generated.Written(first) {
			t.Fatalf("the spec\n%s\nrenders\n%s\n%v", done.Specs[0].Text, generated.Written(again), again.Findings)
		}
	})
	t.Logf("%d clusters with %d disks converted", clusters, disks)
	if clusters == 0 || disks == 0 {
		t.Fatal("the generator made nothing to convert")
	}
}

// unowned is an object as its author wrote it, or as it is in the cluster: without the marks of an owner.
func unowned(t *rapid.T, o *krm.Object, alive bool) *krm.Object {
	var fields []document.Field
	for _, f := range o.Node.Fields() {
		if f.Key != "apiVersion" && f.Key != "kind" && f.Key != "metadata" {
			fields = append(fields, f)
		}
	}
	bare := krm.Make(o.APIVersion, o.Kind, o.Namespace, o.Name, fields...)
	if o.Kind == "StorageClass" {
		if value := o.Annotation("storageclass.kubernetes.io/is-default-class"); value != "" {
			bare.SetAnnotation("storageclass.kubernetes.io/is-default-class", value)
		}
	}
	if alive {
		bare.SetAnnotation(krm.AnnotationInventory, "true")
	}
	return generated.Parse(t, string(document.Append(nil, bare.Node, 0)))[0]
}

// drawCeph draws nodes with disks, and a cluster of Ceph on some of them.
func drawCeph(t *rapid.T) (facts []string, spec string) {
	maybe := func(what string, values ...string) string {
		if rapid.IntRange(0, 2).Draw(t, what) > 0 {
			return ""
		}
		return rapid.SampledFrom(values).Draw(t, "value of "+what)
	}
	facts = append(facts, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: scratch, annotations: {poolwright.io/inventory: \"true\"}}\nprovisioner: csi.example.com\n")
	var nodes []string
	count := rapid.IntRange(1, 4).Draw(t, "nodes")
	for _, n := range rapid.Permutation([]int{1, 2, 3, 4}[:count]).Draw(t, "order") {
		facts = append(facts, generated.Node(n, n))
		letters := []string{"b", "c", "d"}[:rapid.IntRange(1, 3).Draw(t, "disks")]
		var devices []string
		for _, letter := range rapid.Permutation(letters).Draw(t, "order of disks") {
			facts = append(facts, generated.Device(n, letter, 20<<30))
			name := fmt.Sprintf("/dev/disk/by-id/wwn-0x5000%d%s", n, letter)
			devices = append(devices, "{name: "+name+maybe("class", ", deviceClass: ssd", ", deviceClass: hdd")+maybe("osds", ", osdsPerDevice: 2")+maybe("encrypted", ", encrypted: true")+"}")
		}
		nodes = append(nodes, fmt.Sprintf("    - {hostname: n%d, devices: [%s]}\n", n, strings.Join(devices, ", ")))
	}
	replicas := rapid.IntRange(1, count).Draw(t, "replicas")
	unsafe := ""
	if replicas == 1 {
		unsafe = ", allowUnsafe: true"
	}
	spec = fmt.Sprintf(`apiVersion: hcs.tmax.io/v1alpha1
kind: HyperCloudStorage
metadata: {name: hcs, namespace: rook-ceph}
spec:
  storage:
    replicas: %d
    failureDomain: %s
    nodes:
%s%s  ceph:
    mons: %d
    mgrs: %d
`, replicas, rapid.SampledFrom([]string{"host", "zone"}).Draw(t, "domain"), strings.Join(nodes, ""), maybe("release", "  rook: {version: \"1.19\"}\n", "  rook: {version: \"1.18\"}\n"), 1+2*rapid.IntRange(0, (count-1)/2).Draw(t, "mons"), rapid.IntRange(1, min(count, 2)).Draw(t, "mgrs"))
	for _, field := range [][]string{
		{"image", "quay.io/ceph/ceph:v19.2.3"},
		{"dataDirHostPath", "/data/rook"},
		{"dashboard", "{enabled: false}", "{enabled: true, ssl: false, port: 7000, urlPrefix: /ceph}"},
		{"monitoring", "{enabled: true}"},
		{"network", "{provider: host}", "{connections: {encryption: {enabled: true}, requireMsgr2: true}}"},
		{"resources", "{osd: {requests: {memory: 4Gi}, limits: {memory: 8Gi}}}"},
		{"placement", "{all: {tolerations: [{operator: Exists}]}}"},
		{"priorityClassNames", "{all: high}"},
		{"toolbox", "false", "true"},
	} {
		if value := maybe(field[0], field[1:]...); value != "" {
			spec += "    " + field[0] + ": " + value + "\n"
		}
	}
	spec += "  block: [" + maybe("block", "{name: one"+unsafe+"}", "{name: one, default: true, reclaimPolicy: Retain, fsType: xfs"+unsafe+"}, {name: two, snapshotClass: false"+unsafe+"}") + "]\n"
	spec += "  filesystem: [" + maybe("filesystem", "{name: shared"+unsafe+"}") + "]\n"
	spec += "  object: [" + maybe("object", "{name: store"+unsafe+"}", "{name: store, instances: 2, port: 8080"+unsafe+"}") + "]\n"
	if rapid.Bool().Draw(t, "cdi") {
		spec += "  cdi: {scratchStorageClass: scratch" + maybe("gates", ", featureGates: [HonorWaitForFirstConsumer]", ", uploadProxyURL: cdi.example.com", ", uninstallStrategy: RemoveWorkloads") + "}\n"
	}
	return facts, spec
}
