package scenario

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	claimKind      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	attachmentKind = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}
	poolKind       = schema.GroupVersionKind{Group: "cstor.openebs.io", Version: "v1", Kind: "CStorPoolCluster"}
	instanceKind   = schema.GroupVersionKind{Group: "cstor.openebs.io", Version: "v1", Kind: "CStorPoolInstance"}
	diskKind       = schema.GroupVersionKind{Group: "openebs.io", Version: "v1alpha1", Kind: "BlockDevice"}
	diskPoolKind   = schema.GroupVersionKind{Group: "openebs.io", Version: "v1beta3", Kind: "DiskPool"}
	diskClaimKind  = schema.GroupVersionKind{Group: "openebs.io", Version: "v1alpha1", Kind: "BlockDeviceClaim"}
)

const hostname = "kubernetes.io/hostname"

// driver plays in one namespace what a cluster has beside Kubernetes: the CSI driver
// of the cloud, which makes a volume for each claim and attaches to its node what is
// to be attached, after it has failed to at first; and the operator, to which every
// pool is made and healthy at once. Kubernetes' own controller binds the claims.
type driver struct {
	cluster   *Cluster
	namespace string
	volumes   map[string]*unstructured.Unstructured // by the name of the claim
	refused   map[types.UID]time.Time               // attachments, when they first failed
	failure   error                                 // of the last try, once run has ended
}

// refusal is for how long an attachment fails: long enough for every engine to see.
const refusal = 300 * time.Millisecond

// run works until the context ends.
func (d *driver) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := errors.Join(d.provision(ctx), d.attach(ctx), d.operate(ctx)); ctx.Err() == nil {
			d.failure = err // retried
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
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
		if !ours[volume] || working(&a) {
			continue
		}
		said := map[string]any{"attached": true}
		switch since, seen := d.refused[a.GetUID()]; {
		case !seen:
			d.refused[a.GetUID()] = time.Now()
			said = map[string]any{"attached": false, "attachError": map[string]any{"message": "the disk is still attached elsewhere"}}
		case time.Since(since) < refusal:
			continue
		}
		status := &unstructured.Unstructured{Object: map[string]any{"status": said}}
		status.SetGroupVersionKind(attachmentKind)
		status.SetName(a.GetName())
		if err := d.cluster.Apply(ctx, status, "status"); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) operate(ctx context.Context) error {
	r, err := d.cluster.resource(poolKind, d.namespace)
	if err != nil || r == nil {
		return err
	}
	clusters, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, c := range clusters.Items {
		if working(&c) {
			continue
		}
		pools, _, _ := unstructured.NestedSlice(c.Object, "spec", "pools")
		count := int64(len(pools))
		for _, pool := range pools {
			if err := d.makePool(ctx, &c, pool); err != nil {
				return err
			}
		}
		status := &unstructured.Unstructured{Object: map[string]any{
			"status": map[string]any{"desiredInstances": count, "provisionedInstances": count, "healthyInstances": count},
		}}
		status.SetGroupVersionKind(poolKind)
		status.SetNamespace(d.namespace)
		status.SetName(c.GetName())
		status.SetUID(c.GetUID()) // or it would come back after it is deleted
		if err := d.cluster.Apply(ctx, status); err != nil {
			return err
		}
	}
	return nil
}

// makePool makes the instance of one of the spec.pools of a pool cluster.
func (d *driver) makePool(ctx context.Context, c *unstructured.Unstructured, pool any) error {
	fields, _ := pool.(map[string]any)
	host, _, err := unstructured.NestedString(fields, "nodeSelector", hostname)
	if err != nil {
		return err
	}
	groups, _, err := unstructured.NestedSlice(fields, "dataRaidGroups")
	if err != nil {
		return err
	}
	if err := d.claim(ctx, c, groups); err != nil {
		return err
	}
	instance := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"hostName": host, "nodeSelector": map[string]any{hostname: host}, "dataRaidGroups": groups},
		"status": map[string]any{
			"phase": "ONLINE", "readOnly": false, "healthyReplicas": int64(0), "provisionedReplicas": int64(0),
			"capacity": map[string]any{"total": "1", "free": "1", "used": "0", "zfs": map[string]any{"logicalUsed": "0"}},
		},
	}}
	instance.SetGroupVersionKind(instanceKind)
	instance.SetNamespace(d.namespace)
	instance.SetName(c.GetName() + "-" + host)
	instance.SetLabels(map[string]string{hostname: host, "openebs.io/cstor-pool-cluster": c.GetName()})
	instance.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: c.GetAPIVersion(), Kind: c.GetKind(), Name: c.GetName(), UID: c.GetUID()}})
	return d.cluster.Apply(ctx, instance)
}

// claim claims the disks of a pool, and has the claims answered: that comes before the
// instance.
func (d *driver) claim(ctx context.Context, c *unstructured.Unstructured, groups []any) error {
	for _, group := range groups {
		fields, _ := group.(map[string]any)
		disks, _, _ := unstructured.NestedSlice(fields, "blockDevices")
		for _, disk := range disks {
			fields, _ := disk.(map[string]any)
			name, _, _ := unstructured.NestedString(fields, "blockDeviceName")
			claim := &unstructured.Unstructured{Object: map[string]any{
				"spec":   map[string]any{"blockDeviceName": name, "resources": map[string]any{"requests": map[string]any{"storage": "1"}}},
				"status": map[string]any{"phase": "Bound"},
			}}
			claim.SetGroupVersionKind(diskClaimKind)
			claim.SetNamespace(d.namespace)
			claim.SetName("bdc-" + name)
			claim.SetLabels(map[string]string{"openebs.io/cstor-pool-cluster": c.GetName()})
			live, err := d.cluster.Get(ctx, diskKind, d.namespace, name)
			if err != nil {
				return err
			}
			if live == nil {
				continue // nobody has put the disks into this cluster
			}
			if err := errors.Join(d.cluster.Apply(ctx, claim), d.answer(ctx, live, claim.GetName())); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer marks a disk as claimed. It is applied whole: what its manager leaves out goes.
func (d *driver) answer(ctx context.Context, disk *unstructured.Unstructured, claim string) error {
	disk.SetManagedFields(nil)
	disk.SetResourceVersion("")
	ref := map[string]any{"kind": diskClaimKind.Kind, "name": claim, "namespace": d.namespace}
	return errors.Join(
		unstructured.SetNestedMap(disk.Object, ref, "spec", "claimRef"),
		unstructured.SetNestedField(disk.Object, "Claimed", "status", "claimState"),
		d.cluster.Apply(ctx, disk),
	)
}
