package argocd

import (
	"context"
	"fmt"
	"slices"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/resource"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/syncwaves"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// Delete deletes the Application with its resources (the finalizer
// resources-finalizer.argocd.argoproj.io): wave by wave from the last, no
// definitions, nothing with Delete=false, and nothing at all as long as one of
// the objects has to be confirmed.
func (a *Application) Delete(ctx context.Context) (scenario.Report, error) {
	var report scenario.Report
	for {
		live, err := a.cache.GetManagedLiveObjs(nil, a.manages)
		if err != nil {
			return report, err
		}
		var kept []string
		var objects []*unstructured.Unstructured
		deleting := false
		for _, o := range live {
			switch option := deleteOption(o); {
			case o.GetDeletionTimestamp() != nil:
				deleting = true
			case kube.IsCRD(o) || option == common.SyncValueFalse:
				kept = append(kept, scenario.ID(o))
			case confirms(o) && !a.approved:
				report.Waiting = "waiting for confirmation to delete " + scenario.ID(o)
				return report, nil
			default:
				objects = append(objects, o)
			}
		}
		if !deleting {
			if len(objects) == 0 {
				report.Kept = kept
				return report, nil
			}
			if err := a.deleteWave(ctx, objects, &report); err != nil {
				return report, err
			}
		}
		if err := pause(ctx, fmt.Sprintf("%d objects are to be deleted", len(objects))); err != nil {
			return report, err
		}
	}
}

// deleteWave deletes the objects of the last wave. Who sees them is the cache, a
// little later: until then none is deleted twice.
func (a *Application) deleteWave(ctx context.Context, objects []*unstructured.Unstructured, report *scenario.Report) error {
	last := syncwaves.Wave(slices.MaxFunc(objects, func(a, b *unstructured.Unstructured) int { return syncwaves.Wave(a) - syncwaves.Wave(b) }))
	foreground := metav1.DeletePropagationForeground
	for _, o := range objects {
		if syncwaves.Wave(o) != last || slices.Contains(report.Deleted, scenario.ID(o)) {
			continue
		}
		err := a.kubectl.DeleteResource(ctx, a.config, o.GroupVersionKind(), o.GetName(), o.GetNamespace(), metav1.DeleteOptions{PropagationPolicy: &foreground})
		if err != nil {
			return err
		}
		report.Deleted = append(report.Deleted, scenario.ID(o))
	}
	return nil
}

func deleteOption(o *unstructured.Unstructured) string {
	return option(o, common.SyncOptionDelete)
}

func confirms(o *unstructured.Unstructured) bool {
	return deleteOption(o) == common.SyncValueConfirm || option(o, common.SyncOptionPrune) == common.SyncValueConfirm
}

func option(o *unstructured.Unstructured, name string) string {
	if value := resource.GetAnnotationOptionValue(o, common.AnnotationSyncOptions, name); value != nil {
		return *value
	}
	return ""
}
