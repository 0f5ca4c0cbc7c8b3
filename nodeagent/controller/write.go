package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/nodeagent/api"
)

const manager = "poolwright-node-agent"

// writer is what writes to the API server, but for what is made or deleted.
type writer struct {
	client dynamic.Interface
	node   string
	log    *slog.Logger
}

// patch sends a merge patch of an object, or of its status.
func (w writer) patch(ctx context.Context, r schema.GroupVersionResource, name string, change map[string]any, sub ...string) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	return w.client.Resource(r).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager}, sub...)
}

// finalizers writes the finalizers of an object. The resourceVersion makes it fail where
// somebody else has changed them meanwhile.
func (w writer) finalizers(ctx context.Context, r schema.GroupVersionResource, o *metav1.ObjectMeta, keep []string) error {
	if keep == nil {
		keep = []string{}
	}
	_, err := w.patch(ctx, r, o.Name, map[string]any{"metadata": map[string]any{"finalizers": keep, "resourceVersion": o.ResourceVersion}})
	return err
}

func (w writer) addFinalizer(ctx context.Context, r schema.GroupVersionResource, o *metav1.ObjectMeta) error {
	if slices.Contains(o.Finalizers, api.Finalizer) {
		return nil
	}
	return w.finalizers(ctx, r, o, append(slices.Clone(o.Finalizers), api.Finalizer))
}

func (w writer) dropFinalizer(ctx context.Context, r schema.GroupVersionResource, o *metav1.ObjectMeta) error {
	if !slices.Contains(o.Finalizers, api.Finalizer) {
		return nil
	}
	return w.finalizers(ctx, r, o, slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == api.Finalizer }))
}

// verdict is how an object is.
type verdict struct {
	status  metav1.ConditionStatus
	reason  api.Reason
	message string
}

func (v verdict) phase() api.Phase {
	switch {
	case v.status == metav1.ConditionTrue:
		return api.PhaseAvailable
	case v.status == metav1.ConditionFalse:
		return api.PhaseFailed
	case v.reason == api.ReasonPending:
		return api.PhasePending
	}
	return api.PhaseTerminating
}

// condition is the condition Ready of a verdict. Its times change only with it.
func condition(old []api.Condition, v verdict, generation int64) ([]api.Condition, bool) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	next := api.Condition{
		Type: "Ready", Status: v.status, Reason: v.reason, Message: v.message, ObservedGeneration: generation,
		LastTransitionTime: now, LastUpdateTime: now,
	}
	for _, c := range old {
		if c.Type != "Ready" {
			continue
		}
		if c.Status == next.Status {
			next.LastTransitionTime = c.LastTransitionTime
		}
		if c.Status == next.Status && c.Reason == next.Reason && c.Message == next.Message && c.ObservedGeneration == generation {
			next.LastUpdateTime = c.LastUpdateTime
			return []api.Condition{next}, false
		}
	}
	return []api.Condition{next}, true
}

// statusPatch sends a status where it differs from what is there, and returns what was kept
// of it, or nil.
func (w writer) statusPatch(ctx context.Context, r schema.GroupVersionResource, name string, old, next any) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	if string(before) == string(after) {
		return nil, nil
	}
	var was, is map[string]any
	if err := json.Unmarshal(before, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(after, &is); err != nil {
		return nil, err
	}
	for key := range was {
		if _, there := is[key]; !there {
			is[key] = nil // a merge patch keeps what it does not name
		}
	}
	return w.patch(ctx, r, name, map[string]any{"status": is}, "status")
}

// event reports a change of an object, once.
func (w writer) event(ctx context.Context, kind, name, uid string, v verdict) {
	kindOf := "Normal"
	if v.status == metav1.ConditionFalse {
		kindOf = "Warning"
	}
	now := metav1.NewTime(time.Now())
	_, err := w.client.Resource(events).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"name": fmt.Sprintf("%s.%x", name, now.UnixNano()), "namespace": "default"},
		"involvedObject": map[string]any{"apiVersion": api.Group + "/" + api.Version, "kind": kind, "name": name, "uid": uid},
		"reason":         string(v.reason), "message": v.message, "type": kindOf, "count": int64(1),
		"source":         map[string]any{"component": manager, "host": w.node},
		"firstTimestamp": now.UTC().Format(time.RFC3339), "lastTimestamp": now.UTC().Format(time.RFC3339),
	}}, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		w.log.Warn("an event was not written", "object", kind+"/"+name, "error", err)
	}
}
