package argocd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// Levels are an Application of Applications: one a level, in waves. The engine's own code
// syncs each of them, and waits in the one above for the health of the others. What is
// played is the controller that looks for Applications, and writes their statuses.
type Levels struct {
	kubeconfig, root string
	cluster          *scenario.Cluster
}

const argoNamespace = "argocd"

var applicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// Follow syncs until the context ends.
func (l *Levels) Follow(ctx context.Context, dir string, levels []string) error {
	top, err := os.MkdirTemp("", "applications-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(top) }()
	if err := l.write(top, levels); err != nil {
		return err
	}
	above, err := New(l.kubeconfig, l.root, "hcs", argoNamespace)
	if err != nil {
		return err
	}
	defer above.Close()
	done := make(chan error, len(levels))
	for _, level := range levels {
		go func() { done <- l.child(ctx, filepath.Join(dir, "levels", level), level) }()
	}
	again(ctx, func() error {
		_, err := above.Sync(ctx, top)
		return err
	})
	var errs []error
	for range levels {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}

// write writes the folder of Applications.
func (l *Levels) write(top string, levels []string) error {
	list := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for i, level := range levels {
		text := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: hcs-" + level + "\n  namespace: " + argoNamespace +
			"\n  annotations: {argocd.argoproj.io/sync-wave: \"" + strconv.Itoa(i) + "\"}\nspec:\n  project: default\n" +
			"  source: {repoURL: https://git.example.com/storage.git, path: levels/" + level + "}\n" +
			"  destination: {server: https://kubernetes.default.svc}\n  syncPolicy: {automated: {prune: true}}\n"
		if err := os.WriteFile(filepath.Join(top, level+".yaml"), []byte(text), 0o666); err != nil {
			return err
		}
		list += "- " + level + ".yaml\n"
	}
	return os.WriteFile(filepath.Join(top, "kustomization.yaml"), []byte(list), 0o666)
}

// child syncs the Application of a level, once there is one, and says how it is.
func (l *Levels) child(ctx context.Context, dir, level string) error {
	a, err := New(l.kubeconfig, l.root, "hcs-"+level, "rook-ceph")
	if err != nil {
		return err
	}
	defer a.Close()
	go again(ctx, func() error { return l.tell(ctx, a) })
	again(ctx, func() error {
		live, err := l.cluster.Get(ctx, applicationKind, argoNamespace, a.name)
		if err != nil || live == nil {
			return err
		}
		objects, err := scenario.Build(dir)
		if err != nil {
			return err
		}
		_, err = a.Sync(ctx, dir)
		if err != nil {
			objects = nil
		}
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.synced = len(objects)
		return err
	})
	return nil
}

// again works until the context ends. A sync that fails is tried again, as the examples
// have it (syncPolicy.retry).
func again(ctx context.Context, work func() error) {
	for ctx.Err() == nil {
		_ = work()
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// tell writes the status of an Application.
func (l *Levels) tell(ctx context.Context, a *Application) error {
	live, err := l.cluster.Get(ctx, applicationKind, argoNamespace, a.name)
	if err != nil || live == nil {
		return err
	}
	a.mutex.Lock()
	applied := a.synced
	a.mutex.Unlock()
	worst, objects, err := a.worst()
	if err != nil {
		return err
	}
	sync := "OutOfSync" // also while the cache has not seen all of it
	if applied > 0 && objects >= applied {
		sync = "Synced"
	}
	said := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"health": map[string]any{"status": worst}, "sync": map[string]any{"status": sync},
	}}}
	said.SetGroupVersionKind(applicationKind)
	said.SetNamespace(argoNamespace)
	said.SetName(a.name)
	said.SetUID(live.GetUID())
	return l.cluster.Apply(ctx, said)
}
