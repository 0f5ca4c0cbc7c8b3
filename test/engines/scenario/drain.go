package scenario

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/cstor"
)

var volumeKind = schema.GroupVersionKind{Group: "cstor.openebs.io", Version: "v1", Kind: "CStorVolumeConfig"}

// fourPools is the config of four pools.
const fourPools = `apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata:
  name: prod
  namespace: openebs
  annotations: {config.kubernetes.io/local-config: "true"}
spec:
  minPoolCount: 4
  maxPoolCount: 4
  allowedNodes: {selectorTerms: [{matchLabels: {storage: cstor}}]}
  diskConfig: {minCount: 1, local: {}}
  poolConfig: {raidType: stripe}
`

// RunDrain has an engine apply the parts of CStorVolumeConfigs that the drain of a pool renders,
// with protection off: it changes nothing of the live ones but their pools, and never deletes
// them; it makes nothing of the part of a volume that is gone. Stripped of the annotations that
// every part has all the same, they are deleted.
func RunDrain(t *testing.T, s Suite) {
	t.Run("drain", func(t *testing.T) {
		r := beginDrain(t, s)
		whole := r.render()
		volumes := slices.Sorted(maps.Keys(whole))
		if len(volumes) != 2 {
			t.Fatalf("the drain moves %v", volumes)
		}
		r.applyParts("a replica more")
		restore := r.save()
		for _, end := range []struct {
			what string
			take func()
		}{
			{"the files are deleted from Git", func() { r.withoutFiles(isPart); r.sync("no files") }},
			{"the whole package is deleted from Git", func() { r.withoutStorage(); r.sync("no package") }},
			{"the engine's own object is deleted", func() { r.check(second(r.engine.Delete(t.Context()))) }},
		} {
			before := r.live()
			end.take()
			r.unchanged(end.what, before)
			restore()
			r.applyParts("it is back")
		}
		r.follow(volumes)
	})
	if s.Brief {
		return
	}
	t.Run("volume gone", func(t *testing.T) {
		r := beginDrain(t, s)
		parts := r.render()
		r.applyParts("a replica more")
		gone := slices.Sorted(maps.Keys(parts))[0]
		r.erase(t.Context(), gone)
		beside := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": r.name, "namespace": r.Namespace},
		}}
		r.check(write(filepath.Join(r.Dir, "platform.yaml"), []*unstructured.Unstructured{beside}))
		_, err := r.engine.Sync(t.Context(), r.Dir)
		if err == nil || !strings.Contains(err.Error(), "spec.capacity: Required value") {
			t.Errorf("the engine says %v, and not that the API server refuses the part of a volume that is gone", err)
		}
		t.Log("a volume is gone:", err)
		if r.live()[gone] != nil {
			t.Error("a volume was made of its part")
		}
		if applied := len(r.state([]*unstructured.Unstructured{beside})) > 0; applied == s.AllOrNothing {
			t.Errorf("what is beside it is applied: %t", applied)
		}
		r.withoutFiles(func(path string) bool { return strings.HasSuffix(path, "drain/"+gone+".yaml") })
		r.sync("its file is gone, too")
		r.applied("its file is gone, too")
	})
	t.Run("stripped", func(t *testing.T) {
		r := beginDrain(t, s)
		parts := slices.Collect(maps.Values(r.render()))
		r.strip()
		r.applyParts("without protection")
		for _, part := range parts {
			r.release(t.Context(), part.GetName()) // or engines wait for the operators
		}
		r.withoutFiles(isPart)
		r.sync("the files are deleted from Git")
		r.gone("nothing but their annotations protects the volumes", parts)
	})
}

// RunDrainRefused has an engine apply parts that is not allowed to take over what others
// made: it changes nothing.
func RunDrainRefused(t *testing.T, s Suite, refusal string) {
	r := beginDrain(t, s)
	r.render()
	before := r.live()
	_, err := r.engine.Sync(t.Context(), r.Dir)
	if err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("the engine says %v, and not %q", err, refusal)
	}
	t.Log("refused:", err)
	r.unchanged("refused", before)
}

// drainRun is a working tree with the config of four pools, and a cluster of the cStor
// operators, as test/cstor plays them. What they make of volumes is in the API server, too.
type drainRun struct {
	*run
	operators *cstor.Cluster
}

