package scenario

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	claimKind      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	attachmentKind = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}
	poolKind       = schema.GroupVersionKind{Group: "cstor.openebs.io", Version: "v1", Kind: "CStorPoolCluster"}
)

// driver plays the CSI driver of the cloud in one namespace: a volume for each
// claim, and attached to its node what is to be attached. Kubernetes' own
// controller binds them.
type driver struct {
	cluster   *Cluster
	namespace string
	volumes   map[string]*unstructured.Unstructured // by the name of the claim
}

// run works until the context ends. An error that lasts shows as claims that are
// not bound.
func (d *driver) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = errors.Join(d.provision(ctx), d.attach(ctx)) // retried
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (d *driver) provision(ctx context.Context) error {
	r, err := d.cluster.resource(claimKind, d.namespace)
	if err != nil {
		return err
	}
	claims, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims.Items {
		volume := d.volumes[claim.GetName()]
		if bound, _, _ := unstructured.NestedString(claim.Object, "spec", "volumeName"); bound != "" || volume == nil {
			continue
		}
		volume = volume.DeepCopy()
		unstructured.RemoveNestedField(volume.Object, "status")
		spec := volume.Object["spec"].(map[string]any)
		wanted := claim.Object["spec"].(map[string]any)
		for _, field := range []string{"accessModes", "volumeMode", "storageClassName"} {
			spec[field] = wanted[field]
		}
		spec["persistentVolumeReclaimPolicy"] = "Retain"
		spec["claimRef"].(map[string]any)["uid"] = string(claim.GetUID())
		if err := d.cluster.Apply(ctx, volume); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) attach(ctx context.Context) error {
	r, err := d.cluster.resource(attachmentKind, "")
	if err != nil {
		return err
	}
	attachments, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, v := range d.volumes {
		ours[v.GetName()] = true
	}
	for _, a := range attachments.Items {
		volume, _, _ := unstructured.NestedString(a.Object, "spec", "source", "persistentVolumeName")
		if attached, _, _ := unstructured.NestedBool(a.Object, "status", "attached"); attached || !ours[volume] {
			continue
		}
		status := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"attached": true}}}
		status.SetGroupVersionKind(attachmentKind)
		status.SetName(a.GetName())
		if err := d.cluster.Apply(ctx, status, "status"); err != nil {
			return err
		}
	}
	return nil
}
