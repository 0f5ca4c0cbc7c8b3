package snapshot

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

func TestMask(t *testing.T) {
	for _, c := range []struct{ name, mask, in, want string }{
		{"whole, in order", "spec", `{"spec":{"b":1,"a":[{"d":2,"c":3}]},"status":{}}`, `{"spec":{"a":[{"c":3,"d":2}],"b":1}}`},
		{"some fields", "spec{a b{c}}", `{"spec":{"a":1,"b":{"c":2,"x":3},"x":4}}`, `{"spec":{"a":1,"b":{"c":2}}}`},
		{"every item", "l{a}", `{"l":[{"a":1,"b":2},{"a":3}]}`, `{"l":[{"a":1},{"a":3}]}`},
		{"some items", "l[t=x]{a}", `{"l":[{"t":"x","a":1},{"t":"y","a":2}]}`, `{"l":[{"a":1}]}`},
		{"nothing left", "status{phase c[t=x]{a}}", `{"status":{"other":1,"c":[{"t":"y"}]}}`, `{}`},
		{"empty as it is", "spec", `{"spec":{"filesystem":{},"l":[],"n":null}}`, `{"spec":{"filesystem":{},"l":[]}}`},
		{"after the brackets", "a{b} c", `{"a":{"b":1},"c":2}`, `{"a":{"b":1},"c":2}`},
		{"secrets", "spec", `{"spec":{"nodePublishSecretRef":{"name":"s"},"adminPassword":"x","a":[{"tokenRequests":1}],"path":"/dev/sda"}}`, `{"spec":{"a":[{}],"path":"/dev/sda"}}`},
		{"clocks", "status", `{"status":{"conditions":[{"lastHeartbeatTime":"1","lastUpdateTime":"2","lastTransitionTime":"3"}]}}`, `{"status":{"conditions":[{"lastTransitionTime":"3"}]}}`},
		{"not a map", "spec{a}", `{"spec":7}`, `{"spec":7}`},
	} {
		got := parseMask(c.mask).apply(mustParse([]byte(c.in)))
		if text := string(document.AppendJSON(nil, &got)); text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}

func TestMaskWith(t *testing.T) {
	in := `{"spec":{"a":{"x":1,"y":2},"b":3},"status":{"c":[{"type":"Ready","z":4}],"d":{"e":5,"f":6}}}`
	for path, want := range map[string]string{
		"status.d.e": `{"spec":{"a":{"x":1}},"status":{"d":{"e":5}}}`,
		"spec.a":     `{"spec":{"a":{"x":1,"y":2}}}`,
		"spec.a.y":   `{"spec":{"a":{"x":1,"y":2}}}`,
		"spec":       `{"spec":{"a":{"x":1,"y":2},"b":3}}`,
		"nothing":    `{"spec":{"a":{"x":1}}}`,
	} {
		m := parseMask("spec{a{x}}")
		got := m.with(strings.Split(path, ".")).apply(mustParse([]byte(in)))
		if text := string(document.AppendJSON(nil, &got)); text != want {
			t.Errorf("%s: got %s, want %s", path, text, want)
		}
		before := m.apply(mustParse([]byte(in)))
		if text := string(document.AppendJSON(nil, &before)); text != `{"spec":{"a":{"x":1}}}` {
			t.Errorf("%s changed the mask itself: %s", path, text)
		}
	}
}

func TestItem(t *testing.T) {
	r := cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}
	o := Options{Annotations: []string{"example.com/rack"}}
	in := `{"metadata":{"uid":"u","resourceVersion":"9","managedFields":[{}],"name":"n","generation":3,
		"annotations":{"poolwright.io/owner":"o","example.com/rack":"7","kubectl.kubernetes.io/last-applied-configuration":"x"},
		"labels":{"b":"2","a":"1"},"creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{}]},
		"spec":{"podCIDR":"10.0.0.0/24","unschedulable":true}}`
	want := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"a":"1","b":"2"},` +
		`"annotations":{"example.com/rack":"7","poolwright.io/owner":"o"},"uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"unschedulable":true}}`
	if got := o.slimmer(r, parseMask(kinds[0].fields)).item(mustParse([]byte(in))); got.json != want || got.name != "n" || got.namespace != "" {
		t.Errorf("got  %s\nwant %s", got.json, want)
	}
}

func TestKeep(t *testing.T) {
	spec := krm.NewObject(nil, mustParse([]byte(`{"spec":{
		"allowedNodes":{"nodeSelectorTerms":[{"matchAnnotations":{"example.com/rack":"7"},"matchFields":[{"key":"metadata.name"}]}]},
		"disks":{"terms":[{"matchFields":[{"key":"status.temperature"},{"key":"metadata.annotations.shelf"},{"key":"spec.path"}]},{"matchFields":{"status.temperature":"4"}}]}}}`)))
	var o Options
	o.Keep([]*krm.Object{spec})
	if len(o.Annotations) != 2 || o.Annotations[0] != "example.com/rack" || o.Annotations[1] != "shelf" ||
		len(o.Fields) != 2 || o.Fields[0] != "spec.path" || o.Fields[1] != "status.temperature" {
		t.Errorf("%q %q", o.Annotations, o.Fields)
	}
}
