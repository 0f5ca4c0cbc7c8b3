package mayastor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/engines/scenario"
	"github.com/poolwright/poolwright/test/tool"
)

// One for the whole test binary, see TestMain.
var (
	plane   *controlplane.ControlPlane
	program string // poolwright
)

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, "../../bin", func(c *controlplane.ControlPlane) (err error) {
		plane = c
		program, err = tool.Build("../..", c.Dir)
		return err
	}))
}

// row is what happens to a pool, and what its status and the events then make of it.
type row struct {
	what string
	do   func(*stage)
	want string // phase and reason
	note string // part of the message: the event
}

// rows are the states and events of the operator, in an order in which one pool can go
// through them.
func rows() []row {
	meet := func(w World) func(*stage) { return func(s *stage) { s.operator.Meet(w) } }
	return []row{
		{"rendered, not applied", func(*stage) {}, "PROGRESSING NotApplied", ""},
		{"applied; the operator does not run", (*stage).apply, "PROGRESSING NotCreated", ""},
		{"made, no state of it yet", meet(World{}), "PROGRESSING Creating", ""},
		{"cannot be made", meet(World{Put: 500}), "PROGRESSING Creating", "Failure"},
		{"cannot be made, newer operator", meet(World{Newer: true, Put: 404, Error: "DiskNotFound"}), "PROGRESSING Creating", "DiskNotFound: "},
		{"there already, and without a state", func(s *stage) {
			s.operator.Meet(World{Put: 422})
			s.made()
			s.operator.Meet(World{Put: 422})
		}, "PROGRESSING NoAnswer", "Missing"},
		{"online", meet(World{State: "Online"}), "OK Healthy", ""},
		{"degraded", meet(World{State: "Degraded"}), "ERROR Degraded", ""},
		{"faulted", meet(World{State: "Faulted"}), "ERROR Faulted", ""},
		{"the control plane answers 503: status cleared", meet(World{Get: 503, Put: 503}), "PROGRESSING NotCreated", "Unreachable"},
		{"and goes on answering 503", meet(World{Get: 503, Put: 503}), "PROGRESSING Creating", "Failure"},
		{"back, without an answer of the node", meet(World{Put: 422, State: "Unknown"}), "PROGRESSING NoAnswer", ""},
		{"no answer in time, newer operator", meet(World{Newer: true, State: "Unknown", Event: [3]string{"Warning", "Timeout", "the node does not answer in time"}}), "PROGRESSING NoAnswer", "Timeout"},
		{"its node is offline, newer operator", meet(World{Newer: true, State: "Unknown", Error: "NodeIsOffline", Detail: "node n1 is offline"}), "PROGRESSING NoAnswer", "NodeIsOffline: node n1 is offline"},
		{"degraded, with alerts, newer operator", meet(World{Newer: true, State: "Degraded", Alerts: map[string][]string{"attention": {"IoStallIntermittent"}, "critical": {"IoErrors", "MediaErrors"}}}), "ERROR Degraded", "critical: IoErrors, MediaErrors; attention: IoStallIntermittent"},
		{"suspected, newer operator", meet(World{Newer: true, State: "Suspected", Error: "InvalidSuperBlock", Detail: "the super block cannot be read"}), "ERROR Suspected", "InvalidSuperBlock: the super block cannot be read"},
		{"cordoned for imports, its node started again, newer operator", meet(World{Newer: true, State: "Unknown", Error: "ImportDisabled", Detail: "imports of the pool are disabled"}), "ERROR Cordoned", "ImportDisabled: imports of the pool are disabled"},
		{"cordoned for replicas, newer operator: the DiskPool does not show it", meet(World{Newer: true, State: "Online"}), "OK Healthy", ""},
		{"removed behind its back, newer operator", meet(World{Newer: true, Get: 404}), "ERROR PoolDeleted", "PoolDeleted: the control plane has no such pool"},
		{"online again", meet(World{State: "Online"}), "OK Healthy", ""},
		{"removed behind its back: the status stays", meet(World{Get: 404}), "OK Healthy", "Notfound"},
		{"state Error of releases to 2.3", func(s *stage) { s.write("Error") }, "ERROR UnknownState", ""},
		{"a state of a release to come", func(s *stage) { s.write("Paused") }, "ERROR UnknownState", ""},
		{"deleted by a person, with replicas on it", func(s *stage) {
			s.operator.Meet(World{State: "Online", Delete: 409})
			s.remove()
		}, "ERROR Terminating", "DeleteFailed"},
		{"and purging is not allowed, newer operator", meet(World{Newer: true, State: "Online", Delete: 423, Event: [3]string{"Warning", "PurgeBlocked", "openebs.io/delete-opts has no value that is known"}}), "ERROR Terminating", "PurgeBlocked"},
		{"and purged, newer operator", meet(World{Newer: true, State: "Unknown", Error: "NodeIsOffline", Delete: 423, Event: [3]string{"Normal", "Cordoned", "Pool cordoned for replicas and snapshots before purge"}}), "ERROR Terminating", ""},
		{"and cannot be cordoned for that, newer operator", meet(World{Newer: true, State: "Unknown", Delete: 423, Event: [3]string{"Warning", "CordonFailed", "Failed to cordon pool before purge"}}), "ERROR Terminating", "CordonFailed"},
		{"deleted, and no longer rendered", func(s *stage) {
			s.operator.Meet(World{State: "Online", Delete: 409})
			s.unrender()
		}, "PROGRESSING Terminating", "DeleteFailed"},
		{"deleted at last", meet(World{State: "Online"}), "PROGRESSING NotRendered", ""},
	}
}

