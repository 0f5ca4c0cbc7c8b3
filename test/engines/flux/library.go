package flux

import (
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

const group = "kustomize.toolkit.fluxcd.io"

// Library is one Kustomization with prune: true, reconciled by calls of the apply
// library that kustomize-controller makes.
type Library struct {
	name      string
	manager   *ssa.ResourceManager
	inventory []*ssa.ChangeSetEntry
}

// NewLibrary makes a Kustomization that was never reconciled.
func NewLibrary(kubeconfig, name string) (*Library, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	poller := polling.NewStatusPoller(c, mapper, polling.Options{})
	owner := ssa.Owner{Field: "kustomize-controller", Group: group}
	return &Library{name: name, manager: ssa.NewResourceManager(c, poller, owner)}, nil
}

// Sync applies in stages, and prunes what the inventory has and the commit has not.
func (l *Library) Sync(ctx context.Context, dir string) (scenario.Report, error) {
	objects, err := scenario.Build(dir)
	if err != nil {
		return scenario.Report{}, err
	}
	l.manager.SetOwnerLabels(objects, l.name, "flux-system")
	options := ssa.DefaultApplyOptions()
	options.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "ignore"}
	options.IfNotPresentSelector = map[string]string{group + "/ssa": "ifnotpresent"}
	options.ForceSelector = map[string]string{group + "/force": "enabled"}
	applied, err := l.manager.ApplyAllStaged(ctx, objects, options)
	if err != nil {
		return scenario.Report{}, err
	}
	before := l.inventory
	now := map[object.ObjMetadata]bool{}
	l.inventory = nil
	for i := range applied.Entries {
		l.inventory = append(l.inventory, &applied.Entries[i])
		now[applied.Entries[i].ObjMetadata] = true
	}
	var stale []*ssa.ChangeSetEntry
	for _, e := range before {
		if !now[e.ObjMetadata] {
			stale = append(stale, e)
		}
	}
	return l.prune(ctx, stale)
}

// Delete prunes the inventory, as the finalizer of a Kustomization with the
// deletion policy MirrorPrune does.
func (l *Library) Delete(ctx context.Context) (scenario.Report, error) {
	report, err := l.prune(ctx, l.inventory)
	l.inventory = nil
	return report, err
}

func (l *Library) prune(ctx context.Context, entries []*ssa.ChangeSetEntry) (scenario.Report, error) {
	objects := make([]*unstructured.Unstructured, len(entries))
	for i, e := range entries {
		objects[i] = &unstructured.Unstructured{}
		objects[i].SetGroupVersionKind(e.ObjMetadata.GroupKind.WithVersion(e.GroupVersion))
		objects[i].SetNamespace(e.ObjMetadata.Namespace)
		objects[i].SetName(e.ObjMetadata.Name)
	}
	pruned, err := l.manager.DeleteAll(ctx, objects, ssa.DeleteOptions{
		PropagationPolicy: metav1.DeletePropagationBackground,
		Inclusions:        l.manager.GetOwnerLabels(l.name, "flux-system"),
		Exclusions: map[string]string{
			group + "/prune": "disabled", group + "/reconcile": "disabled", group + "/ssa": "ignore",
		},
	})
	var report scenario.Report
	if pruned == nil {
		return report, err
	}
	for _, e := range pruned.Entries {
		id := e.ObjMetadata.GroupKind.Kind + "/" + e.ObjMetadata.Name
		switch e.Action {
		case ssa.DeletedAction:
			report.Deleted = append(report.Deleted, id)
		case ssa.SkippedAction:
			report.Kept = append(report.Kept, id)
		default:
			return report, fmt.Errorf("%s: %s", id, e.Action)
		}
	}
	return report, err
}
