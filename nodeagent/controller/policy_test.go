package controller_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// TestAgentOfAnotherNode holds that an agent can write to the objects of its own node, and to
// no others, with the rights of deploy/nodeagent.
func TestAgentOfAnotherNode(t *testing.T) {
	c := newCluster(t)
	c.apply(t, sparseVolume("data", "keep", "40Mi", "Filesystem"))
	c.apply(t, `
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: VolumeGroup
metadata: {name: fast}
spec: {nodeName: n1, devices: [{serial: S1}]}
`)
	c.apply(t, `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: optional}
provisioner: kubernetes.io/no-provisioner
mountOptions: [noatime]
`)
	own, other := c.as(t, "n1"), c.as(t, "n2")
	nobody := c.withoutPod(t)
	group := schema.GroupVersionResource{Group: volume.Group, Version: volume.Version, Resource: "volumegroups"}
	pv := func(name, node string) *unstructured.Unstructured {
		return parse(t, strings.ReplaceAll(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: `+name+`, labels: {poolwright.io/node: NODE}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: keep
  local: {path: /dev/disk/by-uuid/x}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [NODE]}]}]}}
`, "NODE", node))[0]
	}
	finalizer := []byte(`{"metadata":{"finalizers":["storage.metalk8s.scality.com/volume-protection"]}}`)
	status := []byte(`{"status":{"phase":"Pending","claim":""}}`)
	for _, test := range []struct {
		name string
		try  func(dynamic.Interface) error
	}{
		{"finalizer of a Volume", func(k dynamic.Interface) error {
			_, err := k.Resource(volume).Patch(t.Context(), "data", types.MergePatchType, finalizer, metav1.PatchOptions{})
			return err
		}},
		{"status of a Volume", func(k dynamic.Interface) error {
			_, err := k.Resource(volume).Patch(t.Context(), "data", types.MergePatchType, status, metav1.PatchOptions{}, "status")
			return err
		}},
		{"status of a VolumeGroup", func(k dynamic.Interface) error {
			_, err := k.Resource(group).Patch(t.Context(), "fast", types.MergePatchType, []byte(`{"status":{"phase":"Pending","volumes":[]}}`), metav1.PatchOptions{}, "status")
			return err
		}},
		{"NodeInventory", func(k dynamic.Interface) error {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "poolwright.io/v1alpha1", "kind": "NodeInventory", "metadata": map[string]any{"name": "n1"}}}
			_, err := k.Resource(inventory).Create(t.Context(), o, metav1.CreateOptions{})
			return err
		}},
		{"PersistentVolume", func(k dynamic.Interface) error {
			_, err := k.Resource(persistent).Create(t.Context(), pv("data", "n1"), metav1.CreateOptions{})
			return err
		}},
		{"finalizer of a PersistentVolume", func(k dynamic.Interface) error {
			_, err := k.Resource(persistent).Patch(t.Context(), "data", types.MergePatchType, finalizer, metav1.PatchOptions{})
			return err
		}},
	} {
		// Policies are compiled some time after they were applied: the first refusal is waited for.
		await(t, test.name+" of another node was written", func() (bool, string) {
			err := test.try(other)
			return err != nil, "no error"
		})
		if err := test.try(nobody); err == nil {
			t.Errorf("%s: written with a token of no node", test.name)
		}
		if err := test.try(own); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for _, change := range []string{`{"spec":{"sparseLoopDevice":{"size":"80Mi"}}}`, `{"spec":{"nodeName":"n2"}}`} {
		if _, err := own.Resource(volume).Patch(t.Context(), "data", types.MergePatchType, []byte(change), metav1.PatchOptions{}); err == nil {
			t.Errorf("an agent has changed a spec: %s", change)
		}
	}
	if _, err := own.Resource(persistent).Patch(t.Context(), "data", types.MergePatchType, []byte(`{"metadata":{"labels":{"poolwright.io/node":"n2"}}}`), metav1.PatchOptions{}); err == nil {
		t.Error("an agent has given a PersistentVolume to another node")
	}

	c.oneFieldOff(t, own, pv("other", "n1"))

	// What the agent has taken and not reported is not deleted; what it has reported is.
	if err := c.Resource(group).Delete(t.Context(), "fast", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a VolumeGroup that no agent has taken: %v", err)
	}
	c.apply(t, `
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: VolumeGroup
metadata: {name: taken, finalizers: [storage.metalk8s.scality.com/volume-protection]}
spec: {nodeName: n1, sparse: {size: 1Gi}}
`)
	if err := c.Resource(group).Delete(t.Context(), "taken", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("a VolumeGroup of which nothing is told was deleted: %v", err)
	}
	for status, want := range map[string]string{`{"status":{"volumes":["data"]}}`: "data", `{"status":{"volumes":[]}}`: ""} {
		if _, err := c.Resource(group).Patch(t.Context(), "taken", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		err := c.Resource(group).Delete(t.Context(), "taken", metav1.DeleteOptions{DryRun: []string{"All"}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", status, err)
		}
	}
	for _, change := range []string{`{"spec":{"name":"other"}}`, `{"spec":{"physicalExtentSize":"8Mi"}}`, `{"spec":{"sparse":null,"devices":[{"serial":"S1"}]}}`} {
		if _, err := c.Resource(group).Patch(t.Context(), "taken", types.MergePatchType, []byte(change), metav1.PatchOptions{}); err == nil {
			t.Errorf("%s was taken", change)
		}
	}
}

// as is a client with the token of the agent's pod on a node.
func (c *cluster) as(t *testing.T, node string) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.token(t, node))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// withoutPod is a client of the agent's service account whose token is of no pod.
func (c *cluster) withoutPod(t *testing.T) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate.UserName = "system:serviceaccount:poolwright-node-agent:poolwright-node-agent"
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// oneFieldOff holds that an agent cannot make a PersistentVolume in which one field alone is not as it has to be.
func (c *cluster) oneFieldOff(t *testing.T, own dynamic.Interface, right *unstructured.Unstructured) {
	t.Helper()
	create := func(o *unstructured.Unstructured) error {
		_, err := own.Resource(persistent).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{"All"}})
		return err
	}
	expression := func(key, operator string, values ...any) map[string]any {
		return map[string]any{"key": key, "operator": operator, "values": values}
	}
	affinity := func(terms ...any) map[string]any {
		return map[string]any{"required": map[string]any{"nodeSelectorTerms": terms}}
	}
	term := func(expressions ...any) map[string]any { return map[string]any{"matchExpressions": expressions} }
	const host = "kubernetes.io/hostname"
	for _, off := range []struct {
		path  string
		value any
		want  string
	}{
		{"spec.nodeAffinity", affinity(term(expression(host, "In", "n2"))), "nodeAffinity"},
		{"spec.nodeAffinity", affinity(term(expression(host, "In", "n1", "n2"))), "nodeAffinity"},
		{"spec.nodeAffinity", affinity(term(expression(host, "NotIn", "n1"))), "nodeAffinity"},
		{"spec.nodeAffinity", affinity(term(expression("zone", "In", "n1"))), "nodeAffinity"},
		{"spec.nodeAffinity", affinity(term(expression(host, "In", "n1")), term(expression(host, "In", "n2"))), "nodeAffinity"},
		{"spec.local.path", "/etc", "spec.local.path"},
		{"spec.local.path", "/dev/sda", "spec.local.path"},
		{"spec.local.path", "/dev/disk", "spec.local.path"},
		{"spec.local.path", "/var/lib/kubelet", "spec.local.path"},
		{"spec.claimRef", map[string]any{"namespace": "kube-system", "name": "secret"}, "claimRef"},
		{"spec.mountOptions", []any{"suid"}, "mountOptions"},
		{"metadata.labels", map[string]any{"poolwright.io/node": "n2"}, "not labelled with this node"},
	} {
		wrong := right.DeepCopy()
		if err := unstructured.SetNestedField(wrong.Object, off.value, strings.Split(off.path, ".")...); err != nil {
			t.Fatal(err)
		}
		await(t, off.path+" may be anything", func() (bool, string) {
			err := create(wrong)
			return err != nil && strings.Contains(err.Error(), off.want), fmt.Sprint(off.value, err)
		})
	}
	if err := create(right); err != nil {
		t.Errorf("as it has to be: %v", err)
	}
	// The options of its class are right.
	optional := right.DeepCopy()
	if err := unstructured.SetNestedField(optional.Object, "optional", "spec", "storageClassName"); err != nil {
		t.Fatal(err)
	}
	for _, options := range [][]any{{"noatime"}, {"noatime", "suid"}} {
		if err := unstructured.SetNestedField(optional.Object, options, "spec", "mountOptions"); err != nil {
			t.Fatal(err)
		}
		if err := create(optional); (err == nil) != (len(options) == 1) {
			t.Errorf("%v: %v", options, err)
		}
	}
}
