package hydrate

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/controller/keeper"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	poolwright "github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/engines/scenario"
)

const root = "../.."

var plane *controlplane.ControlPlane // one for the whole test binary

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, root+"/bin", func(c *controlplane.ControlPlane) error {
		plane = c
		return nil
	}))
}

// world is a cluster, and those who act in it.
type world struct {
	*testing.T
	*scenario.Cluster
	dynamic.Interface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := scenario.Connect(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, c, client}
	files, err := filepath.Glob(root + "/deploy/crds/*.*.*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w.must(string(text))
	}
	w.settled()
	return w
}

// settled waits until all that is defined is served.
func (w *world) settled() {
	w.Helper()
	if err := plane.AwaitServed(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// must applies documents in the name of somebody else, status and all.
func (w *world) must(text string) {
	w.Helper()
	objects, err := scenario.Parse([]byte(text))
	if err != nil {
		w.Fatal(err)
	}
	for _, o := range objects {
		status := o.DeepCopy()
		for _, field := range []string{"uid", "creationTimestamp", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
			unstructured.RemoveNestedField(status.Object, "metadata", field)
		}
		if err := w.Apply(w.Context(), o); err != nil {
			w.Fatal(err)
		}
		if o.GetKind() == "Node" {
			if err := w.Apply(w.Context(), status, "status"); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// inventory applies the objects of an Inventory.
func (w *world) inventory(file string) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		w.Fatal(err)
	}
	var inventory struct{ Items []map[string]any }
	if err := yaml.Unmarshal(text, &inventory); err != nil || len(inventory.Items) == 0 {
		w.Fatal(file, err)
	}
	for _, item := range inventory.Items {
		text, err := yaml.Marshal(item)
		if err != nil {
			w.Fatal(err)
		}
		w.must(string(text))
	}
}

func (w *world) list(r schema.GroupVersionResource, selector string) []unstructured.Unstructured {
	w.Helper()
	list, err := w.Resource(r).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

func (w *world) hydration(namespace, name string) *hydrations.Hydration {
	w.Helper()
	u, err := w.Resource(hydrations.Kind().GroupVersion().WithResource("hydrations")).Namespace(namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		w.Fatal(err)
	}
	h := &hydrations.Hydration{}
	if err := json.Unmarshal(text, h); err != nil {
		w.Fatal(err)
	}
	return h
}

const patience = 90 * time.Second

func (w *world) await(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	w.Fatalf("waited in vain: %s", what)
}

// becomes waits for a reason with a message that contains a text.
func (w *world) becomes(namespace, name, reason, text string) *hydrations.Hydration {
	w.Helper()
	var h *hydrations.Hydration
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		h = w.hydration(namespace, name)
		if c := h.Status.Condition("Ready"); c.Reason == reason && strings.Contains(c.Message, text) {
			return h
		}
	}
	c := h.Status.Condition("Ready")
	w.Fatalf("%s/%s does not become %s with %q; it is %s: %s\n%+v", namespace, name, reason, text, c.Reason, c.Message, h.Status.Findings)
	return nil
}

// settles waits until all is applied and ready.
func (w *world) settles(namespace, name string) *hydrations.Hydration {
	w.Helper()
	var h *hydrations.Hydration
	w.await("all is applied", func() bool {
		h = w.hydration(namespace, name)
		reason := h.Status.Condition("Ready").Reason
		return reason == "Published" || reason == "UpToDate"
	})
	return h
}

// judge asks to judge at once, and waits for it.
func (w *world) judge(namespace, name string) *hydrations.Hydration {
	w.Helper()
	at := time.Now().Format(time.RFC3339Nano)
	w.patch(namespace, name, `{"metadata":{"annotations":{"`+hydrations.AnnotationReconcileAt+`":"`+at+`"}}}`)
	var h *hydrations.Hydration
	w.await("judged as asked for", func() bool {
		h = w.hydration(namespace, name)
		return h.Status.LastHandledReconcileAt == at
	})
	return h
}

func (w *world) patch(namespace, name, patch string) {
	w.Helper()
	r := w.Resource(hydrations.Kind().GroupVersion().WithResource("hydrations")).Namespace(namespace)
	if _, err := r.Patch(w.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// keep runs a keeper for a namespace until the test, or what is returned, ends it.
func (w *world) keep(kubeconfig, namespace string) (stop func()) {
	w.Helper()
	c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig})
	if err != nil {
		w.Fatal(err)
	}
	l := &log{}
	logger := slog.New(slog.NewTextHandler(l, nil))
	store, err := hydrations.NewStore(context.Background(), c, logger)
	if err != nil {
		w.Fatal(err)
	}
	k := &keeper.Keeper{
		Cluster: c, Store: store, Function: fn.New(poolwright.Load(), systems.All()...), Namespaces: []string{namespace},
		Rules: remote.Rules{Hosts: []string{"127.0.0.1"}, MaxSource: 16 << 20}, Log: logger, Metrics: keeper.NewMetrics("test"),
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.Error(err)
			}
			store.Close()
			if w.Failed() {
				l.mu.Lock()
				defer l.mu.Unlock()
				w.Log(l.b.String())
			}
		})
	}
	w.Cleanup(stop)
	return stop
}
