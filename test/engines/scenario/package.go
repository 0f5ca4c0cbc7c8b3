package scenario

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Git is a working tree that an engine looks at:
//
//	kustomization.yaml   the platform and what is rendered
//	platform.yaml        the Namespace, and the definitions where they belong to the set
//	storage/             the package: the cStor cloud example
type Git struct {
	t         *testing.T
	suite     Suite
	name      string // distinguishes the example of one test from that of another, in the same cluster
	Dir       string
	Namespace string
	example   string // the folder of examples that it copies from
	specs     bool   // the config is applied, too
}

// stages are where the example has the inventory of its commits.
var stages = []string{"commits/1-nothing-bound", "commits/2-claims-bound", "."}

// newGit makes a working tree without storage.
func newGit(t *testing.T, s Suite, name, protection string) *Git {
	t.Helper()
	name = s.Name + "-" + name
	g := &Git{t: t, suite: s, name: name, Dir: t.TempDir(), Namespace: "openebs-" + name, example: "cstor-cloud"}
	g.write("storage/poolwright.yaml", fmt.Sprintf(`apiVersion: poolwright.io/v1alpha1
kind: RenderConfig
metadata:
  name: poolwright
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  engine: all
  protection: %q
  intermediates: apply
`, protection))
	return g
}

// platform writes the Namespace and the definitions. What does not carry its
// protection gets it from deploy/protection.
func (g *Git) platform(protected bool, d definitions) {
	g.t.Helper()
	dir := g.t.TempDir()
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": g.Namespace},
	}}
	g.check(write(filepath.Join(dir, "resources.yaml"), append([]*unstructured.Unstructured{namespace}, d.upstream...)))
	g.check(os.CopyFS(filepath.Join(dir, "protection"), os.DirFS(filepath.Join(g.suite.Root, "deploy/protection"))))
	kustomization := []byte("resources: [resources.yaml]\ncomponents: [protection]\n")
	g.check(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), kustomization, 0o666))
	objects, err := Build(dir)
	g.check(err)
	for _, o := range d.ours {
		objects = append(objects, o.DeepCopy())
	}
	if !protected {
		for _, o := range objects {
			o.SetAnnotations(nil)
		}
	}
	g.check(write(filepath.Join(g.Dir, "platform.yaml"), objects))
}

// render refreshes the inventory to that of a stage, from 0, and renders.
func (g *Git) render(stage int) {
	g.t.Helper()
	g.check(os.RemoveAll(filepath.Join(g.Dir, "storage/inventory")))
	for _, name := range []string{"cstor.yaml", "inventory"} {
		g.copy(filepath.Join(stages[stage], name), filepath.Join("storage", name))
	}
	resources := []string{"platform.yaml", "storage/rendered"}
	if g.specs {
		spec := filepath.Join(g.Dir, "storage/cstor.yaml")
		text, err := os.ReadFile(spec)
		g.check(err)
		g.check(os.WriteFile(spec, []byte(strings.Replace(string(text), "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n", "", 1)), 0o666))
		resources = append(resources, "storage/cstor.yaml")
	}
	g.run(g.Dir, g.suite.Poolwright, "render", "storage")
	g.list(resources...)
}

// copy copies from the example, with the namespace and the volumes of this test.
func (g *Git) copy(from, to string) {
	g.t.Helper()
	example := filepath.Join(g.suite.Root, "examples", g.example)
	g.check(filepath.WalkDir(filepath.Join(example, from), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Join(example, from), path)
		if err != nil {
			return err
		}
		g.write(filepath.Join(to, rel), g.rename(string(text)))
		return nil
	}))
}

// rename puts the example into the namespace of this test, with volumes of its own.
func (g *Git) rename(text string) string {
	return strings.NewReplacer(
		"namespace: openebs", "namespace: "+g.Namespace, "/openebs/prod", "/"+g.Namespace+"/prod", "pvc-", "pvc-"+g.name+"-",
	).Replace(text)
}

// list writes the kustomization that the engine builds.
func (g *Git) list(resources ...string) {
	g.t.Helper()
	g.write("kustomization.yaml", `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata:
  name: all
  annotations: {config.kubernetes.io/local-config: "true"}
sortOptions: {order: fifo}
resources:
- `+strings.Join(resources, "\n- ")+"\n")
}

// volumes are those that the CSI driver will make, by the name of their claim.
func (g *Git) volumes() map[string]*unstructured.Unstructured {
	g.t.Helper()
	volumes := map[string]*unstructured.Unstructured{}
	for _, volume := range g.facts(len(stages)-1, "persistentvolumes") {
		volumes[str(volume, "spec", "claimRef", "name")] = volume
	}
	return volumes
}

// facts are those of one file of a stage's inventory.
func (g *Git) facts(stage int, kind string) []*unstructured.Unstructured {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.suite.Root, "examples/cstor-cloud", stages[stage], "inventory", kind+".yaml"))
	g.check(err)
	wrapped, err := Parse([]byte(g.rename(string(text))))
	g.check(err)
	list, err := wrapped[0].ToList()
	g.check(err)
	var facts []*unstructured.Unstructured
	for i := range list.Items {
		facts = append(facts, &list.Items[i])
	}
	return facts
}

// objects are those that the working tree holds for the cluster now.
func (g *Git) objects() []*unstructured.Unstructured {
	g.t.Helper()
	objects, err := Build(g.Dir)
	g.check(err)
	return objects
}

// save copies the working tree, and returns what puts it back.
func (g *Git) save() (restore func()) {
	g.t.Helper()
	saved := filepath.Join(g.t.TempDir(), "saved")
	g.check(os.CopyFS(saved, os.DirFS(g.Dir)))
	return func() {
		entries, err := os.ReadDir(g.Dir)
		g.check(err)
		for _, e := range entries {
			g.check(os.RemoveAll(filepath.Join(g.Dir, e.Name())))
		}
		g.check(os.CopyFS(g.Dir, os.DirFS(saved)))
	}
}

func (g *Git) remove(path string) {
	g.t.Helper()
	g.check(os.RemoveAll(filepath.Join(g.Dir, path)))
}

func (g *Git) write(path, text string) {
	g.t.Helper()
	path = filepath.Join(g.Dir, path)
	g.check(os.MkdirAll(filepath.Dir(path), 0o777))
	g.check(os.WriteFile(path, []byte(text), 0o666))
}

func (g *Git) run(dir, name string, args ...string) {
	g.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (g *Git) check(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}
