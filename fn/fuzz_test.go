package fn

import (
	"bytes"
	"os"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// FuzzProcess feeds the function what a pipeline may hand it: it must answer
// with a ResourceList that it can read again, and never panic.
func FuzzProcess(f *testing.F) {
	for _, name := range []string{"testdata/list/local.yaml", "testdata/list/cloud.yaml", "testdata/list/diskpools.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rl, err := krm.ReadResourceList(&document.Source{Name: "stdin", Data: data})
		if err != nil {
			return
		}
		count := len(rl.Items)
		fs := poolwright().Process(rl)
		if finding.Failed(fs) && len(rl.Items) != count {
			t.Fatalf("errors, and yet %d items became %d", count, len(rl.Items))
		}
		var out bytes.Buffer
		if err := rl.Write(&out, fs); err != nil {
			t.Fatal(err)
		}
		if _, err := krm.ReadResourceList(&document.Source{Name: "stdout", Data: out.Bytes()}); err != nil {
			t.Fatalf("cannot read its own output: %v\n%s", err, out.String())
		}
	})
}

// FuzzConvert converts whatever documents there are: it must answer with specs that can be
// read, and never panic.
func FuzzConvert(f *testing.F) {
	for _, text := range []string{
		"apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: a, namespace: b}\nspec:\n  pools:\n  - nodeSelector: {kubernetes.io/hostname: n}\n" +
			"    dataRaidGroups: [{blockDevices: [{blockDeviceName: d}]}]\n    writeCacheRaidGroups: [{blockDevices: [{blockDeviceName: e}]}]\n" +
			"    poolConfig: {dataRaidGroupType: stripe, writeCacheGroupType: stripe, compression: lz4}\n",
		"apiVersion: openebs.io/v1beta3\nkind: DiskPool\nmetadata: {name: a, namespace: b}\nspec: {node: n, disks: [aio:///dev/disk/by-id/wwn-0x1], topology: {labelled: {a: b}}}\n",
		"apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: a, namespace: b}\nspec:\n  cephVersion: {image: \"quay.io/ceph/ceph:v19.2.3\"}\n" +
			"  storage: {nodes: [{name: n, devices: [{name: /dev/disk/by-id/wwn-0x1, config: {osdsPerDevice: \"2\"}}]}]}\n" +
			"---\napiVersion: ceph.rook.io/v1\nkind: CephBlockPool\nmetadata: {name: c, namespace: b}\nspec: {replicated: {size: 3}}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := krm.Parse(&document.Source{Name: "stdin", Data: data})
		if err != nil {
			return
		}
		for _, spec := range poolwright().Convert(Package{Objects: objects}).Specs {
			if read, err := krm.Parse(&document.Source{Name: "stdout", Data: spec.Text}); err != nil || len(read) != 1 {
				t.Fatalf("cannot read its own output: %d documents, %v\n%s", len(read), err, spec.Text)
			}
		}
	})
}
