package checks

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the files that are made of others")

// luaTimeout is what Argo CD gives a health check.
const luaTimeout = time.Second

// TestConfigMap holds that the patch of Argo CD's settings has the scripts beside it;
// -update writes it.
func TestConfigMap(t *testing.T) {
	const file = "../argocd/health/argocd-cm.yaml"
	var want strings.Builder
	want.WriteString("# Made of the scripts beside it: go test ./... -update in deploy/checks.\n")
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
		t.Errorf("%s is not what the scripts say: run go test ./... -update in deploy/checks", file)
	}
}

// TestIgnoreDifferences takes from a pool cluster what Argo CD is told to ignore, with
// the jq that it uses, and holds that the rest is what we rendered.
func TestIgnoreDifferences(t *testing.T) {
	var settings struct{ Data map[string]string }
	readYAML(t, "../argocd/health/argocd-cm-ignore.yaml", &settings)
	var ignore struct{ JSONPointers, JQPathExpressions []string }
	if err := yaml.UnmarshalStrict([]byte(settings.Data["resource.customizations.ignoreDifferences.cstor.openebs.io_CStorPoolCluster"]), &ignore); err != nil {
		t.Fatal(err)
	}
	var rendered, live map[string]any
	readYAML(t, "testdata/differences/rendered.yaml", &rendered)
	readYAML(t, "testdata/differences/live.yaml", &live)
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
	readYAML(t, "../argocd/health/argocd-cm-ignore.yaml", &settings)
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
				status, message, err := health(script, r.Object)
				switch {
				case err != nil:
					t.Errorf("%s: %v", r.Name, err)
				case status != verdicts[r.Want]:
					t.Errorf("%s: %s (%s) instead of %s", r.Name, status, message, verdicts[r.Want])
				case r.Message != "" && message != r.Message:
					t.Errorf("%s: %q instead of %q", r.Name, message, r.Message)
				case r.Message == "" && r.Want != "current" && message == "" && c.group != "dao.mayadata.io":
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
					if _, _, err := health(script, object); err != nil {
						t.Errorf("%s: %v: %v", r.Name, object, err)
					}
				})
			}
		})
	}
}

func (c check) lua(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("../argocd/health", c.table+".lua"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// health runs a script as Argo CD does: the object is the global obj, of the
// libraries there are those that Argo CD opens for a script of one's own, and the
// script returns a table of status and message.
func health(script string, object map[string]any) (status, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.OsLibName: lua.OpenOs,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	// Of os there are the time and the date.
	safe, system := state.NewTable(), state.GetGlobal(lua.OsLibName)
	for _, name := range []string{"time", "date"} {
		safe.RawSetString(name, state.GetField(system, name))
	}
	state.SetGlobal(lua.OsLibName, safe)
	ctx, cancel := context.WithTimeout(context.Background(), luaTimeout)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("a table is wanted, not %s", state.Get(-1).Type())
	}
	text, ok := result.RawGetString("message").(lua.LString)
	if !ok {
		return "", "", fmt.Errorf("the message is %s", result.RawGetString("message").Type())
	}
	switch status := result.RawGetString("status").String(); status {
	case "Healthy", "Progressing", "Degraded", "Suspended":
		return status, string(text), nil
	default:
		return "", "", fmt.Errorf("the status is %q", status)
	}
}

// value makes JSON into what Lua sees of it; null is nothing there.
func value(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case []any:
		table := state.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(v))
		for key, item := range v {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}
