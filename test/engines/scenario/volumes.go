package scenario

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RunVolumes puts an engine through classes of cStor volumes with claims of each kind:
// deleting what was rendered, or the engine's own object, never deletes a claim; without
// protection it does.
func RunVolumes(t *testing.T, s Suite) {
	c, err := Connect(s.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"openebs-cstor.yaml", "csi-snapshot.yaml"} {
		for _, o := range Upstream(t, file) {
			if err := c.Apply(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("confirm", func(t *testing.T) { claimsProtected(t, s, c) })
	t.Run("off", func(t *testing.T) { claimsUnprotected(t, s, c) })
}

// claimsProtected deletes claims from Git in each way.
func claimsProtected(t *testing.T, s Suite, c *Cluster) {
	r := beginVolumes(t, s, c, "confirm")
	r.sync("all in one commit")
	objects, before := r.applied("all in one commit")
	claims := of(objects, claimKind.Kind)
	if len(claims) != 6 || len(of(objects, "CStorVolumePolicy", "VolumeSnapshotClass")) != 2 {
		t.Fatalf("the package is not what the test is for: %s", kindsOf(objects))
	}
	before = before.only(claims)
	r.healthy("all in one commit")

	restore := r.save()
	r.withoutClaims()
	what := "the file of the claims is deleted from Git"
	report := r.sync(what)
	r.survives(what, claims, before)
	_, asks := r.engine.(Approver)
	if asks && !strings.Contains(report.Waiting, claimKind.Kind) {
		t.Errorf("%s: the engine waits for %q", what, report.Waiting)
	}
	restore()
	r.sync("it is back")
	r.survives("it is back", claims, before)

	r.withoutStorage()
	what = "all that was rendered, and the specs, is deleted from Git"
	report = r.sync(what)
	r.survives(what, claims, before)
	switch {
	case !asks:
		r.gone(what, of(objects, "StorageClass", "CStorVolumePolicy")) // so that it did act
	case !strings.Contains(report.Waiting, claimKind.Kind): // before it comes to the classes
		t.Errorf("%s: the engine waits for %q", what, report.Waiting)
	}
	restore()
	r.sync("it is back")
	r.survives("it is back", claims, before)

	r.outlivesEngine(claims, before)
}

// withoutClaims deletes the files of the claims, and their lines.
func (r *run) withoutClaims() {
	r.t.Helper()
	r.withoutFiles(func(path string) bool { return filepath.Base(path) == "persistentvolumeclaim.yaml" })
}

// withoutFiles deletes some of the rendered files, and their lines.
func (r *run) withoutFiles(out func(path string) bool) {
	r.t.Helper()
	rendered := filepath.Join(r.Dir, "storage/rendered")
	kept := []string{"platform.yaml"}
	r.check(filepath.WalkDir(rendered, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir() || e.Name() == "kustomization.yaml":
			return err
		case out(path):
			return os.Remove(path)
		}
		rel, err := filepath.Rel(r.Dir, path)
		kept = append(kept, rel)
		return err
	}))
	r.list(kept...)
}

// claimsUnprotected is the proof that this could fail.
func claimsUnprotected(t *testing.T, s Suite, c *Cluster) {
	r := beginVolumes(t, s, c, "off")
	r.sync("all in one commit")
	objects, _ := r.applied("all in one commit")
	claims := of(objects, claimKind.Kind)
	restore := r.save()
	r.withoutStorage()
	what := "all that was rendered is deleted from Git"
	r.sync(what)
	r.gone(what, claims)
	r.absent(claims)
	restore()
	r.sync("it is back")
	r.applied("it is back")
	_, err := r.engine.Delete(t.Context())
	r.check(err)
	r.gone("the engine's own object is deleted", claims)
}

// beginVolumes makes a working tree with the package of six volumes, and a driver that makes
// a volume for each claim.
func beginVolumes(t *testing.T, s Suite, c *Cluster, protection string) *run {
	t.Helper()
	g := newGit(t, s, protection, protection)
	example := filepath.Join(s.Root, "testdata/packages/six-volumes")
	places := strings.NewReplacer("namespace: openebs", "namespace: "+g.Namespace, "namespace: shop", "namespace: "+g.Namespace)
	entries, err := os.ReadDir(filepath.Join(example, "inventory"))
	g.check(err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(example, "inventory", e.Name()))
		g.check(err)
		// Classes are in no namespace.
		names := strings.NewReplacer("name: wide", "name: "+g.name+"-wide", "openebs/wide", g.Namespace+"/"+g.name+"-wide")
		g.writeLocal(filepath.Join("storage/inventory", e.Name()), names.Replace(places.Replace(string(text))))
	}
	text, err := os.ReadFile(filepath.Join(example, "classes.yaml"))
	g.check(err)
	volumes := map[string]*unstructured.Unstructured{}
	specs := g.writeLocal("storage/classes.yaml", places.Replace(string(text)))
	for i, spec := range specs {
		claims, _, err := unstructured.NestedSlice(spec.Object, "spec", "claims")
		g.check(err)
		for _, claim := range claims {
			name, _ := claim.(map[string]any)["name"].(string)
			volumes[name] = volumeOf(g, name)
		}
		spec.SetName(g.name + "-" + spec.GetName())
		if i == 0 {
			g.check(unstructured.SetNestedMap(spec.Object, map[string]any{}, "spec", "snapshotClass"))
		}
	}
	g.check(write(filepath.Join(g.Dir, "storage/classes.yaml"), specs))
	g.platform(protection != "off", definitions{})
	g.run(g.Dir, s.Poolwright, "render", "storage")
	g.list("platform.yaml", "storage/rendered")
	r := &run{Git: g, engine: s.New(t, g.name), cluster: c}
	r.playDriver(volumes)
	return r
}

// writeLocal writes objects that kpt does not apply.
func (g *Git) writeLocal(path, text string) []*unstructured.Unstructured {
	g.t.Helper()
	objects, err := Parse([]byte(text))
	g.check(err)
	for _, o := range objects {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["config.kubernetes.io/local-config"] = "true"
		o.SetAnnotations(annotations)
	}
	g.check(os.MkdirAll(filepath.Join(g.Dir, filepath.Dir(path)), 0o777))
	g.check(write(filepath.Join(g.Dir, path), objects))
	return objects
}

// volumeOf is the volume that the driver makes for a claim.
func volumeOf(g *Git, claim string) *unstructured.Unstructured {
	name := g.name + "-" + claim
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"capacity": map[string]any{"storage": "20Gi"},
			"claimRef": map[string]any{"apiVersion": "v1", "kind": claimKind.Kind, "namespace": g.Namespace, "name": claim},
			"csi":      map[string]any{"driver": "cstor.csi.openebs.io", "volumeHandle": name},
		},
	}}
}
