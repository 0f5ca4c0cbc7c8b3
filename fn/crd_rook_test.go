package fn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/tool"
)

// TestRookReleases renders every release of Rook against the upstream definitions, which
// are those of one release: nothing is unknown to them, and what older releases do not have
// is not rendered for these.
func TestRookReleases(t *testing.T) {
	upstream := tool.Upstream(t, "rook-ceph.yaml", "csi-ceph.yaml")
	kinds := map[string]map[string]any{}
	for _, kind := range []string{"CephCluster", "CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephObjectStore"} {
		kinds[kind] = readCRD(t, upstream[0], kind)
	}
	for _, kind := range []string{"OperatorConfig", "Driver"} {
		kinds[kind] = readCRD(t, upstream[1], kind)
	}
	for _, release := range []struct {
		version       string
		drivers, keys bool
	}{
		{"1.14", false, false}, {"1.15", false, false}, {"1.16", false, false}, {"1.17", false, false}, {"1.18", false, false},
		{"1.19.8", false, false}, {"1.20.4", true, false}, {"1.20.5", true, true}, {"1.21.2", true, true}, {"1.22", true, true},
	} {
		r := poolwright().Render(Package{Objects: ceph(t, release.version)})
		if finding.Failed(r.Findings) {
			t.Fatal(release.version, r.Findings)
		}
		seen := map[string]int{}
		checkKinds(t, kinds, seen, r)
		if drivers := seen["Driver"] > 0 && seen["OperatorConfig"] > 0; drivers != release.drivers {
			t.Errorf("%s: CSI drivers are rendered: %t", release.version, drivers)
		}
		for _, o := range r.Objects {
			var cluster struct {
				Kind string
				Spec map[string]any
			}
			if err := yaml.Unmarshal(o.Object.Raw, &cluster); err != nil {
				t.Fatal(err)
			}
			if _, keys := cluster.Spec["security"]; cluster.Kind == "CephCluster" && keys != release.keys {
				t.Errorf("%s: a type of keys is rendered: %t", release.version, keys)
			}
		}
		for _, kind := range []string{"CephCluster", "CephBlockPool", "CephFilesystem", "CephObjectStore"} {
			if seen[kind] == 0 {
				t.Errorf("%s: no %s was rendered", release.version, kind)
			}
		}
	}
}

// ceph is a package of three nodes with a HyperCloudStorage for a release of Rook.
func ceph(t *testing.T, version string) []*krm.Object {
	t.Helper()
	const dir = "../testdata/packages/ceph"
	files, err := filepath.Glob(dir + "/inventory/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no inventory", err)
	}
	var objects []*krm.Object
	for _, file := range append(files, dir+"/hcs.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file == dir+"/hcs.yaml" {
			data = []byte(strings.Replace(string(data), "  filesystem: []\n", fmt.Sprintf("  rook: {version: %q}\n  object: [{name: store}]\n", version), 1))
		}
		parsed, err := krm.Parse(&document.Source{Name: file, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, parsed...)
	}
	return objects
}