// beginDrain makes four pools with a volume of one replica and one of three, applies them,
// and has the pool on the last node leave, with consent.
func beginDrain(t *testing.T, s Suite) *drainRun {
	t.Helper()
	c, err := Connect(s.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	administrator := &run{Git: &Git{t: t, suite: s, Dir: t.TempDir(), Namespace: cstor.Namespace}, cluster: c}
	administrator.install(readDefinitions(t, s))
	g := newGit(t, s, "drain", "off")
	g.Namespace = cstor.Namespace // of what is played
	r := &drainRun{&run{Git: g, engine: s.New(t, g.name), cluster: c}, cstor.New(1)}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": r.Namespace}}}
	r.check(c.Apply(t.Context(), namespace))
	t.Cleanup(r.clear)
	r.playDriver(nil)

	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		r.operators.AddNode(node, "", map[string]string{"storage": "cstor"})
		r.operators.AddDisk(node, node+"-0", 100<<30)
	}
	r.write("platform.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-of-drain, namespace: openebs}\n")
	r.write("storage/cstor.yaml", fourPools)
	r.list("platform.yaml", "storage/rendered")
	for range 3 { // until the pools are there
		r.operators.Advance(6)
		r.render()
		r.operate()
	}
	r.sync("the pools")
	r.operators.Provision("many", "prod", 3, "")
	for _, name := range []string{"one", "two", "three", "four"} {
		r.operators.Provision(name, "prod", 1, "")
	}
	r.operators.Advance(6)
	r.provision()
	if len(r.render()) > 0 {
		t.Fatal("volumes move before a pool is to go")
	}
	r.write("storage/cstor.yaml", strings.NewReplacer(
		"minPoolCount: 4", "minPoolCount: 3", `"true"`, `"true", poolwright.io/drain: n4, poolwright.io/allow-removal: CStorClusterStorageSet/prod-n4`,
	).Replace(fourPools))
	return r
}

// follow takes the drain to its end, turn by turn.
func (r *drainRun) follow(volumes []string) {
	r.t.Helper()
	const most = 12
	for range most {
		r.operate()
		parts := r.render()
		r.applyParts("the next step")
		if len(parts) == 0 && !strings.Contains(r.rendered("cstorpoolcluster.yaml"), "n4") {
			for _, name := range volumes {
				if now := r.live()[name]; now == nil || slices.Contains(poolsOf(now), r.leaving()) {
					r.t.Errorf("volume %s is still on the pool that goes: %v", name, now)
				}
			}
			return
		}
	}
	r.t.Errorf("the pool is still there after %d turns", most)
}

// leaving is the pool on the last node.
func (r *drainRun) leaving() string {
	for name, i := range r.operators.Instances {
		if i.Labels[hostname] == "n4" {
			return name
		}
	}
	return ""
}

// operate has the operators do what the manifests say, and writes what they make of the
// volumes into the API server.
func (r *drainRun) operate() {
	r.t.Helper()
	var manifests [][]byte
	for _, o := range r.objects() {
		text, err := yaml.Marshal(o.Object)
		r.check(err)
		manifests = append(manifests, text)
	}
	refused, err := r.operators.Engine.Apply(manifests)
	r.check(err)
	if len(refused) > 0 {
		r.t.Fatal(refused)
	}
	r.operators.Advance(6)
	r.check(r.operators.Watch.Err())
	r.provision()
}

// provision writes the volumes into the API server as the operators do: what is there is
// updated, and what they do not write stays.
func (r *drainRun) provision() {
	r.t.Helper()
	client, err := r.cluster.resource(volumeKind, r.Namespace)
	r.check(err)
	for _, text := range r.operators.LiveVolumes() {
		made, err := Parse(text)
		r.check(err)
		v := made[0]
		live, err := r.cluster.Get(r.t.Context(), volumeKind, r.Namespace, v.GetName())
		r.check(err)
		if live == nil {
			v.SetUID("")
			v.SetResourceVersion("")
			v.SetCreationTimestamp(metav1.Time{})
			for _, field := range [][]string{{"replica", "compression", "lz4"}, {"target", "queueDepth", "32"}, {"target", "priorityClassName", "storage"}} {
				r.check(unstructured.SetNestedField(v.Object, field[2], "spec", "policy", field[0], field[1]))
			}
			_, err = client.Create(r.t.Context(), v, metav1.CreateOptions{FieldManager: "cvc-operator"})
			r.check(err)
			continue
		}
		for _, field := range []string{"status", "versionDetails", "publish"} {
			live.Object[field] = v.Object[field]
		}
		_, err = client.Update(r.t.Context(), live, metav1.UpdateOptions{FieldManager: "cvc-operator"})
		r.check(err)
	}
}

// render takes the inventory again, and renders. It returns the parts of the volumes that
// move, by name.
func (r *drainRun) render() map[string]*unstructured.Unstructured {
	r.t.Helper()
	dump := filepath.Join(r.t.TempDir(), "dump.yaml")
	r.check(os.WriteFile(dump, r.operators.Dump(), 0o666))
	r.Git.run(r.Dir, r.suite.Poolwright, "inventory", "-O", "storage/inventory", "--from", dump)
	r.Git.run(r.Dir, r.suite.Poolwright, "render", "storage")
	return r.parts()
}

