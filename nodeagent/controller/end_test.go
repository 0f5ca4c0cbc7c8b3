package controller_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/test/tool"
)

// recreate takes a Volume object away past its finalizer and makes it again, as a restored backup does: it has
// another UID, and its PersistentVolume is of the old one.
func (c *cluster) recreate(t *testing.T, name, text string) {
	t.Helper()
	if _, err := c.Resource(volume).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Resource(volume).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the Volume is not gone", func() (bool, string) {
		got := c.get(t, volume, name, "metadata")
		return strings.Contains(got, "not found"), got
	})
	c.apply(t, text)
}

// TestRemovalAsksWhoHasTheData: the data of a claim stays, whoever made its PersistentVolume; Retain of that wins
// over the class; and what Delete promises is done without the journal as well.
func TestRemovalAsksWhoHasTheData(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	links(t, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	token := c.token(t, "n1")
	a := c.start(t, token, folder)
	texts := map[string]string{}
	for _, name := range []string{"bound", "retained", "lost", "other"} {
		texts[name] = sparseVolume(name, "delete", "40Mi", "Filesystem")
		c.apply(t, texts[name])
	}
	for name := range texts {
		c.phase(t, name, "Available")
	}
	file := func(name string) bool {
		t.Helper()
		_, err := os.Stat(filepath.Join(folder, "sparse", c.marks[name]))
		return err == nil
	}
	c.marks = map[string]string{}
	for name := range texts {
		c.marks[name] = c.get(t, volume, name, "status", "uuid")
		if !file(name) {
			t.Fatalf("there is no file of %s", name)
		}
	}
	claimed := `{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"default","name":"data"}}}`
	if _, err := c.Resource(persistent).Patch(t.Context(), "bound", types.MergePatchType, []byte(claimed), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resource(persistent).Patch(t.Context(), "retained", types.MergePatchType, []byte(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	// Somebody's PersistentVolume of the same device, with another name.
	c.apply(t, `
apiVersion: v1
kind: PersistentVolume
metadata: {name: by-hand}
spec:
  capacity: {storage: 40Mi}
  accessModes: [ReadWriteOnce]
  storageClassName: keep
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: default, name: hand}
  local: {path: /dev/disk/by-uuid/`+c.marks["other"]+`}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
`)
	a.stop()
	for _, name := range []string{"bound", "retained"} {
		c.recreate(t, name, texts[name])
	}
	if err := os.RemoveAll(filepath.Join(folder, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := c.Resource(volume).Delete(t.Context(), "lost", metav1.DeleteOptions{}); err != nil { // before the journal is made again
		t.Fatal(err)
	}
	c.start(t, token, folder)
	for _, name := range []string{"bound", "retained"} {
		c.phase(t, name, "Failed") // its PersistentVolume is of another UID: the agent has seen it
	}
	for _, name := range []string{"bound", "retained", "other"} {
		await(t, name+" cannot be deleted", func() (bool, string) {
			err := c.Resource(volume).Delete(t.Context(), name, metav1.DeleteOptions{})
			return err == nil || strings.Contains(err.Error(), "has this Volume"), text(err)
		})
	}
	gone := func(name string) {
		t.Helper()
		await(t, name+" is not gone", func() (bool, string) {
			got := c.get(t, volume, name, "status")
			return strings.Contains(got, "not found"), got
		})
	}
	gone("lost")
	gone("retained")
	await(t, "the claim of another PersistentVolume is not told", func() (bool, string) {
		got := c.get(t, volume, "other", "status")
		return strings.Contains(got, "the claim default/hand has it"), got
	})
	time.Sleep(2 * time.Second)
	for name, want := range map[string]bool{"bound": true, "retained": true, "lost": false, "other": true} {
		if file(name) != want {
			t.Errorf("the file of %s is there: %t, want %t", name, !want, want)
		}
	}
	await(t, "what was retained is not told", func() (bool, string) {
		got := c.get(t, inventory, "n1", "status", "leftovers")
		return strings.Contains(got, "Volume/retained"), got
	})
	if err := c.Resource(persistent).Delete(t.Context(), "by-hand", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAdoptPolicy: only storage administrators let data be taken over, or left unerased.
func TestAdoptPolicy(t *testing.T) {
	c := newCluster(t)
	c.apply(t, sparseVolume("data", "keep", "40Mi", "Filesystem"))
	c.apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]
`)
	as := func(groups ...string) dynamic.Interface {
		config, err := clientcmd.BuildConfigFromFlags("", c.plane.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		config.Impersonate.UserName, config.Impersonate.Groups = "dev", append(groups, "system:authenticated")
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	dev, admin := as(), as("poolwright:storage-admins")
	annotate := func(k dynamic.Interface, r schema.GroupVersionResource, annotations string) error {
		_, err := k.Resource(r).Patch(t.Context(), "data", types.MergePatchType, []byte(`{"metadata":{"annotations":`+annotations+`}}`), metav1.PatchOptions{})
		return err
	}
	const adopt = `{"poolwright.io/adopt":"11111111-2222-4333-8444-555555555555"}`
	const want = "only members of the group poolwright:storage-admins may change the annotation poolwright.io/adopt"
	tries := 0 // what is there before the policy works is no change afterwards
	await(t, "an annotation was set", func() (bool, string) {
		tries++
		err := annotate(dev, volume, fmt.Sprintf(`{"poolwright.io/adopt":"11111111-2222-4333-8444-%012d"}`, tries))
		return err != nil && strings.Contains(err.Error(), want), text(err)
	})
	for _, test := range []struct {
		who         dynamic.Interface
		annotations string
		want        string
	}{
		{dev, `{"poolwright.io/forget-disk":"S1"}`, "poolwright.io/forget-disk"},
		{dev, `{"note":"x"}`, ""},
		{admin, adopt, ""},
		{dev, `{"note":"y"}`, ""}, // it stays as it is
		{dev, `{"poolwright.io/adopt":null}`, want},
		{dev, `{"poolwright.io/adopt":"99999999-2222-4333-8444-555555555555"}`, want},
		{admin, `{"poolwright.io/adopt":null}`, ""},
	} {
		if err := annotate(test.who, volume, test.annotations); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.annotations, err, test.want)
		}
	}
	made := parse(t, strings.Replace(sparseVolume("new", "keep", "40Mi", "Filesystem"), "{name: new}", "{name: new, annotations: "+adopt+"}", 1))[0]
	if _, err := dev.Resource(volume).Create(t.Context(), made, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a Volume was created with the annotation: %v", err)
	}
}