// TestStates has a pool go through all of it, and holds the table of docs/diskpool.md to
// what status says.
func TestStates(t *testing.T) {
	s := newStage(t)
	var table strings.Builder
	table.WriteString("| what happens | cr_state, state | newest warning | status | message |\n|---|---|---|---|---|\n")
	for _, row := range rows() {
		s.forget()
		row.do(s)
		phase, message, said := s.await(row)
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", row.what, said.state, said.event, phase, message)
	}
	const file, begin, end = "../../docs/diskpool.md", "<!-- states: made by go test ./test/mayastor -update -->\n", "<!-- end of states -->"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	old, after, ends := strings.Cut(rest, end)
	switch {
	case !found || !ends:
		t.Fatalf("%s has no place for the table", file)
	case *scenario.Update:
		if err := os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	case old != table.String():
		t.Errorf("%s says otherwise; -update writes\n%s", file, table.String())
	}
}

// stage is a package with one pool, and the operator.
type stage struct {
	t        *testing.T
	dir      string
	cluster  *scenario.Cluster
	client   dynamic.Interface
	operator *Operator
	pool     *unstructured.Unstructured
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c, err := scenario.Connect(plane.Kubeconfig)
	check(t, err)
	client, err := dynamic.NewForConfig(c.Config)
	check(t, err)
	s := &stage{t: t, dir: filepath.Join(t.TempDir(), "pkg"), cluster: c, client: client, operator: &Operator{Client: client, Namespace: "openebs"}}
	for _, o := range scenario.Upstream(t, "openebs-diskpool.yaml") {
		errorInfo(t, o)
		check(t, c.Apply(t.Context(), o))
	}
	check(t, plane.AwaitServed(t.Context()))
	check(t, os.CopyFS(s.dir, os.DirFS("../../testdata/packages/six-disks")))
	spec := filepath.Join(s.dir, "diskpools.yaml")
	text, err := os.ReadFile(spec)
	check(t, err)
	check(t, os.WriteFile(spec, []byte(strings.Replace(string(text), "spec:\n", "spec:\n  maxNodeCount: 1\n", 1)), 0o666))
	if out, err := exec.CommandContext(t.Context(), program, "render", s.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.pool = s.parse("rendered/diskpoolset.openebs.fast/diskpool.yaml")
	for _, o := range []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "openebs"}}},
		{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}}},
	} {
		check(t, c.Apply(t.Context(), o))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.operator.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error("the operator that is played failed:", err)
		}
	})
	return s
}

