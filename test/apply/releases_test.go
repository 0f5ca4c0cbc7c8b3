package apply

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// definition is that of DiskPools as a release of Mayastor has it, as far as the spec goes.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: diskpools.openebs.io}
spec:
  group: openebs.io
  scope: Namespaced
  names: {kind: DiskPool, listKind: DiskPoolList, plural: diskpools, singular: diskpool, shortNames: [dsp]}
  versions:
  - name: %s
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [node, disks]
            properties:
              node: {type: string}
              disks: {type: array, items: {type: string}}
%s`

// Properties that came with releases, and what asks for them.
const (
	propertyTopology   = "              topology: {type: object, properties: {labelled: {type: object, additionalProperties: {type: string}}}}\n"
	propertyEncryption = "              encryptionConfig: {type: object, properties: {source: {type: object, properties: {secret: {type: object, properties: {name: {type: string}}}}}}}\n"
	propertyCluster    = "              clusterSize: {type: string}\n"
	propertyCluster29  = "              cluster_size: {type: string}\n"
	propertyExpansion  = "              maxExpansion: {type: string}\n"

	properties210 = propertyTopology + propertyEncryption + propertyCluster + propertyExpansion
	wants210      = wantTopology + wantEncryption + wantCluster + wantExpansion

	wantTopology   = "  topologyLabels: {tier: fast}\n"
	wantEncryption = "  encryptionSecret: pool-key\n"
	wantCluster    = "  clusterSize: 32MiB\n"
	wantExpansion  = "  maxExpansion: 1.5x\n"
)

// TestReleasesApply applies what is rendered for each release, with all that it knows,
// strictly against its definition: nothing is refused, warned of or pruned.
func TestReleasesApply(t *testing.T) {
	apply(t, parse(t, "namespace.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: openebs}\n"))[0])
	t.Cleanup(func() { undefine(t) })
	for _, release := range []struct{ name, version, properties, wants string }{
		{"2.0", "v1alpha1", "", ""},
		{"2.3", "v1alpha1", "", ""},
		{"2.4", "v1beta1", "", ""},
		{"2.5", "v1beta1", "", ""},
		{"2.6", "v1beta2", propertyTopology, wantTopology},
		{"2.8.2", "v1beta2", propertyTopology, wantTopology},
		{"2.9", "v1beta3", propertyTopology + propertyEncryption + propertyCluster29, wantTopology + wantEncryption + wantCluster},
		{"2.10", "v1beta3", properties210, wants210},
		{"2.11", "v1beta3", properties210, wants210},
		{"2.12.1", "v1beta3", properties210, wants210},
		{"2.13", "v1beta3", properties210, wants210}, // not known: as the newest
	} {
		undefine(t)
		apply(t, parse(t, "definition.yaml", fmt.Appendf(nil, definition, release.version, release.properties))[0])
		if err := plane.AwaitServed(t.Context()); err != nil {
			t.Fatal(err)
		}
		pools := 0
		for _, o := range render(t, release.name, release.wants) {
			if o.Kind != "DiskPool" {
				continue
			}
			pools++
			if o.APIVersion != "openebs.io/"+release.version {
				t.Errorf("%s: pools are %s", release.name, o.APIVersion)
			}
			if path := lost(o.Node, apply(t, o)); path != "" {
				t.Errorf("%s: the API server pruned or changed %s", release.name, path)
			}
		}
		if pools != 3 {
			t.Errorf("%s: %d pools were applied, not 3", release.name, pools)
		}
	}
}

// render renders the package of three nodes for a release.
func render(t *testing.T, release, wants string) []*krm.Object {
	t.Helper()
	objects := parse(t, "diskpools.yaml", fmt.Appendf(nil, "apiVersion: poolwright.io/v1alpha1\nkind: DiskPoolSet\nmetadata: {name: fast, namespace: openebs}\nspec:\n  release: %q\n%s", release, wants))
	files, err := filepath.Glob("../../testdata/packages/six-disks/inventory/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		objects = append(objects, read(t, file)...)
	}
	result := fn.New(schema.Load(), systems.All()...).Render(fn.Package{Objects: objects})
	if finding.Failed(result.Findings) {
		t.Fatal(result.Findings)
	}
	var rendered []*krm.Object
	for _, o := range result.Objects {
		rendered = append(rendered, parse(t, "rendered", o.Object.Raw)...)
	}
	return rendered
}

// undefine deletes the definition of DiskPools, with all of them, and waits until it is
// gone.
func undefine(t *testing.T) {
	t.Helper()
	url := plane.URL + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/diskpools.openebs.io"
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequest(http.MethodDelete, url, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _ := do(t, request); status == http.StatusNotFound {
			return
		}
	}
	t.Fatal("the definition of DiskPools is still there")
}
