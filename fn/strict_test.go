package fn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/tool"
)

// TestStrictKindHasEveryField compares the definition of a CStorPoolCluster with that of cStor: a field that
// cStor has is never reported as unknown, and one that it does not have is, wherever it stands.
func TestStrictKindHasEveryField(t *testing.T) {
	schemas := schema.Load()
	crd := readCRD(t, tool.Upstream(t, "openebs-cstor.yaml")[0], "CStorPoolCluster")
	unknown := func(odd string) string {
		value := sample(crd, "", odd).(map[string]any)
		value["apiVersion"], value["kind"] = "cstor.openebs.io/v1", "CStorPoolCluster"
		value["metadata"] = map[string]any{"name": "prod", "namespace": "openebs", "uid": "u-1", "managedFields": []any{}}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := krm.Parse(&document.Source{Name: "cspc.json", Data: text})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, f := range schemas.Unknown(objects[0].Position, objects[0].Ref, objects[0].Node) {
			paths = append(paths, f.Field)
		}
		return strings.Join(paths, " ")
	}
	if paths := unknown("nowhere"); paths != "" {
		t.Errorf("fields of cStor are unknown: %s", paths)
	}
	for _, in := range []string{"", "spec", "spec.pools[0]", "spec.pools[0].poolConfig", "spec.pools[0].dataRaidGroups[0]", "spec.pools[0].dataRaidGroups[0].blockDevices[0]", "spec.resources"} {
		if paths, odd := unknown(in), strings.TrimPrefix(in+".odd", "."); paths != odd {
			t.Errorf("unknown is %q, want %q", paths, odd)
		}
	}
}

// sample is a value of a structural schema with every field, and with a field odd in the object at a path.
func sample(s map[string]any, path, odd string) any {
	switch s["type"] {
	case "object":
		value := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			value[name] = sample(p.(map[string]any), strings.TrimPrefix(path+"."+name, "."), odd)
		}
		if path == odd {
			value["odd"] = "x"
		}
		return value
	case "array":
		return []any{sample(s["items"].(map[string]any), path+"[0]", odd)}
	case "integer":
		return 1
	case "boolean":
		return true
	}
	return "x"
}
