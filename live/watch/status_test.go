package watch_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/own"
	"github.com/poolwright/poolwright/live/snapshot"
	definitions "github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/test/tool"
)

const example = "../../examples/cstor-local"

// hosts of the example's pools, and their disks.
var hosts = []struct {
	name  string
	disks []string
}{
	{"stor-a1", []string{"blockdevice-51cc11434f2135ee05e1efe54f5b3716", "blockdevice-f37b67625047815b75924fd3aea0e420", "blockdevice-4f68c0fcea2cd605aa273325a1712676"}},
	{"stor-b2", []string{"blockdevice-f67edf8e9ac959b0a4d034868c574904", "blockdevice-76716f2b3a0aa318e886be489612229e", "blockdevice-328bd3c5051391213306f054ce484272"}},
	{"stor-c1", []string{"blockdevice-94f00118e3d1ffae0ead8857fae98ea3", "blockdevice-945ed52d887c8dabbd443c87d8b2dc3c"}},
}

// What is changed while the program looks.
var (
	configs      = schema.GroupVersionResource{Group: "dao.mayadata.io", Version: "v1alpha1", Resource: "cstorclusterconfigs"}
	poolClusters = schema.GroupVersionResource{Group: "cstor.openebs.io", Version: "v1", Resource: "cstorpoolclusters"}
	instances    = schema.GroupVersionResource{Group: "cstor.openebs.io", Version: "v1", Resource: "cstorpoolinstances"}
	nodes        = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// TestStatus follows the example from an empty cluster to healthy pools, to a pool
// that is degraded, over the loss of the API server, and back.
func TestStatus(t *testing.T) {
	definitions := tool.Upstream(t, "openebs-cstor.yaml", "openebs-ndm.yaml")
	k := newKube(t)
	flags := []string{"--kubeconfig", plane.Kubeconfig}

	// Without our own kinds there is nothing to say about the cluster's specs.
	_, talk, code := poolwright(t, append(flags, "status", "--cluster")...)
	if code != 1 || !strings.Contains(talk, "the cluster has no kind CStorClusterConfig (dao.mayadata.io)") {
		t.Fatalf("exit code %d: %s", code, talk)
	}

	// It is followed before a single kind of cStor is there.
	k.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: openebs}\n")
	k.apply(t, read(t, filepath.Join(example, "inventory/nodes.yaml")))
	untaint(t, k)
	follow := start(t, append(flags, "status", example, "--watch")...)
	follow.prints("PROGRESSING NotApplied")
	k.define(t, definitions...)
	k.define(t, ownDefinitions(t)...)
	k.apply(t, read(t, filepath.Join(example, "inventory/blockdevices.yaml")))

	// The specs in the cluster, followed and written by what deploy/status runs.
	k.apply(t, read(t, filepath.Join(example, "cstor.yaml")))
	deploy(t, k)
	writer := start(t, "--kubeconfig", impersonating(t, "system:serviceaccount:poolwright-status:poolwright-status"),
		"status", "--cluster", "--watch", "--write", "--output=json")
	writer.prints(`"phase":"PROGRESSING","reason":"NotRendered"`)
	awaitCondition(t, k, "Reconciling", "True")

	rendered := filepath.Join(example, "rendered/cstorclusterconfig.openebs.prod")
	k.apply(t, read(t, filepath.Join(rendered, "cstorclusterplan.yaml")))
	k.apply(t, read(t, filepath.Join(rendered, "cstorclusterstorageset.yaml")))
	writer.prints(`"phase":"PROGRESSING","reason":"RenderPending"`)
	k.apply(t, read(t, filepath.Join(rendered, "cstorpoolcluster.yaml")))
	follow.prints(" 8 of 8 block devices not claimed yet")
	writer.prints(`"reason":"DeviceUnclaimed","message":"step 1 of about 1: 8 of 8 block devices not claimed yet`)

	operate(t, k)
	follow.prints("OK Healthy")
	writer.prints(`"phase":"OK","reason":"Healthy","message":"3 of 3 pools healthy"`)
	awaitCondition(t, k, "Ready", "True")
	stays(t, k)

	setPool(t, k, "prod-stor-b2", "DEGRADED")
	follow.prints("ERROR PoolDegraded")
	follow.prints("1 of 3 pools degraded: prod-stor-b2 on node stor-b2")
	awaitCondition(t, k, "Ready", "False")
	// The parts say it where they are objects, too.
	for object, phase := range map[string]string{
		"cstorclusterplans/prod": "ERROR", "cstorclusterstoragesets/prod-stor-b2": "ERROR", "cstorclusterstoragesets/prod-stor-a1": "OK",
	} {
		resource, name, _ := strings.Cut(object, "/")
		await(t, object+" is "+phase, func() bool { return ownStatus(t, k, resource, name)["phase"] == phase })
	}
	if c := conditions(t, k)["Stalled"]; c != nil {
		t.Errorf("a degraded pool may heal, and the spec is said to be stalled: %v", c)
	}

	// A node that is down explains the pool on it.
	setReady(t, k, "stor-b2", "Unknown")
	follow.prints("ERROR NodeNotReady")
	setReady(t, k, "stor-b2", "True")
	follow.prints("ERROR PoolDegraded")

	// The API server crashes, and comes back.
	plane.StopAPIServer()
	follow.says("the watch was cut: cannot watch ")
	time.Sleep(2 * time.Second)
	if err := plane.StartAPIServer(); err != nil {
		t.Fatal(err)
	}
	follow.says("the watch goes on")
	writer.says("the watch goes on")
	cutAndBack(t, follow.talk.String())
	k = newKube(t)
	setPool(t, k, "prod-stor-b2", "ONLINE")
	follow.prints("OK Healthy")
	awaitCondition(t, k, "Ready", "True")

	// A pool is deleted, and made again.
	if err := k.Resource(instances).Namespace("openebs").Delete(t.Context(), "prod-stor-c1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	follow.prints("1 of 3 pools missing, though made before: on node stor-c1")
	k.apply(t, poolInstance("stor-c1", fmt.Sprintf("{blockDeviceName: %s}, {blockDeviceName: %s}", hosts[2].disks[0], hosts[2].disks[1])))
	follow.prints("OK Healthy")
	awaitCondition(t, k, "Ready", "True")

	// The spec selects by annotations from now on, so these are read of the nodes.
	annotate(t, k)
	merge(t, k, configs, "prod", `{"spec":{"allowedNodes":{"nodeSelectorTerms":[{"matchAnnotations":{"example.com/pool":"yes"}}]}}}`)
	await(t, "the edit is observed", func() bool { return ownStatus(t, k, "cstorclusterconfigs", "prod")["observedGeneration"] == int64(2) })
	awaitCondition(t, k, "Ready", "True")

	// Somebody else writes another status.
	k.status(t, "apiVersion: dao.mayadata.io/v1alpha1\nkind: CStorClusterConfig\nmetadata: {name: prod, namespace: openebs}\nstatus: {phase: ERROR}\n")
	await(t, "the status is mended", func() bool { return ownStatus(t, k, "cstorclusterconfigs", "prod")["phase"] == "OK" })
	stays(t, k)

	writesNothing(t)

	// One look says the same as following does.
	out, talk, code := poolwright(t, append(flags, "status", example)...)
	if code != 0 || !strings.Contains(out, "OK           Healthy") || talk != "" {
		t.Errorf("exit code %d:\n%s%s", code, out, talk)
	}
	out, talk, code = poolwright(t, append(flags, "tree", "bd/"+hosts[1].disks[0])...)
	if code != 0 || !strings.Contains(out, "CStorPoolInstance openebs/prod-stor-b2") {
		t.Errorf("exit code %d:\n%s%s", code, out, talk)
	}

	// A claim and its volume are in different namespaces. Which one is named chooses
	// the root of a tree, or specs, and is not all that is looked at.
	k.apply(t, volumeOf("prod-stor-b2"))
	for _, args := range [][]string{{"pvc/cart", "-n", "shop"}, {"node/stor-b2", "-n", "shop"}} {
		out, talk, code = poolwright(t, append(append(flags, "tree"), args...)...)
		if code != 0 || strings.Contains(out, "Missing") || !strings.Contains(out, "CStorVolumeReplica openebs/pvc-1-prod-stor-b2") {
			t.Errorf("%v: exit code %d:\n%s%s", args, code, out, talk)
		}
	}
	for namespace, want := range map[string]string{"openebs": "OK           Healthy", "nope": ": there is no spec in namespace nope, so there is nothing to say"} {
		out, talk, code = poolwright(t, append(flags, "status", example, "-n", namespace)...)
		if code != 0 || !strings.Contains(out+talk, want) {
			t.Errorf("-n %s: exit code %d:\n%s%s", namespace, code, out, talk)
		}
	}

	// The spec goes.
	if err := k.Resource(configs).Namespace("openebs").Delete(t.Context(), "prod", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	writer.says("CStorClusterConfig openebs/prod is gone")
	writer.says("there is no spec in the cluster")

	follow.interrupt()
	writer.interrupt()
	cutAndBack(t, follow.talk.String())
	if said := strings.TrimSpace(writer.talk.String()); strings.Contains(said, "poolwright:") {
		t.Errorf("the role of deploy/status does not suffice:\n%s", said)
	}
	if len(k.warnings.all) > 0 {
		t.Errorf("warned of: %v", k.warnings.all)
	}
}

// cutAndBack holds that nothing is said but that the watch was cut, once for all kinds, and that it goes on. A busy
// API server that starts again may cut it again.
func cutAndBack(t *testing.T, said string) {
	t.Helper()
	turns := []string{"the watch was cut: ", "the watch goes on"}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	for i, line := range lines {
		if !strings.Contains(line, turns[i%2]) || len(lines)%2 != 0 {
			t.Errorf("said more than that the watch was cut and goes on:\n%s", said)
			return
		}
	}
}

// TestNoServer asks a server that is not there.
func TestNoServer(t *testing.T) {
	config := strings.ReplaceAll(read(t, plane.Kubeconfig), plane.URL, "https://127.0.0.1:1")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status", example}, {"status", example, "--watch"}, {"status", "--write"}, {"tree"}} {
		out, talk, code := poolwright(t, append(args, "--kubeconfig", file)...)
		if code != 1 || out != "" || !strings.Contains(talk, "no API server answers at https://127.0.0.1:1") {
			t.Errorf("%v: exit code %d:\n%s%s", args, code, out, talk)
		}
	}
}

// TestInterruptedAtFirst interrupts a watch of a server that never answers.
func TestInterruptedAtFirst(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"clusters": [{"name": "c", "cluster": {"server": "http://%s"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`, silent.Addr())
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	follow := start(t, "status", example, "--watch", "--kubeconfig", file)
	if _, err := silent.Accept(); err != nil { // and says no more
		t.Fatal(err)
	}
	follow.interrupt()
	if follow.out.String() != "" || follow.talk.String() != "" {
		t.Errorf("%s%s", follow.out.String(), follow.talk.String())
	}
}

// TestNoPermission asks as somebody who may read nothing.
func TestNoPermission(t *testing.T) {
	config := impersonating(t, "nobody")
	for _, args := range [][]string{{"status", example}, {"status", example, "--watch"}, {"tree"}} {
		out, talk, code := poolwright(t, append(args, "--kubeconfig", config)...)
		if code != 1 || out != "" || !strings.Contains(talk, "read-only role") {
			t.Errorf("%v: exit code %d:\n%s%s", args, code, out, talk)
		}
	}
}

// volumeOf is a volume with a replica on one pool, and its claim in a namespace of
// its own.
func volumeOf(pool string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: cart, namespace: shop}
spec: {volumeName: pvc-1, storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-1}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: cstor.csi.openebs.io, volumeHandle: pvc-1}, claimRef: {namespace: shop, name: cart}}
---
apiVersion: cstor.openebs.io/v1
kind: CStorVolumeConfig
metadata: {name: pvc-1, namespace: openebs}
spec: {capacity: {storage: 1Gi}, provision: {capacity: {storage: 1Gi}, replicaCount: 1}, policy: {}}
status: {phase: Bound}
versionDetails: {}
---
apiVersion: cstor.openebs.io/v1
kind: CStorVolume
metadata: {name: pvc-1, namespace: openebs}
spec: {capacity: 1Gi, replicationFactor: 1}
status: {phase: Healthy}
---
apiVersion: cstor.openebs.io/v1
kind: CStorVolumeReplica
metadata: {name: pvc-1-%[1]s, namespace: openebs, labels: {cstorpoolinstance.openebs.io/name: %[1]s, cstorvolume.openebs.io/name: pvc-1}}
spec: {capacity: 1Gi}
status: {phase: Healthy}
`, pool)
}

// operate does what the node disk manager and the operators of cStor do.
func operate(t *testing.T, k *kube) {
	t.Helper()
	for _, host := range hosts {
		var list []string
		for _, disk := range host.disks {
			list = append(list, fmt.Sprintf("{blockDeviceName: %s}", disk))
			k.apply(t, fmt.Sprintf(`
apiVersion: openebs.io/v1alpha1
kind: BlockDeviceClaim
metadata: {name: bdc-%[1]s, namespace: openebs, labels: {openebs.io/cstor-pool-cluster: prod}}
spec: {blockDeviceName: %[1]s, resources: {requests: {storage: 1Gi}}}
status: {phase: Bound}
`, disk))
			patch := fmt.Sprintf(`{"spec":{"claimRef":{"name":"bdc-%s","namespace":"openebs","kind":"BlockDeviceClaim"}},"status":{"claimState":"Claimed"}}`, disk)
			devices := k.Resource(schema.GroupVersionResource{Group: "openebs.io", Version: "v1alpha1", Resource: "blockdevices"}).Namespace("openebs")
			if _, err := devices.Patch(t.Context(), disk, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		k.apply(t, poolInstance(host.name, strings.Join(list, ", ")))
	}
	merge(t, k, poolClusters, "prod", `{"status":{"desiredInstances":3,"provisionedInstances":3,"healthyInstances":3}}`)
}

// poolInstance is a healthy pool. Its definition has no status subresource.
func poolInstance(host, disks string) string {
	return fmt.Sprintf(`
apiVersion: cstor.openebs.io/v1
kind: CStorPoolInstance
metadata: {name: prod-%[1]s, namespace: openebs, labels: {openebs.io/cstor-pool-cluster: prod, kubernetes.io/hostname: %[1]s}}
spec:
  hostName: %[1]s
  nodeSelector: {kubernetes.io/hostname: %[1]s}
  dataRaidGroups: [{blockDevices: [%[2]s]}]
  poolConfig: {dataRaidGroupType: mirror}
status: {phase: ONLINE, readOnly: false, healthyReplicas: 0, provisionedReplicas: 0}
`, host, disks)
}

func setPool(t *testing.T, k *kube, name, phase string) {
	t.Helper()
	merge(t, k, instances, name, fmt.Sprintf(`{"status":{"phase":%q,"readOnly":false,"healthyReplicas":0,"provisionedReplicas":0}}`, phase))
}

// merge changes an object. The definitions of cStor have no status subresource.
func merge(t *testing.T, k *kube, resource schema.GroupVersionResource, name, patch string) {
	t.Helper()
	r := k.Resource(resource).Namespace("openebs")
	if _, err := r.Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func setReady(t *testing.T, k *kube, node, status string) {
	t.Helper()
	k.status(t, fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {conditions: [{type: Ready, status: "%s", reason: Test, message: test, lastHeartbeatTime: %[3]q, lastTransitionTime: %[3]q}]}
`, node, status, "2026-01-05T08:00:00Z"))
}

// untaint does what the node lifecycle controller would, which is left out.
func untaint(t *testing.T, k *kube) {
	t.Helper()
	list, err := k.Resource(nodes).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list.Items {
		if _, err := k.Resource(nodes).Patch(t.Context(), n.GetName(), "application/merge-patch+json", []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		setReady(t, k, n.GetName(), "True")
	}
}

// annotate marks the nodes of the pools.
func annotate(t *testing.T, k *kube) {
	t.Helper()
	for _, host := range hosts {
		patch := []byte(`{"metadata":{"annotations":{"example.com/pool":"yes"}}}`)
		if _, err := k.Resource(nodes).Patch(t.Context(), host.name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func ownObject(t *testing.T, k *kube, resource, name string) map[string]any {
	t.Helper()
	r := k.Resource(schema.GroupVersionResource{Group: "dao.mayadata.io", Version: "v1alpha1", Resource: resource})
	o, err := r.Namespace("openebs").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o.Object
}

func ownStatus(t *testing.T, k *kube, resource, name string) map[string]any {
	t.Helper()
	status, _ := ownObject(t, k, resource, name)["status"].(map[string]any)
	return status
}

// conditions of the config, by type.
func conditions(t *testing.T, k *kube) map[string]map[string]any {
	t.Helper()
	byType := map[string]map[string]any{}
	list, _ := ownStatus(t, k, "cstorclusterconfigs", "prod")["conditions"].([]any)
	for _, c := range list {
		c := c.(map[string]any)
		byType[c["type"].(string)] = c
	}
	return byType
}

func awaitCondition(t *testing.T, k *kube, kind, status string) {
	t.Helper()
	await(t, kind+" is "+status, func() bool { return conditions(t, k)[kind]["status"] == status })
	c := conditions(t, k)[kind]
	if c["observedGeneration"] == nil || c["lastTransitionTime"] == nil || c["reason"] == "" {
		t.Errorf("condition %v", c)
	}
}

// writesNothing makes sure that who looks at what is written already does not ask
// for it to be written.
func writesNothing(t *testing.T) {
	t.Helper()
	c, err := cluster.Connect(cluster.Options{Kubeconfig: plane.Kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	served, err := c.Served(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	function := fn.New(definitions.Load(), systems.All()...)
	objects, err := own.Read(t.Context(), c, served, function.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	options := snapshot.Options{Kinds: function.Kinds().Status(), Served: served}
	for _, o := range objects {
		options.Keep([]*krm.Object{o.Object})
	}
	taken, err := snapshot.Take(t.Context(), c, options)
	if err != nil {
		t.Fatal(err)
	}
	statuses, _ := function.Status(own.Package(function.Kinds(), objects, taken.Objects()), inventory.NewLive(taken.Objects()))
	if n, err := own.NewWriter(c, system.NewKinds()).Write(t.Context(), objects, statuses, time.Now()); n != 0 || err != nil || len(statuses) != 1 {
		t.Errorf("%d written for %d specs, %v", n, len(statuses), err)
	}
}

// stays makes sure that an unchanged status is not written again, by neither who
// follows nor who looks once.
func stays(t *testing.T, k *kube) {
	t.Helper()
	version := func() string {
		data, err := json.Marshal(ownObject(t, k, "cstorclusterconfigs", "prod")["metadata"].(map[string]any)["resourceVersion"])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := version()
	for range 2 {
		if out, talk, code := poolwright(t, "status", "--write", "--kubeconfig", plane.Kubeconfig); code != 0 || !strings.Contains(out, "OK ") {
			t.Fatalf("exit code %d:\n%s%s", code, out, talk)
		}
	}
	if after := version(); after != before {
		t.Errorf("resourceVersion was %s and is %s, though nothing changed", before, after)
	}
}
