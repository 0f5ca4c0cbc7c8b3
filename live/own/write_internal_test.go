package own

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// TestWantedStatus holds what a status becomes when the facts change: times move
// only when their content changes.
func TestWantedStatus(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	object := config(t)
	steps := []struct {
		name   string
		status health.Status
		now    time.Time
		since  string
		// type, status and lastTransitionTime
		conditions [][3]string
		unchanged  bool
	}{
		{"first", health.Status{Phase: health.Progressing, Reason: "PoolPending", Message: "2 of 3"}, at(0), "2026-05-01T12:00:00Z",
			[][3]string{{"Ready", "False", "2026-05-01T12:00:00Z"}, {"Reconciling", "True", "2026-05-01T12:00:00Z"}}, false},
		{"the same later", health.Status{Phase: health.Progressing, Reason: "PoolPending", Message: "2 of 3"}, at(1), "2026-05-01T12:00:00Z",
			[][3]string{{"Ready", "False", "2026-05-01T12:00:00Z"}, {"Reconciling", "True", "2026-05-01T12:00:00Z"}}, true},
		{"another message", health.Status{Phase: health.Progressing, Reason: "PoolPending", Message: "1 of 3"}, at(2), "2026-05-01T12:00:00Z",
			[][3]string{{"Ready", "False", "2026-05-01T12:00:00Z"}, {"Reconciling", "True", "2026-05-01T12:00:00Z"}}, false},
		{"well", health.Status{Phase: health.OK, Reason: health.Healthy}, at(3), "2026-05-01T12:03:00Z",
			[][3]string{{"Ready", "True", "2026-05-01T12:03:00Z"}, {"Reconciling", "False", "2026-05-01T12:03:00Z"}}, false},
		{"an error that the facts know the time of", health.Status{Phase: health.Error, Reason: "NodeNotReady", Since: at(-9)}, at(4), "2026-05-01T11:51:00Z",
			[][3]string{{"Ready", "False", "2026-05-01T12:04:00Z"}, {"Reconciling", "False", "2026-05-01T12:03:00Z"}}, false},
		{"an invalid spec", health.Status{Phase: health.Error, Reason: health.InvalidSpec}, at(5), "2026-05-01T12:05:00Z",
			[][3]string{{"Ready", "False", "2026-05-01T12:04:00Z"}, {"Reconciling", "False", "2026-05-01T12:03:00Z"}, {"Stalled", "True", "2026-05-01T12:05:00Z"}}, false},
		{"mended", health.Status{Phase: health.OK, Reason: health.Healthy}, at(6), "2026-05-01T12:06:00Z",
			[][3]string{{"Ready", "True", "2026-05-01T12:06:00Z"}, {"Reconciling", "False", "2026-05-01T12:03:00Z"}}, false},
	}
	var current *document.Node
	for _, s := range steps {
		s.status.Spec = object.Ref
		wanted := wantedStatus(&s.status, object, current, s.now)
		if got := wanted.Str("since"); got != s.since {
			t.Errorf("%s: since %s, want %s", s.name, got, s.since)
		}
		if got, _ := wanted.Get("observedGeneration").Int(); got != 3 {
			t.Errorf("%s: observedGeneration %d", s.name, got)
		}
		list := wanted.Seq("conditions")
		if len(list) != len(s.conditions) {
			t.Errorf("%s: %d conditions, want %d", s.name, len(list), len(s.conditions))
			continue
		}
		for i, c := range s.conditions {
			if got := [3]string{list[i].Str("type"), list[i].Str("status"), list[i].Str("lastTransitionTime")}; got != c {
				t.Errorf("%s: condition %v, want %v", s.name, got, c)
			}
			if got, _ := list[i].Get("observedGeneration").Int(); got != 3 {
				t.Errorf("%s: condition %s: observedGeneration %d", s.name, c[0], got)
			}
		}
		if got := says(current, &wanted); got != s.unchanged {
			t.Errorf("%s: unchanged is %t, want %t", s.name, got, s.unchanged)
		}
		current = &wanted
	}
}

// TestOthersConditions holds that what others say of an object is not ours to correct.
func TestOthersConditions(t *testing.T) {
	o := config(t)
	status := health.Status{Spec: o.Ref, Phase: health.OK, Reason: health.Healthy}
	wanted := wantedStatus(&status, o, nil, time.Time{})
	current := wantedStatus(&status, o, nil, time.Time{})
	more := append(current.Seq("conditions"), document.Object(document.F("type", document.Text("Stalled")), document.F("status", document.Text("False"))))
	current.Set("conditions", document.List(more...))
	if !says(&current, &wanted) {
		t.Error("a condition of somebody else makes a difference")
	}
	current.Set("conditions", document.List(more[1:]...))
	if says(&current, &wanted) {
		t.Error("a condition is missing, and makes no difference")
	}
}

