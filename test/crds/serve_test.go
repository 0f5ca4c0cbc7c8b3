package crds_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/tool"
)

// notServed are the defaults that vet fills in and an API server does not.
var notServed = map[string]string{
	"diskConfig.minCount":                "computed from raidType",
	"diskConfig.groupSize":               "computed from raidType and minCount",
	"poolConfig.writeCache.count":        "computed from its raidType",
	"block":                              "a list of one entry, whose fields have defaults of their own",
	"filesystem":                         "a list of one entry, whose fields have defaults of their own",
	"delivery.type":                      "said by a text in the place of the mapping",
	"poolConfig.writeCache.capacity":     "there with externalProvisioner only",
	"poolConfig.poolExpansion.threshold": "has an old name, and would look as if both were given",
}

// TestDefaults wants of the API server every default that vet fills in, and no
// other; and what it stored must say to vet what the file said.
func TestDefaults(t *testing.T) {
	schemas := schema.Load()
	kinds := deployed(t, schemas)
	compared, missing := 0, map[string]bool{}
	for _, e := range examples(t, kinds) {
		completed, findings := schemas.Complete(e.src.Position, e.Ref, e.Node)
		if completed == nil || exceptions[e.name] != "" {
			continue
		}
		a := create(t, kinds[e.Kind], e.Node)
		stored := parse(t, string(a.body))
		again, findings2 := schemas.Complete(nil, stored.Ref, stored.Node)
		if again == nil {
			t.Errorf("%s: what is stored is not valid: %v", e.name, findings2)
			continue
		}
		want, got := parse(t, string(completed)).Node.Get("spec"), parse(t, string(again)).Node.Get("spec")
		if !reflect.DeepEqual(value(t, want), value(t, got)) {
			t.Errorf("%s: the file says %s\nwhat is stored says %s", e.name, document.AppendJSON(nil, want), document.AppendJSON(nil, got))
		}
		if slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Rule == "alias" }) {
			continue // it is stored under its old names
		}
		if stored.Kind == "CSPCAuto" {
			continue // it is completed as the CStorClusterConfig that it means
		}
		for _, path := range absent("", want, stored.Node.Get("spec")) {
			if notServed[path] == "" {
				t.Errorf("%s: the API server has not filled in %s", e.name, path)
			}
			missing[path] = true
		}
		for _, path := range absent("", stored.Node.Get("spec"), want) {
			t.Errorf("%s: the API server has filled in %s", e.name, path)
		}
		compared++
	}
	for path := range notServed {
		if !missing[path] {
			t.Errorf("%s is an exception no longer", path)
		}
	}
	if compared < 25 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// absent are the fields that one object has and another has not.
func absent(path string, has, other *document.Node) []string {
	var paths []string
	for i := range has.Fields() {
		f := &has.Fields()[i]
		at := strings.TrimPrefix(path+"."+f.Key, ".")
		switch o := other.Get(f.Key); {
		case o == nil && !isEmpty(&f.Value):
			paths = append(paths, at)
		case o != nil:
			paths = append(paths, absent(at, &f.Value, o)...)
		}
	}
	return paths
}

// isEmpty reports whether an object says nothing: what an API server leaves of one
// of which no line is filled in.
func isEmpty(n *document.Node) bool {
	return n.Kind() == document.Map && !slices.ContainsFunc(n.Fields(), func(f document.Field) bool { return !isEmpty(&f.Value) })
}

// value is what an object says, whatever its formatting and without what is empty.
func value(t *testing.T, n *document.Node) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(document.AppendJSON(nil, n), &v); err != nil {
		t.Fatal(err)
	}
	return filled(v)
}

func filled(v any) any {
	if m, ok := v.(map[string]any); ok {
		for key, inner := range m {
			if m[key] = filled(inner); m[key] == nil {
				delete(m, key)
			}
		}
		if len(m) == 0 {
			return nil
		}
	}
	return v
}

const (
	storage = `{apiVersion: dao.mayadata.io/v1alpha1, kind: Storage, metadata: {name: prod-%[1]s-0, namespace: openebs},
spec: {capacity: 100Gi, nodeName: %[1]s, role: data}}`
	storageSet = `{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterStorageSet, metadata: {name: prod-%[1]s, namespace: openebs},
spec: {node: {name: %[1]s}, disk: {capacity: 100Gi, count: 2}, blockDevices: [{name: a, role: data}, {name: b, role: data}]}}`
	config = `{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: %s, namespace: openebs},
spec: {minPoolCount: 3, diskConfig: {local: {}}, poolConfig: {raidType: mirror}}}`
)

