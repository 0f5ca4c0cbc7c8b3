package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubectl/pkg/util/openapi"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// tracking is the annotation by which Argo CD 3 knows what it manages:
// <application>:<group>/<kind>:<namespace>/<name>.
const tracking = "argocd.argoproj.io/tracking-id"

// Application is an Application with automated sync, prune, and
// ServerSideApply=true, as in the examples, in an Argo CD with our health checks.
type Application struct {
	ClientSide bool // it has no ServerSideApply=true

	name      string
	namespace string // of its destination
	config    *rest.Config
	kubectl   kube.Kubectl
	cache     cache.ClusterCache
	checks    checks
	approved  bool
	validated bool // by a sync that succeeded
}

// New makes an Application that was never synced, with the health checks of the
// repository at root. Close ends its watches.
func New(kubeconfig, root, name, namespace string) (*Application, error) {
	checks, err := readChecks(root)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	a := &Application{
		name: name, namespace: namespace, config: config, checks: checks,
		kubectl: &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}},
	}
	a.cache = cache.NewClusterCache(config,
		cache.SetLogr(logr.Discard()), cache.SetKubectl(withoutSchemas{a.kubectl}),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (any, bool) {
			return o.GetAnnotations()[tracking], true
		}),
	)
	return a, a.cache.EnsureSynced()
}

// withoutSchemas reads no schemas of all kinds. The cache keeps them for Argo CD's diff, which is not run here, and reads
// them again after each change of a definition: the API server has to put them together each time.
type withoutSchemas struct{ kube.Kubectl }

// LoadOpenAPISchema returns none: the cache only stores what it gets.
func (withoutSchemas) LoadOpenAPISchema(*rest.Config) (openapi.Resources, *managedfields.GvkParser, error) {
	return nil, nil, nil
}

// Close ends the watches.
func (a *Application) Close() { a.cache.Invalidate() }

// Approve answers for a person who is asked (annotation
// argocd.argoproj.io/deletion-approved of the Application).
func (a *Application) Approve(yes bool) { a.approved = yes }

// retries is how often a sync operation that failed is run again: fewer and sooner than the
// examples have it (syncPolicy.retry). Of objects of a kind that is new, applied side by side,
// the engine now and then takes one for unknown.
const retries = 2

// Sync runs a sync operation until it succeeds or waits for a person.
func (a *Application) Sync(ctx context.Context, dir string) (scenario.Report, error) {
	objects, err := scenario.Build(dir)
	if err != nil {
		return scenario.Report{}, err
	}
	for _, o := range objects {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tracking] = a.id(o)
		o.SetAnnotations(annotations)
	}
	var report scenario.Report
	for retry := 0; ; {
		if err = a.operate(ctx, objects, &report); err == nil || retry == retries {
			return report, err
		}
		if !scenario.Broken(err) { // what was lost on the way to the API server is no failure of the sync
			retry++
		}
		if err := pause(ctx, err.Error()); err != nil {
			return report, err
		}
	}
}

// operate runs one sync operation. Each step compares again, as the controller does.
func (a *Application) operate(ctx context.Context, objects []*unstructured.Unstructured, report *scenario.Report) error {
	var (
		began   = metav1.Now()
		phase   = common.OperationRunning
		message string
		results []common.ResourceSyncResult
		err     error
	)
	for !phase.Completed() && !asks(message) {
		if phase, message, results, err = a.step(objects, phase, message, results, began); err != nil {
			return err
		}
		if err := pause(ctx, message); err != nil {
			return err
		}
	}
	if asks(message) {
		report.Waiting = message
	}
	for _, r := range results {
		id := r.ResourceKey.Kind + "/" + r.ResourceKey.Name
		switch r.Status {
		case common.ResultCodePruned:
			report.Deleted = append(report.Deleted, id)
		case common.ResultCodePruneSkipped:
			report.Kept = append(report.Kept, id)
		case common.ResultCodeSyncFailed:
			err = errors.Join(err, fmt.Errorf("%s: %s", id, r.Message))
		}
	}
	if phase == common.OperationFailed || phase == common.OperationError {
		err = errors.Join(err, errors.New(message))
	}
	a.validated = a.validated || err == nil
	if err != nil || asks(message) {
		return err
	}
	return a.awaitSeen(ctx, objects)
}

// awaitSeen waits until the cache has what was applied, or it would not be pruned if the next
// operation came at once: the controller compares again whenever the cache changes.
func (a *Application) awaitSeen(ctx context.Context, objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		seen := a.cache.FindResources("", a.manages)
		unseen := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return seen[kube.GetResourceKey(o)] == nil })
		if unseen < 0 {
			return nil
		}
		if err := pause(ctx, "the cache lacks "+scenario.ID(objects[unseen])); err != nil {
			return err
		}
	}
}

func (a *Application) step(
	objects []*unstructured.Unstructured, phase common.OperationPhase, message string, results []common.ResourceSyncResult, began metav1.Time,
) (common.OperationPhase, string, []common.ResourceSyncResult, error) {
	live, err := a.cache.GetManagedLiveObjs(objects, a.manages)
	if err != nil {
		return phase, message, results, err
	}
	foreground := metav1.DeletePropagationForeground
	operation, cleanup, err := sync.NewSyncContext(
		"revision", sync.Reconcile(objects, live, a.namespace, a.cache), a.config, a.config, a.kubectl, a.namespace,
		sync.WithLogr(logr.Discard()),
		sync.WithOperationSettings(false, true, false, false),
		sync.WithInitialState(phase, message, results, began),
		sync.WithPrunePropagationPolicy(&foreground),
		sync.WithHealthOverride(a.checks),
		sync.WithServerSideApply(!a.ClientSide),
		sync.WithServerSideApplyManager("argocd-controller"),
		sync.WithPruneConfirmed(a.approved),
		// Schemas are asked for and read with every object, which is most of the work. The first sync holds that
		// what is applied keeps them, and test/apply of all that is rendered.
		sync.WithManifestValidation(!a.validated),
	)
	if err != nil {
		return phase, message, results, err
	}
	defer cleanup()
	operation.Sync()
	phase, message, results = operation.GetState()
	return phase, message, results, nil
}

// id is the value of the tracking annotation.
func (a *Application) id(o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	return fmt.Sprintf("%s:%s/%s:%s/%s", a.name, kind.Group, kind.Kind, o.GetNamespace(), o.GetName())
}

// manages reports whether the object carries our tracking annotation, and not a
// copy of somebody else's.
func (a *Application) manages(r *cache.Resource) bool {
	return r.Resource != nil && r.Info == a.id(r.Resource)
}

// asks reports whether the operation waits for a person.
func asks(message string) bool { return strings.HasPrefix(message, "waiting for pruning confirmation") }

// pause is between two steps, each of which asks for all kinds and their schemas.
func pause(ctx context.Context, message string) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %s", ctx.Err(), message)
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}
