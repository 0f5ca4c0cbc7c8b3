package fn

import (
	"fmt"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/tool"
)

// TestUpstreamCRD holds what is rendered against the structural schema of the
// CStorPoolCluster: nothing it does not know, nothing missing, no other type. The
// two kinds of Kubernetes itself have theirs written out below.
func TestUpstreamCRD(t *testing.T) {
	pools := readCRD(t, tool.Upstream(t, "openebs-cstor.yaml")[0], "CStorPoolCluster")
	kinds := map[string]map[string]any{
		"CStorPoolCluster": pools,
		"PersistentVolumeClaim": structure(map[string]any{
			"accessModes": list("string"), "volumeMode": leaf("string"), "storageClassName": leaf("string"),
			"resources": fields(map[string]any{"requests": fields(map[string]any{"storage": leaf("string")}, "storage")}, "requests"),
		}, "accessModes", "resources", "storageClassName", "volumeMode"),
		"VolumeAttachment": structure(map[string]any{
			"attacher": leaf("string"), "nodeName": leaf("string"),
			"source": fields(map[string]any{"persistentVolumeName": leaf("string")}, "persistentVolumeName"),
		}, "attacher", "nodeName", "source"),
	}
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		first := w.render(w.facts(), nil)
		if finding.Failed(first.Findings) {
			return
		}
		second := w.render(append(w.facts(), w.grow(t, first)...), reread(t, first))
		checkKinds(t, kinds, seen, second)
	})
	everything := poolwright().Render(Package{Objects: everyField(t)})
	if finding.Failed(everything.Findings) {
		t.Fatal(everything.Findings)
	}
	checkKinds(t, kinds, seen, everything)
	for kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("no %s was rendered", kind)
		}
	}
	// The walker itself must be able to see a mistake.
	for _, bad := range []string{
		"{apiVersion: a, kind: b, metadata: {}, spec: {pools: [{nodeSelektor: {}}]}}",
		"{apiVersion: a, kind: b, metadata: {}, spec: {pools: [{nodeSelector: {}, poolConfig: {dataRaidGroupType: mirror}}]}}",
		"{apiVersion: a, kind: b, metadata: {}, spec: {pools: {}}}",
	} {
		var value map[string]any
		if err := yaml.Unmarshal([]byte(bad), &value); err != nil {
			t.Fatal(err)
		}
		if mismatch("CStorPoolCluster", pools, value) == "" {
			t.Errorf("nothing is found wrong with %s", bad)
		}
	}
}

func checkKinds(t rapid.TB, kinds map[string]map[string]any, seen map[string]int, r Result) {
	for _, o := range r.Objects {
		kind, known := kinds[o.Object.Kind]
		if !known {
			continue
		}
		var value map[string]any
		if err := yaml.Unmarshal(o.Object.Raw, &value); err != nil {
			t.Fatal(err)
		}
		seen[o.Object.Kind]++
		if problem := mismatch(o.Object.Kind, kind, value); problem != "" {
			t.Fatalf("%s\n%s", problem, o.Object.Raw)
		}
	}
}

// everyField is a package whose spec sets everything that reaches the pools.
func everyField(t rapid.TB) []*krm.Object {
	src := &document.Source{Name: "every.yaml", Data: []byte(`apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata: {name: prod, namespace: openebs, annotations: {openebs.io/allowed-bd-tags: fast}}
spec:
  minPoolCount: 1
  diskConfig: {minCount: 2, minCapacity: 1, local: {}}
  poolConfig:
    raidType: mirror
    writeCache: {auto: true}
    computeResources: {requests: {cpu: 500m, memory: 2Gi}, limits: {cpu: 1, memory: 4Gi}}
    auxResources: {limits: {memory: 1Gi}}
    compression: lz4
    thickProvision: false
    tolerations: [{key: dedicated, operator: Equal, value: storage, effect: NoExecute, tolerationSeconds: 60}]
    priorityClassName: storage-critical
    roThresholdLimit: 90
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}}
---
{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: a, namespace: openebs, labels: {kubernetes.io/hostname: n1}}, spec: {capacity: {storage: 9}, details: {deviceType: disk, driveType: HDD}}, status: {state: Active, claimState: Unclaimed}}
---
{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: b, namespace: openebs, labels: {kubernetes.io/hostname: n1, openebs.io/block-device-tag: fast}}, spec: {capacity: {storage: 9}, details: {deviceType: disk, driveType: HDD}}, status: {state: Active, claimState: Unclaimed}}
---
{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: c, namespace: openebs, labels: {kubernetes.io/hostname: n1}}, spec: {capacity: {storage: 9}, details: {deviceType: disk, driveType: SSD}}, status: {state: Active, claimState: Unclaimed}}
`)}
	objects, err := krm.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func leaf(kind string) map[string]any { return map[string]any{"type": kind} }

func list(kind string) map[string]any { return map[string]any{"type": "array", "items": leaf(kind)} }

func fields(properties map[string]any, required ...any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func structure(spec map[string]any, required ...any) map[string]any {
	return fields(map[string]any{
		"apiVersion": leaf("string"), "kind": leaf("string"), "metadata": leaf("object"), "spec": fields(spec, required...),
	}, "spec")
}

// readCRD finds the schema of the stored version of a kind.
func readCRD(t *testing.T, file, kind string) map[string]any {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema map[string]any `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := d.Decode(&crd); err != nil {
			t.Fatalf("%s has no CRD of kind %s: %v", file, kind, err)
		}
		if crd.Spec.Names.Kind != kind {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Name == "v1" {
				return v.Schema.OpenAPIV3Schema
			}
		}
	}
}

// mismatch walks a value along a structural schema and names the first place
// that does not fit.
func mismatch(path string, schema map[string]any, value any) string {
	if open, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool); open {
		return ""
	}
	if either, _ := schema["x-kubernetes-int-or-string"].(bool); either {
		switch value.(type) {
		case int, string:
			return ""
		}
		return fmt.Sprintf("%s is %T, not a number or text", path, value)
	}
	switch kind := schema["type"]; v := value.(type) {
	case map[string]any:
		if kind != "object" {
			return fmt.Sprintf("%s is a map, not %v", path, kind)
		}
		return mismatchedFields(path, schema, v)
	case []any:
		items, _ := schema["items"].(map[string]any)
		if kind != "array" || items == nil {
			return fmt.Sprintf("%s is a list, not %v", path, kind)
		}
		for i, item := range v {
			if problem := mismatch(fmt.Sprintf("%s[%d]", path, i), items, item); problem != "" {
				return problem
			}
		}
	default:
		want := map[any]string{"string": "string", "integer": "int", "boolean": "bool", "number": "float64"}[kind]
		if got := fmt.Sprintf("%T", value); got != want {
			return fmt.Sprintf("%s is %s, not %v", path, got, kind)
		}
	}
	return ""
}

func mismatchedFields(path string, schema, value map[string]any) string {
	required, _ := schema["required"].([]any)
	for _, key := range required {
		if _, found := value[fmt.Sprint(key)]; !found {
			return fmt.Sprintf("%s has no %v", path, key)
		}
	}
	properties, closed := schema["properties"].(map[string]any)
	values, isMap := schema["additionalProperties"].(map[string]any)
	if !closed && !isMap {
		return "" // metadata, which the API server knows
	}
	for key, v := range value {
		field, _ := properties[key].(map[string]any)
		if field == nil && isMap {
			field = values
		}
		if field == nil {
			return fmt.Sprintf("%s has an unknown field %s", path, key)
		}
		if problem := mismatch(path+"."+key, field, v); problem != "" {
			return problem
		}
	}
	return ""
}
