package schema

import (
	"bytes"
	"io/fs"
	"sync"
	"testing"

	"cuelang.org/go/cue/format"
)

func TestKinds(t *testing.T) {
	var got []string
	for _, k := range Load().Kinds() {
		got = append(got, string(k.Role)+" "+k.APIVersion()+" "+k.Kind)
		if k.Doc == "" || k.Plural == "" || k.Scope != "Namespaced" && k.Scope != "Cluster" {
			t.Errorf("%+v is not complete", k)
		}
	}
	want := []string{
		"spec dao.mayadata.io/v1alpha1 CSPCAuto",
		"spec dao.mayadata.io/v1alpha1 CStorClusterConfig",
		"spec poolwright.io/v1alpha1 CStorVolumeClass",
		"spec poolwright.io/v1alpha1 DiskPoolSet",
		"spec hcs.tmax.io/v1alpha1 HyperCloudStorage",
		"spec storage.metalk8s.scality.com/v1alpha1 Volume",
		"spec storage.metalk8s.scality.com/v1alpha1 VolumeGroup",
		"spec poolwright.io/v1alpha1 VolumeTemplate",
		"config poolwright.io/v1alpha1 Hydration",
		"config poolwright.io/v1alpha1 RenderConfig",
		"fact poolwright.io/v1alpha1 Inventory",
		"fact poolwright.io/v1alpha1 NodeInventory",
		"rendered argoproj.io/v1alpha1 Application",
		"rendered cdi.kubevirt.io/v1beta1 CDI",
		"rendered dao.mayadata.io/v1alpha1 CStorClusterPlan",
		"rendered dao.mayadata.io/v1alpha1 CStorClusterStorageSet",
		"rendered cstor.openebs.io/v1 CStorPoolCluster",
		"rendered cstor.openebs.io/v1 CStorVolumeConfig",
		"rendered cstor.openebs.io/v1 CStorVolumePolicy",
		"rendered ceph.rook.io/v1 CephBlockPool",
		"rendered ceph.rook.io/v1 CephCluster",
		"rendered ceph.rook.io/v1 CephFilesystem",
		"rendered ceph.rook.io/v1 CephFilesystemSubVolumeGroup",
		"rendered ceph.rook.io/v1 CephObjectStore",
		"rendered apps/v1 Deployment",
		"rendered poolwright.io/v1alpha1 DiskLock",
		"rendered openebs.io/v1beta3 DiskPool",
		"rendered csi.ceph.io/v1 Driver",
		"rendered helm.toolkit.fluxcd.io/v2 HelmRelease",
		"rendered source.toolkit.fluxcd.io/v1 HelmRepository",
		"rendered kustomize.toolkit.fluxcd.io/v1 Kustomization",
		"rendered source.toolkit.fluxcd.io/v1 OCIRepository",
		"rendered csi.ceph.io/v1 OperatorConfig",
		"rendered v1 PersistentVolumeClaim",
		"rendered dao.mayadata.io/v1alpha1 Storage",
		"rendered storage.k8s.io/v1 StorageClass",
		"rendered storage.k8s.io/v1 VolumeAttachment",
		"rendered poolwright.io/v1alpha1 VolumeLock",
		"rendered snapshot.storage.k8s.io/v1 VolumeSnapshotClass",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
	}
}

// What a person may write is documented where it is defined.
func TestEveryFieldHasADoc(t *testing.T) {
	s := Load()
	for _, k := range s.Kinds() {
		for _, f := range s.lookup(k.GroupKind.String()).shape.fields {
			if f.name == "spec" {
				documented(t, k.Kind+".spec", f.shape)
			}
		}
	}
}

func documented(t *testing.T, path string, s *shape) {
	for i := range s.fields {
		f := &s.fields[i]
		if f.doc == "" && f.unsupported == "" && f.sort != object {
			t.Errorf("%s.%s has no doc", path, f.name)
		}
		documented(t, path+"."+f.name, f.shape)
	}
	if s.elem != nil {
		documented(t, path+"[]", s.elem)
	}
}

// TestOldNames: what was called selectorTerms once is read in every kind that has the field.
func TestOldNames(t *testing.T) {
	s := Load()
	found := 0
	for _, k := range s.Kinds() {
		eachShape(s.lookup(k.GroupKind.String()).shape, func(s *shape) {
			if s.field("nodeSelectorTerms") == nil || k.Role != Spec {
				return
			}
			found++
			if s.alias("selectorTerms") == nil {
				t.Errorf("a %s has nodeSelectorTerms, and does not take selectorTerms", k.Kind)
			}
		})
	}
	if found < 4 {
		t.Errorf("only %d fields are called nodeSelectorTerms", found)
	}
}

func TestDefinitionsAreFormatted(t *testing.T) {
	var names []string
	for _, pattern := range []string{"cue/*/*.cue", "cue/*/cel/*.cue"} {
		found, err := fs.Glob(cueFiles, pattern)
		if err != nil || len(found) == 0 {
			t.Fatal("no definitions", err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		text, err := cueFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(text)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			golden(t, name, want)
		} else if !bytes.Equal(text, want) {
			t.Errorf("%s is not formatted; go test ./schema -update does it", name)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s := Load()
	src, ref, n := parsed(t, smallSpec)
	_, storageRef, storage := parsed(t, smallStorage)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if completed, findings := s.Complete(src.Position, ref, n); completed == nil {
					t.Error(findings)
				}
				if findings := s.Check(nil, storageRef, storage); len(findings) > 0 {
					t.Error(findings)
				}
			}
		})
	}
	wg.Wait()
}

func TestNearest(t *testing.T) {
	raid := []string{"stripe", "mirror", "raidz", "raidz2"}
	for _, c := range []struct {
		name string
		from []string
		want string
	}{
		{"raidz9", raid, "raidz2"},
		{"raid-z", raid, "raidz"},
		{"Mirror", raid, "mirror"},
		{"mirorr", raid, "mirror"},
		{"striped", raid, "stripe"},
		{"jbod", raid, ""},
		{"", raid, ""},
		{"count", []string{"minCount", "minCapacity"}, "minCount"},
		{"mincapcity", []string{"minCount", "minCapacity"}, "minCapacity"},
		{"ö", []string{"on", "off"}, ""},
	} {
		if got := nearest(c.name, c.from); got != c.want {
			t.Errorf("nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