// TestSelectableFields: whoever works on a node asks for the objects of that node.
func TestSelectableFields(t *testing.T) {
	kinds := deployed(t, schema.Load())
	for _, of := range []struct{ kind, text, field string }{
		{"Storage", storage, "spec.nodeName"},
		{"CStorClusterStorageSet", storageSet, "spec.node.name"},
	} {
		for _, node := range []string{"node1", "node2"} {
			apply(t, kinds[of.kind], parse(t, fmt.Sprintf(of.text, node)), "")
		}
		list := get(t, resource(kinds[of.kind], "openebs")+"?fieldSelector="+of.field+"%3Dnode2")
		if items := list.Seq("items"); len(items) != 1 || items[0].Str("metadata", "name") == "" || !strings.Contains(items[0].Str("metadata", "name"), "node2") {
			t.Errorf("%s: %s=node2 selects %d objects", of.kind, of.field, len(items))
		}
	}
}

// TestStatus writes the status as poolwright status does, beside another writer.
func TestStatus(t *testing.T) {
	k := deployed(t, schema.Load())["CStorClusterConfig"]
	const named = `{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: told, namespace: openebs}, status: %s}`
	const told = `{phase: ERROR, reason: PoolsMissing, message: "1 of 3 pools", since: "2026-11-21T10:00:00Z", observedGeneration: 1,
conditions: [{type: Ready, status: "False", reason: PoolsMissing, message: "1 of 3 pools", lastTransitionTime: "2026-11-21T10:00:00Z", observedGeneration: 1}]}`
	stored := apply(t, k, parse(t, fmt.Sprintf(config, "told")), "")
	if stored.Get("status") != nil {
		t.Error("a new object has a status")
	}
	stored = apply(t, k, parse(t, fmt.Sprintf(named, told)), "/status")
	if phase, generation := stored.Str("status", "phase"), stored.Str("metadata", "generation"); phase != "ERROR" || generation != "1" {
		t.Errorf("phase %q, generation %q", phase, generation)
	}
	// A status in a file says nothing, even where it is none.
	withStatus := parse(t, fmt.Sprintf(config, "told"))
	withStatus.Node.Set("status", document.Object(document.F("phase", document.Text("OK"))))
	if stored = apply(t, k, withStatus, ""); stored.Str("status", "phase") != "ERROR" {
		t.Error("the status of a file was taken")
	}
	// Conditions of two writers stand beside each other.
	other := parse(t, fmt.Sprintf(named, `{conditions: [{type: Stalled, status: "False"}]}`))
	a := request(t, http.MethodPatch, resource(k, "openebs")+"/told/status?fieldManager=other&fieldValidation=Strict", asApply, other.Node)
	if n := len(parse(t, string(a.body)).Node.Seq("status", "conditions")); n != 2 {
		t.Errorf("%d conditions, want 2: %s", n, a.message())
	}
	for _, wrong := range []string{`{phase: Fine}`, `{reason: "two words"}`, `{since: yesterday}`, `{conditions: [{type: Ready}]}`, `{conditions: [{type: Ready, status: "Yes"}]}`, `{unknown: 1}`} {
		o := parse(t, fmt.Sprintf(named, wrong))
		if a := request(t, http.MethodPatch, resource(k, "openebs")+"/told/status?fieldManager=test&force=true&fieldValidation=Strict", asApply, o.Node); a.status < http.StatusBadRequest {
			t.Errorf("status %s is taken", wrong)
		}
	}
}

