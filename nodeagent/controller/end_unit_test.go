package controller

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// TestEndOfAnotherUID: whoever made the PersistentVolume of a Volume's name, its claim keeps the data, and its Retain
// wins over the class. What Delete promises needs no journal. Each removes the real file of a Volume.
func TestEndOfAnotherUID(t *testing.T) {
	const path, claim = "/dev/disk/by-uuid/", `"claimRef":{"namespace":"default","name":"data"},`
	const owner = `"ownerReferences":[{"apiVersion":"storage.metalk8s.scality.com/v1alpha1","kind":"Volume","name":"data","uid":"OLD"}],`
	// As the garbage collector has it, whose owner is gone.
	const deleted = `"deletionTimestamp":"2026-11-23T00:00:00Z","finalizers":["` + api.Finalizer + `"],`
	for name, test := range map[string]struct {
		pv, other string // PersistentVolumes: of the Volume's name, and of another one; "" for none
		journal   bool
		class     string
		stays     bool
		ended     bool // the Volume's finalizer is taken off
		lacks     bool // the PersistentVolume has no finalizer
	}{
		"a claim, of another UID":       {owner + `"finalizers":["` + api.Finalizer + `"]},"spec":{` + claim + `"persistentVolumeReclaimPolicy":"Delete"},"status":{"phase":"Bound"}`, "", true, "Delete", true, false, false},
		"a claim, by hand":              {`"uid":"x"},"spec":{` + claim + `"persistentVolumeReclaimPolicy":"Delete"}`, "", true, "Delete", true, false, false},
		"a claim, without a journal":    {owner + `"uid":"x"},"spec":{` + claim + `"persistentVolumeReclaimPolicy":"Delete"}`, "", false, "Delete", true, false, false},
		"Retain, of another UID":        {owner + deleted + `"uid":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`, "", true, "Delete", true, true, false},
		"Delete wins too":               {owner + deleted + `"uid":"x"},"spec":{"persistentVolumeReclaimPolicy":"Delete"}`, "", true, "Retain", false, true, false},
		"no finalizer":                  {owner + `"uid":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`, "", true, "Delete", true, false, true},
		"none":                          {"", "", true, "Delete", false, true, false},
		"none, without a journal":       {"", "", false, "Delete", false, true, false},
		"none, Retain, without journal": {"", "", false, "Retain", true, true, false},
		"a claim elsewhere":             {"", `"spec":{` + claim + `"local":{"path":"PATH"}}`, true, "Delete", true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			journal, err := step.Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			engine := &source.Engine{Host: host.New("/"), Cluster: "test", Node: "n1", Folder: folder, Runner: step.Runner{Journal: journal}}
			uuid := engine.Cluster.Of(api.KindVolume, "data", "n1")
			file := filepath.Join(folder, "sparse", uuid)
			if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.journal {
				if err := journal.Write(step.Entry{Object: "Volume/data", UUID: uuid, Made: true}); err != nil {
					t.Fatal(err)
				}
			}
			now := metav1.Now()
			v := volumeOf("data", "n1", "NEW", "")
			v.Finalizers, v.DeletionTimestamp, v.Spec.StorageClassName = []string{api.Finalizer}, &now, "local"
			v.Spec.Sparse = &api.SparseLoopDevice{Size: "1Mi"}
			objects := []runtime.Object{parsed(t, `{"apiVersion":"storage.metalk8s.scality.com/v1alpha1","kind":"Volume","metadata":{"name":"data","uid":"NEW","finalizers":["`+api.Finalizer+`"]}}`)}
			if test.pv != "" {
				objects = append(objects, parsed(t, `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"data",`+test.pv+`}`))
			}
			if test.other != "" {
				objects = append(objects, parsed(t, `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"hand"},`+strings.ReplaceAll(test.other, "PATH", path+uuid)+`}`))
			}
			lists := map[schema.GroupVersionResource]string{volumes: "VolumeList", persistent: "PersistentVolumeList", events: "EventList"}
			c := &Controller{Client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...), Engine: engine, Node: "n1", Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics()}
			c.begin()
			c.volumes, c.groups = stored(t, map[string]*api.Volume{"data": v}), stored(t, map[string]*api.VolumeGroup{})
			class := &storageClass{ReclaimPolicy: test.class, Provisioner: "kubernetes.io/no-provisioner"}
			c.classes, c.nodes = stored(t, map[string]*storageClass{"local": class}), stored(t, map[string]*plain{})
			err = c.endVolume(t.Context(), v)
			if test.lacks {
				if err == nil || err.Error() != "PersistentVolume data lacked the finalizer" {
					t.Errorf("%v", err)
				}
				pv, err := c.freshPV(t.Context(), "data")
				if err != nil || !slices.Contains(pv.Finalizers, api.Finalizer) || pv.DeletionTimestamp != nil {
					t.Errorf("%+v, %v", pv, err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); (err == nil) != test.stays {
				t.Errorf("the file of the Volume: %v", err)
			}
			left, err := c.Client.Resource(volumes).Get(t.Context(), "data", metav1.GetOptions{})
			if ended := err == nil && len(left.GetFinalizers()) == 0; ended != test.ended {
				t.Errorf("the finalizer of the Volume is taken off: %t, %v", ended, err)
			}
		})
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return u
}