// TestPackage holds that the lock of a cluster is what is applied of the output, of
// our own kinds and foreign ones; what others own is not.
func TestPackage(t *testing.T) {
	objects, err := krm.Parse(&document.Source{Data: []byte(`
{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: prod}}
---
{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterPlan, metadata: {name: prod, labels: {app.kubernetes.io/managed-by: poolwright}, annotations: {poolwright.io/owner: x}}}
---
{apiVersion: dao.mayadata.io/v1alpha1, kind: Storage, metadata: {name: by-hand}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: prod-n-0, labels: {app.kubernetes.io/managed-by: poolwright}, annotations: {poolwright.io/owner: x}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	var ours []*Object
	for _, o := range objects[:3] {
		ours = append(ours, &Object{Object: o})
	}
	p := Package(system.NewKinds(systems.All()...), ours, objects[3:])
	if len(p.Objects) != 1 || p.Objects[0] != objects[0] || len(p.Output) != 2 || p.Output[0] != objects[1] || p.Output[1] != objects[3] {
		t.Errorf("%d objects, output %v", len(p.Objects), p.Output)
	}
	// What is of a kind of ours and a fact, too, is there once.
	if p = Package(system.NewKinds(systems.All()...), ours, objects[:4]); len(p.Objects) != 1 || len(p.Output) != 2 {
		t.Errorf("read twice: %d objects, output %v", len(p.Objects), p.Output)
	}
}

// TestStalled holds that only the spec that is invalid has failed for good: what
// was rendered for it comes right without an edit of its own.
func TestStalled(t *testing.T) {
	o := config(t)
	invalid := health.Status{Spec: o.Ref, Phase: health.Error, Reason: health.InvalidSpec}
	wanted := wantedStatus(&invalid, o, nil, time.Time{})
	if conditionOf(&wanted, "Stalled").Str("status") != "True" {
		t.Error("an invalid spec is not stalled")
	}
	o.Kind = "CStorClusterPlan"
	wanted = wantedStatus(&invalid, o, nil, time.Time{})
	if conditionOf(&wanted, "Stalled") != nil || wanted.Str("phase") != "ERROR" {
		t.Errorf("a plan of an invalid spec: %s", document.AppendJSON(nil, &wanted))
	}
}

// TestLongMessage holds that a message is cut where a character ends: the API
// server takes no half of one.
func TestLongMessage(t *testing.T) {
	o := config(t)
	long := health.Status{Spec: o.Ref, Message: "x" + strings.Repeat("ö", maxMessage)}
	wanted := wantedStatus(&long, o, nil, time.Time{})
	if got := wanted.Str("message"); !utf8.ValidString(got) || len(got) != maxMessage-1 {
		t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}

// TestNotFound holds what a status means that cannot be found to write: the object is gone,
// or its kind has no status subresource, or that is not known.
func TestNotFound(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusNotFound:            "",
		http.StatusOK:                  "cannot write the status of CStorClusterConfig openebs/prod: its kind has no status subresource; apply the definitions of deploy/crds",
		http.StatusInternalServerError: "cannot write the status of CStorClusterConfig openebs/prod: no database",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.Method != http.MethodGet:
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
			case code == http.StatusOK:
				fmt.Fprint(w, `{"kind": "CStorClusterConfig", "apiVersion": "dao.mayadata.io/v1alpha1"}`)
			default:
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "message": "no database"}`, code)
			}
		}))
		kubeconfig := filepath.Join(t.TempDir(), "config")
		text := fmt.Sprintf(`{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`, server.URL)
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig})
		if err != nil {
			t.Fatal(err)
		}
		o := config(t)
		resource := cluster.Resource{Group: "dao.mayadata.io", Version: "v1alpha1", Kind: o.Kind, Plural: "cstorclusterconfigs", Namespaced: true}
		n, err := NewWriter(c, system.NewKinds()).Write(t.Context(), []*Object{{Object: o, Resource: resource}}, []health.Status{{Spec: o.Ref, Phase: health.OK}}, time.Time{})
		server.Close()
		if n != 0 || (want == "") != (err == nil) || err != nil && err.Error() != want {
			t.Errorf("%d: %d written, %v", code, n, err)
		}
	}
}

// TestWriterForgets holds that a Writer remembers no more than there is.
func TestWriterForgets(t *testing.T) {
	w := NewWriter(nil, system.NewKinds())
	w.written = map[string]written{"": {version: "1"}, "gone": {version: "2"}}
	if _, err := w.Write(t.Context(), []*Object{{Object: config(t)}}, nil, time.Time{}); err != nil || len(w.written) != 1 || w.written[""].version != "1" {
		t.Errorf("%v, %v", w.written, err)
	}
}

func config(t *testing.T) *krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Data: []byte(`{"apiVersion": "dao.mayadata.io/v1alpha1", "kind": "CStorClusterConfig", "metadata": {"name": "prod", "namespace": "openebs", "generation": 3}}`)})
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}
