package checks

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/checks/lua"
)

var update = flag.Bool("update", false, "write the files that are made of others")

// TestConfigMap holds that the patch of Argo CD's settings has the scripts beside it;
// -update writes it.
func TestConfigMap(t *testing.T) {
	const file = "../../deploy/argocd/health/argocd-cm.yaml"
	var want strings.Builder
	want.WriteString("# Made of the scripts beside it: go test ./... -update in test/checks.\n")
	want.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n")
	for _, c := range checks() {
		fmt.Fprintf(&want, "  resource.customizations.health.%s_%s: |\n", c.group, c.kind)
		for line := range strings.Lines(c.lua(t)) {
			if line != "\n" {
				want.WriteString("    ")
			}
			want.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("%s is not what the scripts say: run go test ./... -update in test/checks", file)
	}
}

// TestIgnoreDifferences takes from a pool cluster what Argo CD is configured to ignore, with
// the jq that it uses, and holds that the rest is what we rendered.
func TestIgnoreDifferences(t *testing.T) {
	var settings struct{ Data map[string]string }
	readYAML(t, "../../deploy/argocd/health/argocd-cm-ignore.yaml", &settings)
	var ignore struct{ JSONPointers, JQPathExpressions []string }
	if err := yaml.UnmarshalStrict([]byte(settings.Data["resource.customizations.ignoreDifferences.cstor.openebs.io_CStorPoolCluster"]), &ignore); err != nil {
		t.Fatal(err)
	}
	var rendered, live map[string]any
	readYAML(t, "../../testdata/differences/rendered.yaml", &rendered)
	readYAML(t, "../../testdata/differences/live.yaml", &live)
	if reflect.DeepEqual(rendered, live) {
		t.Fatal("there is nothing to ignore")
	}
	expressions := ignore.JQPathExpressions
	for _, pointer := range ignore.JSONPointers {
		expressions = append(expressions, strings.ReplaceAll(pointer, "/", "."))
	}
	var value any = live
	for _, expression := range expressions {
		query, err := gojq.Parse("del(" + expression + ")")
		if err != nil {
			t.Fatal(err)
		}
		result, _ := query.Run(value).Next()
		if err, failed := result.(error); failed {
			t.Fatalf("%s: %v", expression, err)
		}
		value = result
	}
	if !reflect.DeepEqual(value, any(rendered)) {
		t.Errorf("left over: %v\ninstead of: %v", value, rendered)
	}
}

// TestIgnoreUpdates holds that the settings are what Argo CD can read.
func TestIgnoreUpdates(t *testing.T) {
	var settings struct{ Data map[string]string }
	readYAML(t, "../../deploy/argocd/health/argocd-cm-ignore.yaml", &settings)
	for key, text := range settings.Data {
		var ignore struct{ JSONPointers, JQPathExpressions []string }
		if err := yaml.UnmarshalStrict([]byte(text), &ignore); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		for _, expression := range ignore.JQPathExpressions {
			if _, err := gojq.Parse("del(" + expression + ")"); err != nil {
				t.Errorf("%s: %s: %v", key, expression, err)
			}
		}
	}
}

func readYAML(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestLua runs every health check of Argo CD over its table.
func TestLua(t *testing.T) {
	verdicts := map[string]string{
		"current": "Healthy", "progressing": "Progressing", "degraded": "Degraded", "failed": "Degraded", "suspended": "Suspended",
	}
	for _, c := range checks() {
		t.Run(c.kind, func(t *testing.T) {
			script := c.lua(t)
			for _, r := range c.rows(t) {
				status, message, err := lua.Health(script, r.Object)
				switch {
				case err != nil:
					t.Errorf("%s: %v", r.Name, err)
				case status != verdicts[r.Want]:
					t.Errorf("%s: %s (%s) instead of %s", r.Name, status, message, verdicts[r.Want])
				case r.Message != "" && message != r.Message:
					t.Errorf("%s: %q instead of %q", r.Name, message, r.Message)
				case r.Message == "" && r.Want != "current" && message == "" && !c.record():
					t.Errorf("%s: no message", r.Name)
				}
			}
		})
	}
}

// TestLuaNonsense holds that no object is an error, however wrong.
func TestLuaNonsense(t *testing.T) {
	for _, c := range checks() {
		t.Run(c.kind, func(t *testing.T) {
			script := c.lua(t)
			for _, r := range c.rows(t) {
				spoilt(r.Object, func(object map[string]any) {
					if _, _, err := lua.Health(script, object); err != nil {
						t.Errorf("%s: %v: %v", r.Name, object, err)
					}
				})
			}
		})
	}
}

func (c check) lua(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(c.file(scripts))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}