// errorInfo has a definition take status.errorInfo as releases from 2.9 on write it: the alerts are an object.
func errorInfo(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	check(t, err)
	for i := range versions {
		codes := map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
		text := map[string]any{"type": "string"}
		check(t, unstructured.SetNestedMap(versions[i].(map[string]any), map[string]any{
			"type": "object",
			"properties": map[string]any{
				"error":      map[string]any{"type": "object", "properties": map[string]any{"code": text, "message": text}},
				"alerts":     map[string]any{"type": "object", "properties": map[string]any{"status": text, "notice": codes, "attention": codes, "warning": codes, "critical": codes}},
				"alertError": text,
			},
		}, "schema", "openAPIV3Schema", "properties", "status", "properties", "errorInfo"))
	}
	check(t, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
}

func (s *stage) parse(file string) *unstructured.Unstructured {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	check(s.t, err)
	objects, err := scenario.Parse(text)
	check(s.t, err)
	if len(objects) != 1 {
		s.t.Fatalf("%s has %d objects, not one", file, len(objects))
	}
	return objects[0]
}

// apply applies the pool as it is rendered.
func (s *stage) apply() { check(s.t, s.cluster.Apply(s.t.Context(), s.pool)) }

// remove deletes it, as a person does.
func (s *stage) remove() { check(s.t, s.cluster.Delete(s.t.Context(), s.pool)) }

// unrender takes it out of what is rendered.
func (s *stage) unrender() {
	check(s.t, os.Remove(filepath.Join(s.dir, "rendered/diskpoolset.openebs.fast/diskpool.yaml")))
}

// made waits until the operator says that it has made the pool.
func (s *stage) made() {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		state, _, err := unstructured.NestedString(s.live().Object, "status", "cr_state")
		check(s.t, err)
		if state == "Created" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the pool is not made: %s", state)
		}
	}
}

// write has an operator say a state that this one does not know. It then rests.
func (s *stage) write(state string) {
	s.operator.Meet(World{State: "Online"})
	s.operator.Rest()
	live := s.live()
	check(s.t, unstructured.SetNestedField(live.Object, state, "status", "cr_state"))
	_, err := s.client.Resource(pools).Namespace("openebs").UpdateStatus(s.t.Context(), live, metav1.UpdateOptions{})
	check(s.t, err)
}

// forget deletes the events of what was before, as time does.
func (s *stage) forget() {
	s.operator.Rest()
	check(s.t, s.client.Resource(events).Namespace("openebs").DeleteCollection(s.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

func (s *stage) live() *unstructured.Unstructured {
	s.t.Helper()
	live, err := s.cluster.Get(s.t.Context(), s.pool.GroupVersionKind(), "openebs", s.pool.GetName())
	check(s.t, err)
	return live
}

// said is what the cluster says of the pool.
type said struct{ state, event string }

// await looks at the status until it is what is wanted.
func (s *stage) await(want row) (phase, message string, now said) {
	s.t.Helper()
	var last string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var statuses []struct{ Phase, Reason, Message string }
		out, err := exec.CommandContext(s.t.Context(), program, "status", s.dir, "--kubeconfig", plane.Kubeconfig, "-o", "json").Output()
		if failed := json.Unmarshal(out, &statuses); failed != nil || len(statuses) != 1 {
			s.t.Fatalf("%v, %v: %s", err, failed, out)
		}
		last = statuses[0].Phase + " " + statuses[0].Reason
		if last == want.want && strings.Contains(statuses[0].Message, want.note) {
			return last, statuses[0].Message, s.said()
		}
		last += ": " + statuses[0].Message
	}
	s.t.Fatalf("%s: waited in vain for %s (%s); it is %s", want.what, want.want, want.note, last)
	return "", "", said{}
}

func (s *stage) said() said {
	s.t.Helper()
	live := s.live()
	if live == nil {
		return said{state: "no object", event: "-"}
	}
	var now said
	created, _, _ := unstructured.NestedString(live.Object, "status", "cr_state")
	state, _, _ := unstructured.NestedString(live.Object, "status", "pool_status")
	now.state = strings.Trim(created+", "+state, ", ")
	if now.state == "" {
		now.state = "no status"
	}
	list, err := s.client.Resource(events).Namespace("openebs").List(s.t.Context(), metav1.ListOptions{FieldSelector: "type!=Normal"})
	check(s.t, err)
	now.event = "-"
	newest := ""
	for _, e := range list.Items {
		if at, _, _ := unstructured.NestedString(e.Object, "eventTime"); at > newest {
			kind, _, _ := unstructured.NestedString(e.Object, "type")
			reason, _, _ := unstructured.NestedString(e.Object, "reason")
			newest, now.event = at, kind+" "+reason
		}
	}
	return now
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
