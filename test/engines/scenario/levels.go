package scenario

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/rook"
	"github.com/poolwright/poolwright/test/tool"
)

// Bringer is an engine that goes on by itself: it applies a folder, level by level, and
// whatever the folder becomes.
type Bringer interface {
	// Follow works until the context ends. levels are folders in dir, in order, each with
	// a kustomization.
	Follow(ctx context.Context, dir string, levels []string) error
}

// hurdle is something that is missing until it is healed.
type hurdle struct {
	level   string // at which it holds everything up
	what    string // for docs/hypercloud.md
	failure rook.Failure
	reason  string // of the state
	until   string // how far an engine goes that waits
}

// hurdles are what a cluster lacks when it comes up in Levels, in the order in which it is
// healed.
func hurdles() []hurdle {
	return []hurdle{
		{"0-crds", "the definition of CephCluster", rook.DefinitionMissing, "DefinitionsMissing", "2-operators"}, // nobody misses it before a CephCluster is applied
		{"2-operators", "an operator that is not available", rook.OperatorDown, "OperatorNotAvailable", "2-operators"},
		{"3-cluster", "OSDs, of which there are none", rook.NoOSDs, "NoOSDs", "3-cluster"},
		{"3-cluster", "an OSD that is missing", rook.OSDMissing, "OSDsMissing", "3-cluster"},
		{"3-cluster", "HEALTH_ERR", rook.HealthError, "HealthError", "3-cluster"},
		{"4-pools", "a pool that is not ready", rook.PoolNotReady, "NotReady", "4-pools"},
		{"6-cdi", "CDI, which failed", rook.CDIFailed, "CDIFailed", "6-cdi"},
		{"7-toolbox", "the toolbox, which is not available", rook.ToolboxUnavailable, "ToolboxNotAvailable", "7-toolbox"},
	}
}

// Levels brings up a HyperCloudStorage in which something is wrong at every level, and
// heals one after the other. At each it holds what the state in the cluster says, as
// kubectl get shows it, and how far the engine went; both are what docs/hypercloud.md has in
// the column of the engine. waits says that the engine goes to no level before all is well
// in those before.
func Levels(t *testing.T, s Suite, b Bringer, waits bool) {
	cluster, err := Connect(s.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	g := &Git{t: t, suite: s, name: s.Name, Dir: t.TempDir(), Namespace: "rook-ceph"}
	h := &hypercloud{run: &run{Git: g, cluster: cluster}, kubectl: tool.Need(t, "kubectl"), page: readTable(t, s.Root, s.Name)}
	h.commit(true)
	h.machines()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failures []rook.Failure
	for _, st := range hurdles() {
		failures = append(failures, st.failure)
	}
	h.operators = newOperators(cluster, 200*time.Millisecond, failures...)
	go h.operators.run(ctx)
	h.writeStatuses()
	followed := make(chan error, 1)
	go func() { followed <- b.Follow(ctx, g.Dir, h.levels) }()

	for _, st := range hurdles() {
		h.awaitState(st, waits)
		at := h.reached()
		if waits && at != st.until {
			t.Errorf("%s: the engine went on to %s", st.what, at)
		}
		h.page.hold(t, st, h.said(), at, waits)
		t.Logf("%s: %s; objects up to %s", st.what, h.said(), at)
		if st.failure == rook.DefinitionMissing {
			h.commit(false)
		}
		h.operators.heal(st.failure)
	}
	h.await("the state is OK", func() bool { return h.get() == "OK" })
	for _, o := range h.all() {
		live, err := cluster.Get(t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
		if err != nil || live == nil {
			t.Errorf("%s was skipped (%v)", ID(o), err)
		}
	}
	t.Log("\n" + h.table())
	cancel()
	<-followed
}

// hypercloud is a run of Levels.
type hypercloud struct {
	*run
	levels    []string // folders
	operators *operators
	kubectl   string
	page      *table
}

// commit writes the package, renders it, and lays out what is to be applied: a folder a
// level, with what people have vendored of Rook, CDI and snapshots among it.
func (h *hypercloud) commit(lacking bool) {
	h.t.Helper()
	h.check(os.RemoveAll(filepath.Join(h.Dir, "package")))
	h.check(os.CopyFS(filepath.Join(h.Dir, "package"), os.DirFS(filepath.Join(h.suite.Root, "testdata/packages/hypercloud"))))
	h.Git.run(h.Dir, h.suite.Poolwright, "render", "package")
	vendored := map[string][]*unstructured.Unstructured{}
	for _, name := range []string{"rook-ceph", "cdi", "kube-system"} {
		vendored["0-crds"] = append(vendored["0-crds"], &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
		}})
	}
	for _, o := range Upstream(h.t, "rook-ceph.yaml", "csi-ceph.yaml", "csi-snapshot.yaml", "cdi.yaml") {
		if !lacking || o.GetName() != "cephclusters.ceph.rook.io" {
			vendored["0-crds"] = append(vendored["0-crds"], o)
		}
	}
	for _, d := range rook.Deployments(h.Namespace) {
		o := &unstructured.Unstructured{Object: d}
		labels := map[string]any{"app": o.GetName()}
		o.Object["spec"] = map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "operator", "image": "example.com/operator:v1"}}},
			},
		}
		vendored["2-operators"] = append(vendored["2-operators"], o)
	}
	rendered := filepath.Join(h.Dir, "package/rendered/hypercloudstorage.rook-ceph.hcs")
	folders, err := os.ReadDir(rendered)
	h.check(err)
	for _, f := range folders {
		if f.IsDir() && vendored[f.Name()] == nil {
			vendored[f.Name()] = nil
		}
	}
	h.levels = nil
	for level := range vendored {
		h.levels = append(h.levels, level)
	}
	slices.Sort(h.levels)
	var top []string
	for _, level := range h.levels {
		var names []string
		files, err := filepath.Glob(filepath.Join(rendered, level, "*.yaml"))
		h.check(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			h.check(err)
			h.write(filepath.Join("levels", level, filepath.Base(file)), string(text))
			names = append(names, filepath.Base(file))
		}
		if len(vendored[level]) > 0 {
			h.check(write(filepath.Join(h.Dir, "levels", level, "vendored.yaml"), vendored[level]))
			names = append(names, "vendored.yaml")
		}
		h.write(filepath.Join("levels", level, "kustomization.yaml"), kustomization(names))
		top = append(top, "levels/"+level)
	}
	h.write("kustomization.yaml", kustomization(top))
}

