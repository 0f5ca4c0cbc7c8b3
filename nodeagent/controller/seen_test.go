package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/poolwright/poolwright/nodeagent/api"
)

// stored is a watched kind with some objects.
func stored[T any](t *testing.T, objects map[string]*T) *store[T] {
	t.Helper()
	names := map[*T]string{}
	for name, o := range objects {
		names[o] = name
	}
	kept := cache.NewStore(func(o any) (string, error) { return names[o.(*T)], nil })
	for _, o := range objects {
		if err := kept.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return &store[T]{cache: kept, synced: func() bool { return true }}
}

// volumeOf is a Volume of a node, with the UID that MetalK8s would have marked its data with.
func volumeOf(name, node, uid, adopts string) *api.Volume {
	v := &api.Volume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	v.Spec.NodeName = node
	if adopts != "" {
		v.Annotations = map[string]string{api.AdoptAnnotation: adopts}
	}
	return v
}

// TestOwner: a mark is that of the object that has it, then that of the Volume which is to take it over.
func TestOwner(t *testing.T) {
	s := &seen{node: "n1", marks: "test"}
	s.groups = stored(t, map[string]*api.VolumeGroup{"g": {ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: api.VolumeGroupSpec{NodeName: "n1"}}})
	ofGroup := s.marks.Of(api.KindVolumeGroup, "g", "n1")
	s.volumes = stored(t, map[string]*api.Volume{
		"a": volumeOf("a", "n1", "uid-a", "uid-b"),
		"b": volumeOf("b", "n1", "uid-b", "uid-old"),
		"c": volumeOf("c", "n1", "uid-c", "uid-old"),
		"d": volumeOf("d", "n2", "uid-d", "uid-lost"),
		"e": volumeOf("e", "n1", "uid-e", ofGroup),
	})
	for _, c := range []struct{ what, text, want string }{
		{"no mark", "", ""},
		{"our mark", s.marks.Of(api.KindVolume, "a", "n1"), "Volume/a"},
		{"the mark of the same name on another node", s.marks.Of(api.KindVolume, "a", "n2"), ""},
		{"the UID, as MetalK8s has it", "uid-a", "Volume/a"},
		{"what another one would adopt is whose it is", "uid-b", "Volume/b"},
		{"what two would adopt is the first one's", "uid-old", "Volume/b"},
		{"what a Volume of another node would adopt", "uid-lost", ""},
		{"a group keeps its own", ofGroup, "VolumeGroup/g"},
		{"nobody's", "uid-of-nobody", ""},
	} {
		if got := s.owners()(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestRequest: what is reported of a Volume that cannot be made as the cluster is.
func TestRequest(t *testing.T) {
	classOf := func(provisioner, fs, options string) *storageClass {
		c := &storageClass{Provisioner: provisioner, Parameters: map[string]string{"fsType": fs, "mkfsOptions": options}}
		c.Name = "local"
		return c
	}
	const ours = "kubernetes.io/no-provisioner"
	for _, c := range []struct {
		class  *storageClass
		mode   string
		noNode bool
		field  string // of the template
		want   string
	}{
		{class: classOf(ours, "ext4", ""), field: "mountOptions", want: "spec.template.spec.mountOptions cannot be set: mountOptions belong into the StorageClass, and a claim names the volume that it wants in its own spec.volumeName"},
		{class: classOf(ours, "ext4", ""), noNode: true, want: "the Node n1 is not there, or has no label kubernetes.io/hostname"},
		{want: `spec.storageClassName: the StorageClass "local" is not in the cluster`},
		{class: classOf("rancher.io/local-path", "ext4", ""), want: "spec.storageClassName: the StorageClass local has the provisioner rancher.io/local-path, and not kubernetes.io/no-provisioner"},
		{class: classOf(ours, "btrfs", ""), want: `the StorageClass local has fsType "btrfs", which is not one of ext4, xfs`},
		{class: classOf(ours, "ext4", "-m 0"), want: `the StorageClass local: parameters.mkfsOptions is no JSON list of text: write it as '["-m", "0"]', not "-m 0"`},
		{class: classOf(ours, "btrfs", "-m 0"), mode: api.Block},
		{class: classOf(ours, "xfs", ""), want: ""},
	} {
		s := &seen{node: "n1", marks: "test"}
		s.volumes, s.groups = stored(t, map[string]*api.Volume{}), stored(t, map[string]*api.VolumeGroup{})
		s.nodes, s.classes = stored(t, map[string]*plain{}), stored(t, map[string]*storageClass{})
		if !c.noNode {
			s.nodes = stored(t, map[string]*plain{"n1": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kubernetes.io/hostname": "n1"}}}})
		}
		if c.class != nil {
			s.classes = stored(t, map[string]*storageClass{"local": c.class})
		}
		v := volumeOf("data", "n1", "uid", "")
		v.Spec.StorageClassName, v.Spec.Mode = "local", c.mode
		if c.field != "" {
			v.Spec.Template.Spec = map[string]any{c.field: []any{"noatime"}}
		}
		_, err := s.request(t.Context(), v, true)
		if got := text(err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestInspectOnly: while the operator of MetalK8s acts on the same Volumes, nothing is written, and the log says why.
func TestInspectOnly(t *testing.T) {
	s := &seen{operators: stored(t, map[string]*plain{})}
	if why := s.inspectOnly(); why != "" {
		t.Error(why)
	}
	s.operators = stored(t, map[string]*plain{"kube-system/" + metalK8sOperator: {}})
	const want = "the storage operator of MetalK8s runs in this cluster and acts on the same Volumes: remove it first"
	if why := s.inspectOnly(); why != want {
		t.Errorf("%q, want %q", why, want)
	}
}
