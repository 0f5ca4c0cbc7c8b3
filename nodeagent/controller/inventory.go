package controller

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/inventory"
	"github.com/poolwright/poolwright/nodeagent/source"
)

// inventoryWriter remembers what was last written, so that an unchanged node writes nothing.
type inventoryWriter struct {
	client  dynamic.Interface
	engine  *source.Engine
	node    string
	log     *slog.Logger
	metrics *Metrics
	dryRun  bool
	owners  func() inventory.Owners

	last string
}

// write writes the NodeInventory where it differs from what was written.
func (w *inventoryWriter) write(ctx context.Context) error {
	f, _, err := w.engine.Facts(inventoryKey)
	if err != nil {
		return err
	}
	inventory.Complete(ctx, f)
	left, err := w.leftovers()
	if err != nil {
		return err
	}
	inv := inventory.Compose(ctx, f, w.owners(), left)
	w.metrics.gauges.measured(inv)
	data, err := json.Marshal(inv)
	if err != nil {
		return err
	}
	if string(data) == w.last || w.dryRun {
		return nil
	}
	if err := w.send(ctx, data); err != nil {
		return err
	}
	w.last = string(data)
	w.log.Info("NodeInventory written", "disks", len(inv.Disks), "groups", len(inv.Groups))
	return nil
}

func (w *inventoryWriter) send(ctx context.Context, data []byte) error {
	var status map[string]any
	if err := json.Unmarshal(data, &status); err != nil {
		return err
	}
	resource := w.client.Resource(inventories)
	live, err := resource.Get(ctx, w.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "poolwright.io/v1alpha1", "kind": "NodeInventory", "metadata": map[string]any{"name": w.node},
		}}, metav1.CreateOptions{FieldManager: manager})
	}
	if err != nil {
		return err
	}
	// What is there already need not be sent: after a start of the agent it mostly is.
	if was, err := json.Marshal(live.Object["status"]); err == nil && sameJSON(was, data) {
		return nil
	}
	live.Object["status"] = status
	_, err = resource.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: manager})
	return err
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	first, _ := json.Marshal(x)
	second, _ := json.Marshal(y)
	return string(first) == string(second)
}

// leftovers are what was kept of Volumes that were deleted.
func (w *inventoryWriter) leftovers() ([]api.Leftover, error) {
	entries, err := w.engine.Runner.Journal.All()
	if err != nil {
		return nil, err
	}
	var left []api.Leftover
	for _, e := range entries {
		if e.Released {
			left = append(left, api.Leftover{Path: filepath.Clean(e.Path), UUID: e.UUID, Owner: e.Object})
		}
	}
	return left, nil
}
