package lease

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live/cluster"
)

// LabelLeader is on the pod of the process that holds the lease, with the value true: a Service can select it.
const LabelLeader = "poolwright.io/leader"

// Label gives a pod the label, or removes it.
func Label(ctx context.Context, c *cluster.Cluster, namespace, pod string, leads bool) error {
	var value any // null removes it
	if leads {
		value = "true"
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{LabelLeader: value}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	pods := c.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace)
	if _, err := pods.Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return c.Explain(err, "label the pod "+namespace+"/"+pod+" (--pod)")
	}
	return nil
}