// parts are the parts of volumes in the working tree, by name.
func (r *drainRun) parts() map[string]*unstructured.Unstructured {
	r.t.Helper()
	parts := map[string]*unstructured.Unstructured{}
	for _, o := range of(r.objects(), volumeKind.Kind) {
		parts[o.GetName()] = o
	}
	return parts
}

// applyParts syncs, and holds that of the volumes nothing changes but the pools, and labels
// and annotations that others did not set.
func (r *drainRun) applyParts(what string) {
	r.t.Helper()
	before := r.live()
	r.sync(what)
	r.unchanged(what, before)
	now := r.live()
	for name, part := range r.parts() {
		if got, want := poolsOf(now[name]), poolsOf(part); !slices.Equal(got, want) {
			r.t.Errorf("%s: volume %s is to be on %v, and the part says %v", what, name, got, want)
		}
	}
}

// unchanged holds that the volumes are as they were, but for their pools.
func (r *drainRun) unchanged(what string, before map[string]*unstructured.Unstructured) {
	r.t.Helper()
	now, parts := r.live(), r.parts()
	for name, was := range before {
		is := now[name]
		if is == nil || is.GetUID() != was.GetUID() || is.GetDeletionTimestamp() != nil {
			r.t.Fatalf("%s: volume %s is deleted", what, name)
		}
		if parts[name] == nil && !slices.Equal(poolsOf(is), poolsOf(was)) {
			r.t.Errorf("%s: the pools of volume %s were %v, and are %v", what, name, poolsOf(was), poolsOf(is))
		}
		for field, values := range map[string][2]map[string]string{"label": {was.GetLabels(), is.GetLabels()}, "annotation": {was.GetAnnotations(), is.GetAnnotations()}} {
			for key, value := range values[0] {
				if strings.Contains(key, "openebs.io/") && values[1][key] != value {
					r.t.Errorf("%s: volume %s has lost the %s %s", what, name, field, key)
				}
			}
		}
		if was, is := beside(was), beside(is); was != is {
			r.t.Errorf("%s: another field of volume %s changed:\n%s\n%s", what, name, was, is)
		}
	}
}

// beside is all of a volume but its pools and the metadata that engines write.
func beside(v *unstructured.Unstructured) string {
	o := v.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "spec", "policy", "replicaPoolInfo")
	o.Object["metadata"] = map[string]any{"finalizers": v.GetFinalizers(), "ownerReferences": v.GetOwnerReferences()}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func poolsOf(v *unstructured.Unstructured) []string {
	if v == nil {
		return nil
	}
	entries, _, _ := unstructured.NestedSlice(v.Object, "spec", "policy", "replicaPoolInfo")
	var names []string
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		name, _ := entry["poolName"].(string)
		names = append(names, name)
	}
	return names
}

// live are the volumes in the API server, by name.
func (r *drainRun) live() map[string]*unstructured.Unstructured {
	r.t.Helper()
	client, err := r.cluster.resource(volumeKind, r.Namespace)
	r.check(err)
	list, err := client.List(r.t.Context(), metav1.ListOptions{})
	r.check(err)
	volumes := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		volumes[list.Items[i].GetName()] = &list.Items[i]
	}
	return volumes
}

// strip takes the annotations of the engines from the parts.
func (r *drainRun) strip() {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.Dir, "storage/rendered", r.folder(), "drain/*.yaml"))
	r.check(err)
	for _, file := range files {
		parts := parseFile(r.t, file)
		for _, o := range parts {
			o.SetAnnotations(nil)
		}
		r.check(write(file, parts))
	}
}

// isPart reports whether a file has the part of a volume.
func isPart(path string) bool { return filepath.Base(filepath.Dir(path)) == "drain" }

func (r *drainRun) rendered(file string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, "storage/rendered", r.folder(), file))
	r.check(err)
	return string(text)
}

// erase deletes a volume, whatever holds it.
func (r *drainRun) erase(ctx context.Context, name string) {
	r.t.Helper()
	r.release(ctx, name)
	client, err := r.cluster.resource(volumeKind, r.Namespace)
	r.check(err)
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		r.check(err)
	}
}

// release takes the finalizer of the operators from a volume.
func (r *drainRun) release(ctx context.Context, name string) {
	r.t.Helper()
	client, err := r.cluster.resource(volumeKind, r.Namespace)
	r.check(err)
	_, err = client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		r.check(err)
	}
}

// clear leaves the cluster as it was.
func (r *drainRun) clear() {
	ctx := context.WithoutCancel(r.t.Context())
	r.check(second(r.engine.Delete(ctx)))
	for _, text := range r.operators.LiveVolumes() {
		made, err := Parse(text)
		r.check(err)
		r.erase(ctx, made[0].GetName())
	}
}

func second[T any](_ T, err error) error { return err }
