package flux

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// Source serves artifacts as source-controller does, which is not here: a tarball
// of a folder, and the status of a GitRepository that names it.
type Source struct {
	server *httptest.Server
	mutex  sync.Mutex
	files  map[string][]byte // by path
}

// NewSource begins to serve. Close ends it.
func NewSource() *Source {
	s := &Source{files: map[string][]byte{}}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		file, found := s.files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(file) // whoever asks goes away
	}))
	return s
}

// Close ends the server.
func (s *Source) Close() { s.server.Close() }

// artifact packs a folder, and returns the status.artifact for it.
func (s *Source) artifact(name, dir string) (map[string]any, error) {
	var file bytes.Buffer
	zipped := gzip.NewWriter(&file)
	packed := tar.NewWriter(zipped)
	if err := errors.Join(packed.AddFS(os.DirFS(dir)), packed.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(file.Bytes()))
	path := "/" + name + "/" + sum + ".tar.gz"
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.files[path] = file.Bytes()
	return map[string]any{
		"path": path[1:], "url": s.server.URL + path, "digest": "sha256:" + sum,
		"revision": "main@sha1:" + sum[:40], "lastUpdateTime": time.Now().UTC().Format(time.RFC3339),
	}, nil
}

var (
	repositoryKind    = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	kustomizationKind = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Kustomization"}
)

const namespace = "flux-system"

// Kustomization is one Kustomization with prune and wait in a cluster where
// kustomize-controller runs: what it applied has to be healthy.
type Kustomization struct {
	Path string // in the artifact; empty for its root

	name    string
	after   []any // dependsOn
	checks  []any // healthCheckExprs
	cluster *scenario.Cluster
	source  *Source
}

// NewKustomization names a Kustomization that was never reconciled.
func NewKustomization(c *scenario.Cluster, s *Source, name string, checks []any) *Kustomization {
	return &Kustomization{name: name, checks: checks, cluster: c, source: s}
}

// Sync publishes an artifact, and waits until the controller has applied it and all of
// it is healthy.
func (k *Kustomization) Sync(ctx context.Context, dir string) (scenario.Report, error) {
	var report scenario.Report
	before, err := k.inventory(ctx)
	if err != nil {
		return report, err
	}
	revision, asked, err := k.publish(ctx, dir)
	if err != nil {
		return report, err
	}
	err = k.await(ctx, func(live *unstructured.Unstructured) (bool, string) {
		applied, _, _ := unstructured.NestedString(live.Object, "status", "lastAppliedRevision")
		handled, _, _ := unstructured.NestedString(live.Object, "status", "lastHandledReconcileAt")
		said := ready(live)
		return applied == revision && handled == asked && strings.HasPrefix(said, "True "), said
	})
	if err != nil {
		return report, err
	}
	after, err := k.inventory(ctx)
	if err != nil {
		return report, err
	}
	return k.report(ctx, before, after)
}

// publish serves the folder as an artifact, and asks the controller to look at it.
func (k *Kustomization) publish(ctx context.Context, dir string) (revision, asked string, err error) {
	artifact, err := k.source.artifact(k.name, dir)
	if err != nil {
		return "", "", err
	}
	repository := k.object(repositoryKind)
	repository.Object["spec"] = map[string]any{"interval": "1h", "url": "https://git.example.com/storage.git"}
	// Asked for, or the same commit would not be looked at again.
	asked = time.Now().Format(time.RFC3339Nano)
	wanted := k.object(kustomizationKind)
	wanted.SetAnnotations(map[string]string{"reconcile.fluxcd.io/requestedAt": asked})
	wanted.Object["spec"] = map[string]any{
		"interval": "1h", "retryInterval": "1s", "timeout": "1m", "path": "./" + k.Path, "prune": true, "wait": true, "healthCheckExprs": k.checks,
		"sourceRef": map[string]any{"kind": "GitRepository", "name": k.name},
	}
	if k.after != nil {
		wanted.Object["spec"].(map[string]any)["dependsOn"] = k.after
	}
	status := k.object(repositoryKind)
	status.Object["status"] = map[string]any{
		"artifact": artifact, "observedGeneration": int64(1),
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact",
			"lastTransitionTime": artifact["lastUpdateTime"], "observedGeneration": int64(1),
		}},
	}
	revision, _ = artifact["revision"].(string)
	return revision, asked, errors.Join(k.cluster.Apply(ctx, repository), k.cluster.Apply(ctx, status, "status"), k.cluster.Apply(ctx, wanted))
}

// Delete deletes the Kustomization, and waits until its finalizer is done.
func (k *Kustomization) Delete(ctx context.Context) (scenario.Report, error) {
	before, err := k.inventory(ctx)
	if err != nil {
		return scenario.Report{}, err
	}
	if err := k.cluster.Delete(ctx, k.object(kustomizationKind)); err != nil {
		return scenario.Report{}, err
	}
	err = k.await(ctx, func(live *unstructured.Unstructured) (bool, string) { return live == nil, "its finalizer is not done" })
	if err != nil {
		return scenario.Report{}, err
	}
	return k.report(ctx, before, nil)
}

func (k *Kustomization) object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(k.name)
	return o
}

// await looks at the Kustomization until it is as it should be.
func (k *Kustomization) await(ctx context.Context, done func(*unstructured.Unstructured) (bool, string)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	last := "not seen"
	for {
		live, err := k.cluster.Get(ctx, kustomizationKind, namespace, k.name)
		if err == nil {
			var is bool
			if is, last = done(live); is {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("Kustomization %s: %w: %s", k.name, errors.Join(ctx.Err(), err), last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ready is the message of the condition Ready.
func ready(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			return fmt.Sprint(c["status"], " ", c["reason"], " ", c["message"])
		}
	}
	return "no condition"
}

// inventory is that of the Kustomization.
func (k *Kustomization) inventory(ctx context.Context) ([]*unstructured.Unstructured, error) {
	live, err := k.cluster.Get(ctx, kustomizationKind, namespace, k.name)
	if err != nil || live == nil {
		return nil, err
	}
	entries, _, err := unstructured.NestedSlice(live.Object, "status", "inventory", "entries")
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, e := range entries {
		entry := e.(map[string]any)
		// <namespace>_<name>_<group>_<kind>
		part := strings.Split(entry["id"].(string), "_")
		if len(part) != 4 {
			return nil, fmt.Errorf("inventory entry %s", entry["id"])
		}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: part[2], Version: entry["v"].(string), Kind: part[3]})
		o.SetNamespace(part[0])
		o.SetName(part[1])
		objects = append(objects, o)
	}
	return objects, nil
}

// report says what became of that which is no longer in the inventory.
func (k *Kustomization) report(ctx context.Context, before, after []*unstructured.Unstructured) (scenario.Report, error) {
	var report scenario.Report
	gone := slices.DeleteFunc(before, func(b *unstructured.Unstructured) bool {
		return slices.ContainsFunc(after, func(a *unstructured.Unstructured) bool { return scenario.ID(a) == scenario.ID(b) })
	})
	state, err := k.cluster.State(ctx, gone)
	for _, o := range gone {
		if id := scenario.ID(o); state[id] != "" {
			report.Kept = append(report.Kept, id)
		} else {
			report.Deleted = append(report.Deleted, id)
		}
	}
	return report, err
}
