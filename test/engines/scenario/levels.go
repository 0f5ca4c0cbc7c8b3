package scenario

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/test/rook"
	"github.com/poolwright/poolwright/test/tool"
)

// Bringer is an engine that goes on by itself: it applies what is rendered in a package,
// and whatever that becomes.
type Bringer interface {
	// Follow works until the context ends. dir is the package, and levels are its folders
	// of the levels, in order.
	Follow(ctx context.Context, dir string, levels []string) error
}

// rendered is where the levels are in the package.
const rendered = "rendered/hypercloudstorage.rook-ceph.hcs"

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
	// An engine that does not wait may come to CDI before the pools are ready, and its
	// failure would hide theirs: until then CDI is at work.
	failures := []rook.Failure{rook.CDIDeploying}
	for _, st := range hurdles() {
		failures = append(failures, st.failure)
	}
	h.operators = newOperators(cluster, 200*time.Millisecond, failures...)
	go h.operators.run(ctx)
	h.writeStatuses()
	followed := make(chan error, 1)
	go func() { followed <- b.Follow(ctx, filepath.Join(g.Dir, "package"), h.folders()) }()

	for _, st := range hurdles() {
		h.pass(st, waits)
		if st.failure == rook.DefinitionMissing {
			h.commit(false)
		}
		h.operators.heal(st.failure)
		if st.failure == rook.PoolNotReady {
			h.operators.heal(rook.CDIDeploying)
		}
	}
	h.await("the state is OK", func() bool { return h.get() == "OK" })
	for _, level := range h.levels {
		for _, o := range h.objects[level] {
			live, err := cluster.Get(t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			h.check(err)
			if live == nil {
				t.Errorf("%s was skipped", ID(o))
			}
		}
	}
	t.Log("\n" + h.table())
	cancel()
	t.Log("the engine was ended:", <-followed)
	for _, level := range h.levels[1:] {
		h.clear(h.objects[level]) // namespaces and definitions stay
	}
}

// hypercloud is a run of Levels.
type hypercloud struct {
	*run
	levels    []string                                // names of folders
	objects   map[string][]*unstructured.Unstructured // of each level
	operators *operators
	kubectl   string
	page      *table
}

// commit writes the package, with what people have put there of Rook, CDI and snapshots:
// the operators of the example, and the definitions that upstream publishes. What was
// rendered is rendered again.
func (h *hypercloud) commit(lacking bool) {
	h.t.Helper()
	dir := filepath.Join(h.Dir, "package")
	if lacking {
		copyHyperCloud(h.Git, dir)
	}
	h.check(write(filepath.Join(dir, "operators/operators.yaml"), slices.DeleteFunc(exampleOperators(h.t, h.suite), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "CustomResourceDefinition" // there they are stand-ins
	})))
	h.check(write(filepath.Join(dir, "operators/definitions.yaml"), slices.DeleteFunc(
		Upstream(h.t, "rook-ceph.yaml", "csi-ceph.yaml", "csi-snapshot.yaml", "cdi.yaml"), func(o *unstructured.Unstructured) bool {
			return lacking && o.GetName() == "cephclusters.ceph.rook.io"
		})))
	h.Git.run(h.Dir, h.suite.Poolwright, "render", "package")
	folders, err := os.ReadDir(filepath.Join(dir, rendered))
	h.check(err)
	h.levels, h.objects = nil, map[string][]*unstructured.Unstructured{}
	for _, f := range folders {
		if f.IsDir() {
			h.levels = append(h.levels, f.Name())
			h.objects[f.Name()], err = Build(filepath.Join(dir, rendered, f.Name()))
			h.check(err)
		}
	}
}

// folders are those of the levels, in the package.
func (h *hypercloud) folders() []string {
	var all []string
	for _, level := range h.levels {
		all = append(all, filepath.Join(rendered, level))
	}
	return all
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

// pass waits until the state and the engine are as the page says, and holds that they stay
// so for a while.
func (h *hypercloud) pass(st hurdle, waits bool) {
	h.t.Helper()
	began, row := time.Now(), h.page.row(h.t, st)
	told, at := "", ""
	look := func() rowSeen {
		told, at = h.said(), h.reached()
		return seen(st, row, told, at, waits)
	}
	// A busy machine may pass through what the page says before it is there to stay.
	while := 3 * time.Second
	if *Update {
		while = 8 * time.Second
		h.awaitSaying(func() string { return st.what + ": the reason is " + st.reason + "; it is " + told }, func() bool {
			row = look()
			return str(h.live(), "status", "reason") == st.reason && (!waits || at >= st.until)
		})
	}
	var since time.Time // that it is as in the row
	h.awaitSaying(func() string {
		return fmt.Sprintf("%s: the page has %q and %q for %s, and the state is %q, with objects up to %q", st.what, row.state, row.engine, while, told, at)
	}, func() bool {
		switch now := look(); {
		case now != row && *Update:
			row, since = now, time.Now()
		case now != row:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) >= while
	})
	if waits && at != st.until {
		h.t.Errorf("%s: the engine went on to %s", st.what, at)
	}
	// What a person sees. The state may go on between the two reads.
	shown := ""
	h.awaitSaying(func() string { return st.what + ": kubectl shows the state; it shows " + shown }, func() bool {
		word, _, _ := strings.Cut(h.said(), " ")
		shown = h.get()
		return shown == word
	})
	if *Update {
		h.page.write(h.t, st, row)
	}
	h.t.Logf("%s, after %s: %s; objects up to %q", st.what, time.Since(began).Round(time.Second), told, at)
}

// said is the state, and why.
func (h *hypercloud) said() string {
	live := h.live()
	return str(live, "status", "state") + " " + str(live, "status", "reason") + ": " + str(live, "status", "message")
}

// live is the HyperCloudStorage, empty where there is none.
func (h *hypercloud) live() *unstructured.Unstructured {
	h.t.Helper()
	live, err := h.cluster.Get(h.t.Context(), hypercloudKind, h.Namespace, "hcs")
	h.check(err)
	if live == nil {
		return &unstructured.Unstructured{}
	}
	return live
}

var hypercloudKind = schema.GroupVersionKind{Group: "hcs.tmax.io", Version: "v1alpha1", Kind: "HyperCloudStorage"}

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

func (h *hypercloud) ask(args ...string) string {
	h.t.Helper()
	args = append(args, "--kubeconfig", h.suite.Plane.Kubeconfig, "--cache-dir", filepath.Join(h.suite.Plane.Dir, "kubectl"))
	out, err := ask(h.t.Context(), func() (string, error) {
		out, err := exec.CommandContext(h.t.Context(), h.kubectl, args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return string(out), err
	})
	h.check(err)
	return out
}

// reached is the last level of which an object is in the cluster; "" if there is none.
func (h *hypercloud) reached() string {
	h.t.Helper()
	for _, level := range slices.Backward(h.levels) {
		for _, o := range h.objects[level] {
			if o.GetKind() == "Namespace" {
				continue // one was there
			}
			live, err := h.cluster.Get(h.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			h.check(err)
			if live != nil {
				return level
			}
		}
	}
	return ""
}
