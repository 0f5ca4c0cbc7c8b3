package deploy

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const chart = "../../deploy/charts/poolwright-controller/"

// helm renders the chart with other values than its own, as helm template does with --set-json. The chart uses
// nothing but text/template and the functions that are here, so that Helm, which takes minutes to compile, is not
// needed.
func helm(t *testing.T, set map[string]any) map[krm.ID]*krm.Object {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(read(t, chart+"values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	overlay(t, values, set)
	text := func(v any) string {
		out, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	functions := template.FuncMap{
		"toYaml":  text,
		"nindent": func(n int, s string) string { return "\n" + indent(n, s) },
		"quote":   func(s string) string { n := document.Text(s); return string(document.AppendJSON(nil, &n)) },
	}
	files, err := filepath.Glob(chart + "templates/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	all := map[krm.ID]*krm.Object{}
	for _, file := range files {
		parsed, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(functions).Parse(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := parsed.Execute(&out, map[string]any{"Values": values, "Release": map[string]any{"Namespace": "poolwright-controller", "Name": "any"}}); err != nil {
			t.Fatal(err)
		}
		found, err := krm.Parse(&document.Source{Name: file, Data: out.Bytes()})
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for _, o := range found {
			if all[o.ID()] != nil {
				t.Errorf("%s: %s is there twice", file, o.Ref)
			}
			all[o.ID()] = o
		}
	}
	return all
}

func indent(n int, text string) string {
	space := strings.Repeat(" ", n)
	return space + strings.ReplaceAll(text, "\n", "\n"+space)
}

// overlay sets values that the chart has.
func overlay(t *testing.T, values, set map[string]any) {
	t.Helper()
	for key, value := range set {
		had, known := values[key]
		if !known {
			t.Errorf("the chart has no value %s", key)
		}
		below, isMap := had.(map[string]any)
		if more, both := value.(map[string]any); isMap && both {
			overlay(t, below, more)
			continue
		}
		values[key] = value
	}
}

// behind is a file of deploy/, as the chart has it behind a value.
func behind(t *testing.T, value, file string) string {
	text := strings.NewReplacer("{{", "{{ `{{", "}}", "}}` }}").Replace(read(t, "../../deploy/"+file)) // of alerts
	text = strings.ReplaceAll(text, "namespace: poolwright-controller", "namespace: {{ .Release.Namespace }}")
	return "{{- if .Values." + value + " }}\n" + text + "{{- end }}\n"
}

// TestChart holds that the chart with its own values has the objects of deploy/controller, but for the namespace,
// which is that of the release, and besides the role of deploy/rbac and the definition of deploy/crds.
func TestChart(t *testing.T) {
	for name, want := range map[string]string{
		"templates/inventory-role.yaml":      behind(t, "inventoryRole.create", "rbac/role.yaml"),
		"templates/apply-role.yaml":          behind(t, "applyRole.create", "controller/apply/rbac.yaml"),
		"templates/prometheusrule.yaml":      behind(t, "prometheusRule.enabled", "controller/monitoring/prometheusrule.yaml"),
		"crds/hydrations.poolwright.io.yaml": read(t, "../../deploy/crds/hydrations.poolwright.io.yaml"),
	} {
		if *update {
			if err := os.WriteFile(chart+name, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(chart + name); err != nil || string(got) != want {
			t.Errorf("%s is not a copy of what deploy/ has; make generate writes it (%v)", name, err)
		}
	}
	want := map[krm.ID]*krm.Object{}
	for _, file := range []string{"rbac/role.yaml", "controller/deployment.yaml", "controller/policies.yaml", "controller/rbac.yaml"} {
		for _, o := range objects(t, "../../deploy/"+file) {
			want[o.ID()] = o
		}
	}
	same(t, helm(t, nil), want)
	for _, o := range objects(t, "../../deploy/controller/namespace.yaml") {
		if o.Kind != "Namespace" {
			t.Errorf("the chart lacks %s", o.Ref)
		}
	}
}

// same holds that two sets of objects are one.
func same(t *testing.T, got, want map[krm.ID]*krm.Object) {
	t.Helper()
	for _, id := range slices.SortedFunc(maps.Keys(want), krm.ID.Compare) {
		switch o := got[id]; {
		case o == nil:
			t.Errorf("the chart lacks %s", want[id].Ref)
		case !document.Equal(o.Node, want[id].Node):
			t.Errorf("the chart has\n%s\nand deploy/ has\n%s", document.Append(nil, o.Node, 0), document.Append(nil, want[id].Node, 0))
		}
	}
	for id, o := range got {
		if want[id] == nil {
			t.Errorf("the chart has %s, too", o.Ref)
		}
	}
}

// TestChartParts holds that with the service monitor the chart has the objects of the component, and with the role
// for mode Apply those of deploy/controller/apply.
func TestChartParts(t *testing.T) {
	for _, c := range []struct {
		set   map[string]any
		files []string
	}{
		{map[string]any{"serviceMonitor": map[string]any{"enabled": true}}, []string{"monitoring/service.yaml", "monitoring/servicemonitor.yaml", "monitoring/networkpolicy.yaml"}},
		{map[string]any{"applyRole": map[string]any{"create": true}}, []string{"apply/rbac.yaml"}},
		{map[string]any{"prometheusRule": map[string]any{"enabled": true}}, []string{"monitoring/prometheusrule.yaml"}},
		{map[string]any{"webhooks": map[string]any{"enabled": true}}, []string{"webhooks/service.yaml", "webhooks/networkpolicy.yaml"}},
	} {
		want := helm(t, nil)
		for _, file := range c.files {
			for _, o := range objects(t, "../../deploy/controller/"+file) {
				want[o.ID()] = o
			}
		}
		got := helm(t, c.set)
		if c.set["webhooks"] != nil {
			for _, o := range want {
				if o.Kind == "Deployment" {
					patch(t, o, "../../deploy/controller/webhooks/patch.yaml")
				}
			}
		}
		same(t, got, want)
	}
}

// patch changes an object by a JSON patch, each operation of which adds an item to a list.
func patch(t *testing.T, o *krm.Object, file string) {
	t.Helper()
	source := &document.Source{Name: file, Data: []byte("items:\n" + read(t, file))}
	docs, err := document.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	operations := docs[0].Node.Seq("items")
	for i := range operations {
		path, ends := strings.CutSuffix(operations[i].Str("path"), "/-")
		if operations[i].Str("op") != "add" || !ends {
			t.Fatalf("%s adds no item to a list", file)
		}
		list := o.Node
		for key := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			if n, err := strconv.Atoi(key); err == nil {
				list = &list.Items()[n]
			} else {
				list = list.Get(key)
			}
		}
		list.Add(*operations[i].Get("value"))
	}
}

// TestChartValues holds what the values do.
func TestChartValues(t *testing.T) {
	list := func(items ...string) (all []any) {
		for _, item := range items {
			all = append(all, item)
		}
		return all
	}
	got := helm(t, map[string]any{
		"replicas": 3, "image": map[string]any{"repository": "registry.example.com/poolwright-controller", "tag": "v1", "pullPolicy": "Always"},
		"imagePullSecrets": []any{map[string]any{"name": "registry"}},
		"namespaces":       list("storage", "test"), "secretNamespaces": list("storage", "poolwright-controller"), "allowHosts": list("git.example.com:3000"),
		"extraArgs": list(`--max-source=64Mi`, "--lease-name=a b"), "resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}}, "goMemLimit": "900MiB",
		"service": map[string]any{"enabled": false}, "networkPolicy": map[string]any{"enabled": false}, "podDisruptionBudget": map[string]any{"enabled": false},
		"inventoryRole": map[string]any{"create": false}, "serviceMonitor": map[string]any{"enabled": true, "interval": "10s"},
	})
	var deployment *krm.Object
	kinds := map[string][]string{}
	for _, o := range got {
		kinds[o.Kind] = append(kinds[o.Kind], o.Ref.String())
		if o.Kind == "Deployment" {
			deployment = o
		}
	}
	for kind, want := range map[string]int{"NetworkPolicy": 0, "PodDisruptionBudget": 0, "ClusterRole": 2, "RoleBinding": 4, "ServiceMonitor": 1, "Service": 1} {
		if len(kinds[kind]) != want {
			t.Errorf("%s: %q", kind, kinds[kind])
		}
	}
	spec := deployment.Node.Get("spec")
	containers := spec.Seq("template", "spec", "containers")
	if len(containers) != 1 || spec.Str("replicas") != "3" || spec.Seq("template", "spec", "imagePullSecrets")[0].Str("name") != "registry" {
		t.Errorf("the Deployment is\n%s", document.Append(nil, deployment.Node, 0))
	}
	c := &containers[0]
	if c.Str("image") != "registry.example.com/poolwright-controller:v1" || c.Str("imagePullPolicy") != "Always" || c.Str("resources", "limits", "memory") != "1Gi" || c.Seq("env")[0].Str("value") != "900MiB" {
		t.Errorf("the container is\n%s", document.Append(nil, c, 0))
	}
	var args []string
	for _, a := range c.Seq("args") {
		args = append(args, a.Value())
	}
	want := []string{"--listen=:8081", "--namespace=storage", "--namespace=test", "--allow-host=git.example.com:3000", "--max-source=64Mi", "--lease-name=a b"}
	if !slices.Equal(args, want) {
		t.Errorf("the arguments are %q, want %q", args, want)
	}
}