// TestColumns reads the tables that kubectl get prints.
func TestColumns(t *testing.T) {
	kinds := deployed(t, schema.Load())
	apply(t, kinds["CStorClusterConfig"], parse(t, fmt.Sprintf(config, "shown")), "")
	apply(t, kinds["CStorClusterConfig"], parse(t, `{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: shown, namespace: openebs},
status: {phase: OK, reason: PoolsHealthy}}`), "/status")
	apply(t, kinds["Storage"], parse(t, fmt.Sprintf(storage, "shown")), "")
	apply(t, kinds["CStorClusterStorageSet"], parse(t, fmt.Sprintf(storageSet, "shown")), "")
	apply(t, kinds["CStorClusterPlan"], parse(t, `{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterPlan, metadata: {name: shown, namespace: openebs}, spec: {nodes: [{name: node1}, {name: node2}]}}`), "")
	for _, want := range []struct{ kind, name, columns, cells string }{
		{"CStorClusterConfig", "shown", "Name Min Max RAID Disks Capacity Status Reason Since Age", `"shown" 3 null "mirror" null "100Gi" "OK" "PoolsHealthy" null`},
		{"CStorClusterPlan", "shown", "Name Nodes Status Reason Age", `"shown" "node1" null null`},
		{"CStorClusterStorageSet", "prod-shown", "Name Node Disks Capacity StorageClass Status Reason Age", `"prod-shown" "shown" 2 "100Gi" null null null`},
		{"Storage", "prod-shown-0", "Name Node Capacity Role Status Reason Age", `"prod-shown-0" "shown" "100Gi" "data" null null`},
	} {
		body := request(t, http.MethodGet, resource(kinds[want.kind], "openebs")+"/"+want.name, asTable, nil).body
		var table struct {
			ColumnDefinitions []struct{ Name, Description string }
			Rows              []struct{ Cells []json.RawMessage }
		}
		if err := json.Unmarshal(body, &table); err != nil || len(table.Rows) != 1 {
			t.Fatalf("%s: %v in %s", want.kind, err, body)
		}
		var columns, cells []string
		for i, c := range table.ColumnDefinitions {
			columns = append(columns, c.Name)
			if i < len(table.ColumnDefinitions)-1 { // not the age
				cells = append(cells, string(table.Rows[0].Cells[i]))
			}
		}
		if got := strings.Join(columns, " "); got != want.columns {
			t.Errorf("%s: columns %s, want %s", want.kind, got, want.columns)
		}
		if got := strings.Join(cells, " "); got != want.cells {
			t.Errorf("%s: cells %s, want %s", want.kind, got, want.cells)
		}
	}
}

// TestKubectl uses what is deployed as a person does.
func TestKubectl(t *testing.T) {
	kubectl := tool.Need(t, "kubectl")
	apply(t, deployed(t, schema.Load())["CStorClusterConfig"], parse(t, fmt.Sprintf(config, "typed")), "")
	for _, c := range []struct{ args, want string }{
		{"apply -k ../../deploy/crds --server-side --force-conflicts", "customresourcedefinition.apiextensions.k8s.io/storages.dao.mayadata.io serverside-applied"},
		{"apply -k ../../deploy/crds", "customresourcedefinition.apiextensions.k8s.io/storages.dao.mayadata.io configured"},
		{"get ccc -n openebs typed", "typed   3     mirror   100Gi"},
		{"get ccp,ccss,ccst -A", ""},
		{"get poolwright -n openebs", "cstorclusterconfig.dao.mayadata.io/typed"},
		{"explain ccc.spec.poolConfig.raidType", "How the disks of a pool are combined."},
		{"explain ccc.status.conditions", "FIELD: conditions <[]Object>"},
	} {
		cmd := exec.Command(kubectl, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig, "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("kubectl %s: %v, want %q:\n%s", c.args, err, c.want, out)
		}
	}
}

// apply applies an object, or its status, strictly, and returns what is stored.
func apply(t *testing.T, k schema.Kind, o *krm.Object, subresource string) *document.Node {
	t.Helper()
	path := resource(k, o.Namespace) + "/" + o.Name + subresource + "?fieldManager=test&force=true&fieldValidation=Strict"
	a := request(t, http.MethodPatch, path, asApply, o.Node)
	if a.status >= http.StatusMultipleChoices || len(a.warnings) > 0 {
		t.Fatalf("%s: %d %s %s", o.Ref, a.status, a.message(), a.warnings)
	}
	return parse(t, string(a.body)).Node
}

func get(t *testing.T, path string) *document.Node {
	t.Helper()
	a := request(t, http.MethodGet, path, asJSON, nil)
	if a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.status, a.message())
	}
	return parse(t, string(a.body)).Node
}
