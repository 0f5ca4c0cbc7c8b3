package controller_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/tool"
)

// links does what udev does, where there is none, for loop devices over files of a folder.
func links(t *testing.T, folder string) {
	if _, err := os.Stat("/run/udev/data"); err == nil {
		return
	}
	linkAll(t, host.New("/"), func(d *device.Device) bool {
		return d.Backing != nil && strings.HasPrefix(d.Backing.Path, folder)
	})
	t.Cleanup(func() {
		if err := fixture.DetachLoops(func(path string) bool { return strings.HasPrefix(path, folder) }); err != nil {
			t.Error(err)
		}
	})
}

// linkAll makes the links of a machine's filesystems and partitions, on the disks that are ours, until
// the test ends.
func linkAll(t *testing.T, h host.Host, ours func(whole *device.Device) bool) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	made := map[string]bool{}
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			f, err := facts.Read(h)
			if err != nil {
				continue
			}
			for _, d := range f.Devices.All {
				if !ours(f.Devices.Whole(d)) {
					continue
				}
				path := ""
				if c, err := f.Content(d); err == nil && c.Filesystem != nil {
					path = "/dev/disk/by-uuid/" + c.Filesystem.UUID
				} else if guid := f.PartitionGUID(d); guid != "" {
					path = "/dev/disk/by-partuuid/" + guid
				}
				if path != "" && !made[path] {
					link := h.Path(path)
					_ = os.MkdirAll(filepath.Dir(link), 0o755)
					_ = os.Remove(link)
					made[path] = os.Symlink("../../"+d.Name, link) == nil
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		for path := range made {
			_ = os.Remove(h.Path(path))
		}
	})
}

func (c *cluster) phase(t *testing.T, name, want string) {
	t.Helper()
	await(t, "Volume "+name+" is not "+want, func() (bool, string) {
		return c.get(t, volume, name, "status", "phase") == want, c.get(t, volume, name, "status")
	})
}

func sparseVolume(name, class, size, mode string) string {
	return fmt.Sprintf(`
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: %s}
spec:
  nodeName: n1
  storageClassName: %s
  mode: %s
  sparseLoopDevice: {size: %s}
  template: {metadata: {labels: {app: db}}}
`, name, class, mode, size)
}

