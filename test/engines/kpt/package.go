package kpt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/cli-utils/pkg/apply"
	"sigs.k8s.io/cli-utils/pkg/apply/event"
	"sigs.k8s.io/cli-utils/pkg/common"
	"sigs.k8s.io/cli-utils/pkg/inventory"
	"sigs.k8s.io/cli-utils/pkg/manifestreader"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// Package is a package with an inventory in the cluster.
type Package struct {
	factory util.Factory
	info    inventory.Info
	client  inventory.Client
	timeout time.Duration // --reconcile-timeout
	policy  inventory.Policy
}

// New makes a package that was never applied (kpt live init). What the library
// caches goes into the folder cache.
func New(kubeconfig, name, cache string) (*Package, error) {
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.CacheDir = &kubeconfig, &cache
	// Faster than the library's own pace, and slower than the API server learns of
	// new definitions: whoever asks for their objects before gets the answer that there are
	// none, and does not ask again.
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = 40, 20
		return c
	}
	factory := util.NewFactory(flags)
	client, err := inventory.ClusterClientFactory{StatusPolicy: inventory.StatusPolicyNone}.NewClient(factory)
	if err != nil {
		return nil, err
	}
	record := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "inventory-" + name, "namespace": "default", "labels": map[string]any{common.InventoryLabel: name},
		},
	}}
	// --inventory-policy adopt: what was detached comes back.
	return &Package{factory: factory, info: inventory.WrapInventoryInfoObj(record), client: client, timeout: patience, policy: inventory.PolicyAdoptIfNoInventory}, nil
}

// patience is for how long kpt waits, far above what it takes on a busy machine.
const patience = 2 * time.Minute

// errUnreconciled is that what was applied is not as it should be in time.
var errUnreconciled = errors.New("not reconciled")

// Sync is kpt live apply; a second time, as a person would do it, where it waits in
// vain: the library learns nothing of the objects of a definition that it applied
// itself if it asked for them before a busy API server served them.
func (p *Package) Sync(ctx context.Context, dir string) (scenario.Report, error) {
	report, err := p.apply(ctx, dir)
	if errors.Is(err, errUnreconciled) {
		first := report
		report, err = p.apply(ctx, dir)
		report.Deleted, report.Kept = append(first.Deleted, report.Deleted...), append(first.Kept, report.Kept...)
	}
	return report, err
}

func (p *Package) apply(ctx context.Context, dir string) (scenario.Report, error) {
	mapper, err := p.factory.ToRESTMapper()
	if err != nil {
		return scenario.Report{}, err
	}
	reader := manifestreader.PathManifestReader{Path: dir, ReaderOptions: manifestreader.ReaderOptions{Mapper: mapper, Namespace: "default"}}
	objects, err := reader.Read()
	if err != nil {
		return scenario.Report{}, err
	}
	applier, err := apply.NewApplierBuilder().WithFactory(p.factory).WithInventoryClient(p.client).Build()
	if err != nil {
		return scenario.Report{}, err
	}
	return follow(applier.Run(ctx, p.info, objects, apply.ApplierOptions{
		ServerSideOptions: common.ServerSideOptions{ServerSideApply: true, ForceConflicts: true, FieldManager: "kpt"},
		ReconcileTimeout:  p.timeout,
		PruneTimeout:      patience,
		InventoryPolicy:   p.policy,
	}))
}

// Delete is kpt live destroy.
func (p *Package) Delete(ctx context.Context) (scenario.Report, error) {
	destroyer, err := apply.NewDestroyerBuilder().WithFactory(p.factory).WithInventoryClient(p.client).Build()
	if err != nil {
		return scenario.Report{}, err
	}
	return follow(destroyer.Run(ctx, p.info, apply.DestroyerOptions{DeleteTimeout: patience}))
}

// follow reads the events to their end.
func follow(events <-chan event.Event) (scenario.Report, error) {
	var report scenario.Report
	var failed error
	fail := func(what string, id object.ObjMetadata, err error) {
		failed = errors.Join(failed, fmt.Errorf("%s/%s: %s: %w", id.GroupKind.Kind, id.Name, what, err))
	}
	removed := func(id object.ObjMetadata, skipped bool) {
		name := id.GroupKind.Kind + "/" + id.Name
		if skipped {
			report.Kept = append(report.Kept, name)
		} else {
			report.Deleted = append(report.Deleted, name)
		}
	}
	for e := range events {
		switch e.Type {
		case event.ErrorType:
			failed = errors.Join(failed, e.ErrorEvent.Err)
		case event.ValidationType:
			failed = errors.Join(failed, e.ValidationEvent.Error)
		case event.ApplyType:
			if a := e.ApplyEvent; a.Status == event.ApplyFailed || a.Status == event.ApplySkipped {
				fail("apply", a.Identifier, a.Error)
			}
		case event.WaitType:
			if w := e.WaitEvent; w.Status == event.ReconcileTimeout || w.Status == event.ReconcileFailed {
				fail("wait", w.Identifier, fmt.Errorf("%w: %s", errUnreconciled, w.Status))
			}
		case event.PruneType:
			switch p := e.PruneEvent; p.Status {
			case event.PruneFailed:
				fail("prune", p.Identifier, p.Error)
			case event.PruneSkipped, event.PruneSuccessful:
				removed(p.Identifier, p.Status == event.PruneSkipped)
			}
		case event.DeleteType:
			switch d := e.DeleteEvent; d.Status {
			case event.DeleteFailed:
				fail("delete", d.Identifier, d.Error)
			case event.DeleteSkipped, event.DeleteSuccessful:
				removed(d.Identifier, d.Status == event.DeleteSkipped)
			}
		}
	}
	return report, failed
}
