package controller

import (
	"context"
	"encoding/json"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/inventory"
)

// inventoryWriter remembers what was last written, so that an unchanged node writes nothing.
type inventoryWriter struct{ last string }

// writeInventory writes the NodeInventory where it differs from what was written.
func (c *Controller) writeInventory(ctx context.Context) error {
	f, err := facts.Read(c.Engine.Host)
	if err != nil {
		return err
	}
	inventory.Complete(ctx, f)
	left, err := c.leftovers()
	if err != nil {
		return err
	}
	inv := inventory.Compose(ctx, f, c.owner, left)
	c.Metrics.disks(inv)
	data, err := json.Marshal(inv)
	if err != nil {
		return err
	}
	if string(data) == c.inventory.last || c.DryRun {
		return nil
	}
	if err := c.sendInventory(ctx, data); err != nil {
		return err
	}
	c.inventory.last = string(data)
	c.Log.Info("NodeInventory written", "disks", len(inv.Disks), "groups", len(inv.Groups))
	return nil
}

func (c *Controller) sendInventory(ctx context.Context, data []byte) error {
	var status map[string]any
	if err := json.Unmarshal(data, &status); err != nil {
		return err
	}
	resource := c.Client.Resource(inventories)
	live, err := resource.Get(ctx, c.Node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "poolwright.io/v1alpha1", "kind": "NodeInventory", "metadata": map[string]any{"name": c.Node},
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

// owner is the object whose mark a UUID is, or "".
func (c *Controller) owner(uuid string) string {
	if uuid == "" {
		return ""
	}
	for _, v := range c.volumes.All() {
		if v.Spec.NodeName == c.Node && (c.Engine.Cluster.Of(api.KindVolume, v.Name, c.Node) == uuid || string(v.UID) == uuid) {
			return api.KindVolume + "/" + v.Name
		}
	}
	for _, g := range c.groups.All() {
		if g.Spec.NodeName == c.Node && c.Engine.Cluster.Of(api.KindVolumeGroup, g.Name, c.Node) == uuid {
			return api.KindVolumeGroup + "/" + g.Name
		}
	}
	return ""
}

// leftovers are what was kept of Volumes that were deleted.
func (c *Controller) leftovers() ([]api.Leftover, error) {
	entries, err := c.Engine.Runner.Journal.All()
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