func kustomization(resources []string) string {
	return `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata:
  name: all
  annotations: {config.kubernetes.io/local-config: "true"}
sortOptions: {order: fifo}
resources:
- ` + strings.Join(resources, "\n- ") + "\n"
}

// machines puts the nodes into the cluster, and as an administrator does the definition of
// our own kind, and the spec.
func (h *hypercloud) machines() {
	h.t.Helper()
	for _, o := range parseFile(h.t, filepath.Join(h.suite.Root, "deploy/crds/hypercloudstorages.hcs.tmax.io.yaml")) {
		h.check(h.cluster.Apply(h.t.Context(), o))
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": h.Namespace}}}
	h.check(h.cluster.Apply(h.t.Context(), namespace))
	h.check(h.suite.Plane.AwaitServed(h.t.Context()))
	files, err := filepath.Glob(filepath.Join(h.Dir, "package/inventory/node-*.yaml"))
	h.check(err)
	for _, file := range append(files, filepath.Join(h.Dir, "package/hcs.yaml")) {
		for _, o := range parseFile(h.t, file) {
			status := o.DeepCopy()
			unstructured.RemoveNestedField(o.Object, "status")
			h.check(h.cluster.Apply(h.t.Context(), o))
			if o.GetKind() == "Node" {
				// The API server taints a new node, and nobody here takes the taint away.
				h.check(unstructured.SetNestedSlice(o.Object, []any{}, "spec", "taints"))
				h.check(h.cluster.Apply(h.t.Context(), o))
				h.check(h.cluster.Apply(h.t.Context(), status, "status"))
			}
		}
	}
}

// awaitState waits until the state says what is missing and the engine is where it has to
// wait, and gives it time to go on all the same.
func (h *hypercloud) awaitState(st hurdle, waits bool) {
	h.t.Helper()
	h.awaitSaying(func() string {
		return st.what + " is what the state says; it says " + h.said() + ", with objects up to " + h.reached()
	}, func() bool {
		at := h.reached()
		return h.column("{.status.reason}") == st.reason && h.get() != "" && (!waits || at != "none" && at >= st.until)
	})
	const patience = 4 * time.Second
	for deadline, at := time.Now().Add(patience), ""; time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if now := h.reached() + ": " + h.said(); now != at {
			at, deadline = now, time.Now().Add(patience)
		}
	}
}

// said is the state, and why.
func (h *hypercloud) said() string {
	return h.column("{.status.state} {.status.reason}: {.status.message}")
}

// get is the column STATE of kubectl get hypercloudstorage.
func (h *hypercloud) get() string {
	fields := strings.Fields(lastLine(h.table()))
	if len(fields) < 2 || fields[0] != "hcs" {
		return ""
	}
	return fields[1]
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// table is what a person sees.
func (h *hypercloud) table() string {
	h.t.Helper()
	return h.ask("get", "hypercloudstorage", "--namespace", h.Namespace)
}

func (h *hypercloud) column(path string) string {
	h.t.Helper()
	return h.ask("get", "hypercloudstorage", "hcs", "--namespace", h.Namespace, "--output", "jsonpath="+path)
}

func (h *hypercloud) ask(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), h.kubectl, append(args, "--kubeconfig", h.suite.Plane.Kubeconfig, "--cache-dir", filepath.Join(h.suite.Plane.Dir, "kubectl"))...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// all are the objects of all levels.
func (h *hypercloud) all() []*unstructured.Unstructured {
	h.t.Helper()
	var objects []*unstructured.Unstructured
	for _, level := range h.levels {
		built, err := Build(filepath.Join(h.Dir, "levels", level))
		h.check(err)
		objects = append(objects, built...)
	}
	return objects
}

// reached is the last level of which an object is in the cluster.
func (h *hypercloud) reached() string {
	h.t.Helper()
	last := "none"
	for _, level := range h.levels {
		objects, err := Build(filepath.Join(h.Dir, "levels", level))
		h.check(err)
		for _, o := range objects {
			if o.GetKind() == "Namespace" {
				continue // some were there
			}
			live, err := h.cluster.Get(h.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			h.check(err)
			if live != nil {
				last = level
				break
			}
		}
	}
	return last
}
