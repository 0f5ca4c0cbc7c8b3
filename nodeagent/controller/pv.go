package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/schema/quantity"
)

const (
	// nodeLabel is on every PersistentVolume of the agent's, so that each agent watches its own
	// alone.
	nodeLabel = "poolwright.io/node"
	// provisionedBy keeps Kubernetes from looking for a plugin of its own that deletes the
	// volume, and from failing it when there is none. Names that begin with kubernetes.io/ are
	// looked for.
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// labelValue is a node's name as a label, or a hash of it where it is too long.
func labelValue(node string) string {
	if len(node) <= 63 {
		return node
	}
	sum := sha256.Sum256([]byte(node))
	return node[:54] + "-" + hex.EncodeToString(sum[:4])
}

// applyPV makes the PersistentVolume of a Volume, or raises its capacity. What else it says
// stays as it is: its source cannot be changed, and the rest may be a person's.
func (c *Controller) applyPV(ctx context.Context, v *api.Volume, r source.Request, result source.Result) (*persistentVolume, error) {
	pv, err := c.getPV(ctx, v.Name)
	if err != nil {
		return nil, err
	}
	if pv == nil {
		created, err := c.Client.Resource(persistent).Create(ctx, c.newPV(v, r, result), metav1.CreateOptions{FieldManager: manager})
		if err != nil {
			return nil, err
		}
		return typedPV(created)
	}
	switch {
	case !ownedPV(pv, v):
		return nil, refused{api.ReasonCreationError, fmt.Sprintf("there is a PersistentVolume %s that is not of this Volume", v.Name)}
	case pv.DeletionTimestamp != nil:
		return pv, refused{api.ReasonUnavailable, "its PersistentVolume is being deleted: somebody has deleted it; delete the Volume as well, or wait until the claim has released it"}
	case pv.Spec.Local == nil || pv.Spec.Local.Path != result.Path:
		return pv, refused{api.ReasonIdentity, fmt.Sprintf("its PersistentVolume has another path than %s", result.Path)}
	}
	change := map[string]any{}
	meta := map[string]any{}
	labels, annotations := labelsOf(v, c.Node), annotationsOf(v)
	if differs(pv.Labels, labels) {
		meta["labels"] = labels
	}
	if differs(pv.Annotations, annotations) {
		meta["annotations"] = annotations
	}
	if len(meta) > 0 {
		change["metadata"] = meta
	}
	if quantity.Bytes(pv.Spec.Capacity["storage"]) < result.Size {
		change["spec"] = map[string]any{"capacity": map[string]any{"storage": strconv.FormatInt(result.Size, 10)}}
	}
	if len(change) > 0 {
		if _, err := c.patch(ctx, persistent, pv.Name, change); err != nil {
			return pv, err
		}
	}
	return pv, c.addFinalizer(ctx, persistent, &pv.ObjectMeta)
}

func differs(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return true
		}
	}
	return false
}

// ownedPV reports whether a PersistentVolume is of this very Volume.
func ownedPV(pv *persistentVolume, v *api.Volume) bool {
	for _, owner := range pv.OwnerReferences {
		if owner.Kind == api.KindVolume && owner.UID == v.UID {
			return true
		}
	}
	return false
}

// ofVolume reports whether a PersistentVolume is to end with a Volume: of this one, or of one of its name before
// it, whose data this one names.
func ofVolume(pv *persistentVolume, v *api.Volume) bool {
	if pv == nil {
		return false
	}
	for _, owner := range pv.OwnerReferences {
		if owner.Kind == api.KindVolume && owner.Name == v.Name {
			return true
		}
	}
	return len(pv.OwnerReferences) == 0 && pv.Labels[nodeLabel] == labelValue(v.Spec.NodeName) && slices.Contains(pv.Finalizers, api.Finalizer)
}

// claimOf is the claim that has the data of a Volume, or "": through the PersistentVolume of its name, whoever
// made it, or through another one that leads to the same device.
func (c *Controller) claimOf(ctx context.Context, v *api.Volume, pv *persistentVolume) (string, error) {
	if claim := pv.claim(); claim != "" {
		return claim, nil
	}
	names := []string{string(c.Engine.Cluster.Of(api.KindVolume, v.Name, c.Node)), string(v.UID), v.Annotations[api.AdoptAnnotation]}
	if pv != nil && pv.Spec.Local != nil {
		names = append(names, filepath.Base(pv.Spec.Local.Path))
	}
	options := metav1.ListOptions{Limit: 250}
	for {
		page, err := c.Client.Resource(persistent).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			other, err := typedPV(&page.Items[i])
			if err != nil {
				return "", fmt.Errorf("PersistentVolume %s: %w", page.Items[i].GetName(), err)
			}
			if other.Spec.Local != nil && other.claim() != "" && slices.Contains(names, filepath.Base(other.Spec.Local.Path)) {
				return other.claim(), nil
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return "", nil
		}
	}
}

func typedPV(u *unstructured.Unstructured) (*persistentVolume, error) {
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	pv := &persistentVolume{}
	return pv, json.Unmarshal(data, pv)
}

func labelsOf(v *api.Volume, node string) map[string]string {
	labels := maps.Clone(v.Spec.Template.Metadata.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[nodeLabel] = labelValue(node)
	return labels
}

func annotationsOf(v *api.Volume) map[string]string {
	annotations := maps.Clone(v.Spec.Template.Metadata.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[provisionedBy] = "poolwright.io/node-agent"
	return annotations
}

// newPV is the PersistentVolume: what the template says, and over it what the agent knows.
func (c *Controller) newPV(v *api.Volume, r source.Request, result source.Result) *unstructured.Unstructured {
	class := c.classes.Get(v.Spec.StorageClassName)
	spec := map[string]any{"accessModes": []any{"ReadWriteOnce"}, "persistentVolumeReclaimPolicy": "Retain"}
	if class != nil && class.ReclaimPolicy == "Delete" {
		spec["persistentVolumeReclaimPolicy"] = "Delete"
	}
	if class != nil && len(class.MountOptions) > 0 {
		var options []any
		for _, option := range class.MountOptions {
			options = append(options, option)
		}
		spec["mountOptions"] = options
	}
	maps.Copy(spec, v.Spec.Template.Spec)
	local := map[string]any{"path": result.Path}
	mode := api.Block
	if v.Spec.Mode != api.Block {
		mode = api.Filesystem
		local["fsType"] = r.Filesystem.Type
	}
	maps.Copy(spec, map[string]any{
		"capacity":   map[string]any{"storage": strconv.FormatInt(result.Size, 10)},
		"volumeMode": mode, "storageClassName": v.Spec.StorageClassName, "local": local,
		"nodeAffinity": map[string]any{"required": map[string]any{"nodeSelectorTerms": []any{map[string]any{
			"matchExpressions": []any{map[string]any{"key": "kubernetes.io/hostname", "operator": "In", "values": []any{c.hostname()}}},
		}}}},
	})
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolume",
		"metadata": map[string]any{
			"name": v.Name, "labels": anyMap(labelsOf(v, c.Node)), "annotations": anyMap(annotationsOf(v)),
			"finalizers": []any{api.Finalizer},
			// It does not block: a Volume that is deleted in the foreground would take its
			// PersistentVolume along, past our finalizer.
			"ownerReferences": []any{map[string]any{
				"apiVersion": api.Group + "/" + api.Version, "kind": api.KindVolume, "name": v.Name, "uid": string(v.UID),
				"controller": true, "blockOwnerDeletion": false,
			}},
		},
		"spec": spec,
	}}
}

func anyMap(m map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		out[key] = value
	}
	return out
}