// TestVolumes takes Volumes through their lifetimes: made, bound, held, grown, deleted and kept.
func TestVolumes(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	links(t, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	a := c.start(t, c.token(t, "n1"), folder)
	c.apply(t, sparseVolume("gone", "delete", "40Mi", "Filesystem"))
	c.apply(t, sparseVolume("kept", "keep", "41943040", "Block")) // a number
	c.apply(t, sparseVolume("odd", "forced", "40Mi", "Filesystem"))
	c.apply(t, sparseVolume("nowhere", "missing", "40Mi", "Filesystem"))
	c.phase(t, "gone", "Available")
	c.phase(t, "kept", "Available")
	c.phase(t, "odd", "Failed")
	c.phase(t, "nowhere", "Failed")

	if got := c.get(t, persistent, "gone", "spec", "capacity", "storage"); got != "41943040" && got != "40Mi" {
		t.Errorf("the capacity is %s", got)
	}
	for path, want := range map[string]string{
		"spec.local.path": "/dev/disk/by-uuid/", "spec.persistentVolumeReclaimPolicy": "Delete", "metadata.labels": `"app":"db"`,
		"metadata.ownerReferences": `"blockOwnerDeletion":false`, "spec.nodeAffinity": `"values":["n1"]`, "spec.volumeMode": "Filesystem",
	} {
		if got := c.get(t, persistent, "gone", strings.Split(path, ".")...); !strings.Contains(got, want) {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := c.get(t, persistent, "kept", "spec", "local", "path"); !strings.HasPrefix(got, "/dev/disk/by-partuuid/") {
		t.Errorf("the path of the block volume is %s", got)
	}

	// A class that comes heals what waited for it.
	c.apply(t, `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: missing}
provisioner: kubernetes.io/no-provisioner
parameters: {fsType: ext4}
`)
	c.phase(t, "nowhere", "Available")

	// Bound: nothing is touched, and a policy refuses the deletion.
	c.apply(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {volume.kubernetes.io/selected-node: n1}}
spec: {storageClassName: delete, volumeName: gone, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
`)
	await(t, "the claim is not told", func() (bool, string) {
		got := c.get(t, volume, "gone", "status", "claim")
		return got == "default/data", got
	})
	if err := c.Resource(volume).Delete(t.Context(), "gone", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "default/data") {
		t.Errorf("a bound Volume was deleted: %v", err)
	}
	if err := c.Resource(persistent).Delete(t.Context(), "gone", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "default/data") {
		t.Errorf("a bound PersistentVolume was deleted: %v", err)
	}

	// Growth, while it is bound, and whatever unit the capacity has: MetalK8s wrote that of the spec.
	if _, err := c.Resource(persistent).Patch(t.Context(), "gone", types.MergePatchType, []byte(`{"spec":{"capacity":{"storage":"40Mi"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.apply(t, sparseVolume("gone", "delete", "64Mi", "Filesystem"))
	await(t, "it has not grown", func() (bool, string) {
		got := c.get(t, persistent, "gone", "spec", "capacity", "storage")
		return got == "67108864" || got == "64Mi", got
	})
	for _, change := range []string{`{"spec":{"sparseLoopDevice":{"size":"1Mi"}}}`, `{"spec":{"mode":"Block"}}`, `{"spec":{"nodeName":"n2"}}`, `{"spec":{"sparseLoopDevice":null,"rawBlockDevice":{"devicePath":"/dev/sdb"}}}`} {
		if _, err := c.Resource(volume).Patch(t.Context(), "gone", types.MergePatchType, []byte(change), metav1.PatchOptions{}); err == nil {
			t.Errorf("%s was taken", change)
		}
	}

	// Released, then deleted: with Delete the file goes, with Retain it stays and is reported.
	claims := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	if err := c.Resource(claims).Namespace("default").Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Resource(claims).Namespace("default").Delete(t.Context(), "data", metav1.DeleteOptions{}); err == nil {
		// The protection finalizer goes once no pod uses it.
		time.Sleep(100 * time.Millisecond)
	}
	await(t, "it is not free", func() (bool, string) {
		err := c.Resource(volume).Delete(t.Context(), "gone", metav1.DeleteOptions{})
		return err == nil, fmt.Sprint(err)
	})
	await(t, "it is not gone", func() (bool, string) {
		got := c.get(t, volume, "gone", "status")
		return strings.Contains(got, "not found"), got + c.get(t, persistent, "gone")
	})
	if err := c.Resource(volume).Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "it is not let go", func() (bool, string) {
		got := c.get(t, volume, "kept", "status")
		return strings.Contains(got, "not found"), got
	})
	await(t, "what was kept is not in the NodeInventory", func() (bool, string) {
		got := c.get(t, inventory, "n1", "status", "leftovers")
		return strings.Contains(got, "Volume/kept"), got
	})
	files, err := os.ReadDir(filepath.Join(folder, "sparse"))
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, want those of kept and nowhere: %v", len(files), err)
	}

	// The name again: its data is not taken over without a word.
	c.apply(t, sparseVolume("kept", "keep", "40Mi", "Block"))
	await(t, "it is not refused", func() (bool, string) {
		got := c.get(t, volume, "kept", "status")
		return strings.Contains(got, "rule adopt"), got
	})
	uuid := c.get(t, volume, "kept", "status", "uuid")
	if _, err := c.Resource(volume).Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"annotations":{"poolwright.io/adopt":"`+uuid+`"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.phase(t, "kept", "Available")
	await(t, "what was adopted is still told as left over", func() (bool, string) {
		got := c.get(t, inventory, "n1", "status", "leftovers")
		return got == "[]", got
	})

	// A restart finds everything as it is, writes nothing, and comes to rest.
	a.stop()
	kept := c.get(t, volume, "kept", "metadata", "resourceVersion")
	token := c.token(t, "n1")
	c.unchanged(t, func() {
		a = c.start(t, token, folder)
		c.rest(t) // it may need no more than its watches
	})
	if got := c.get(t, volume, "kept", "metadata", "resourceVersion"); got != kept {
		t.Error("the status of an unchanged Volume was written")
	}
	a.checkMemory(t)
}

// rest waits until the agent has asked for nothing in ten seconds, however long it took to begin.
func (c *cluster) rest(t *testing.T) {
	t.Helper()
	await(t, "it does not come to rest", func() (bool, string) {
		before := c.requests(t)
		time.Sleep(10 * time.Second)
		asked := c.requestsSince(t, before)
		return len(asked) == 0, strings.Join(asked, "")
	})
}

// unchanged holds that the NodeInventory is not written while something is done, but for what else
// is mounted on this machine meanwhile: other tests run containers.
func (c *cluster) unchanged(t *testing.T, do func()) {
	t.Helper()
	version, before := c.get(t, inventory, "n1", "metadata", "resourceVersion"), c.get(t, inventory, "n1", "status")
	do()
	after := c.get(t, inventory, "n1", "status")
	if c.get(t, inventory, "n1", "metadata", "resourceVersion") == version {
		return
	}
	if other := regexp.MustCompile(`"mounts":\[[^]]*\]`); before == after || other.ReplaceAllString(before, "") != other.ReplaceAllString(after, "") {
		t.Errorf("the NodeInventory of an unchanged node was written: it was %s, and is %s", before, after)
	}
	t.Logf("what is mounted on this machine has changed: it was %s, and is %s", before, after)
}
