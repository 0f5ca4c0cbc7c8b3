package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/tool"
)

// workbench is a machine with poolwright on the PATH, for tests with real tools.
type workbench struct {
	program string
	env     []string
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	dir := t.TempDir()
	w := &workbench{program: filepath.Join(dir, "poolwright")}
	w.env = []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH"), "CGO_ENABLED=0"}
	w.must(t, ".", "go", "build", "-o", w.program, ".")
	return w
}

// must runs a program that has to succeed, and returns its standard output.
func (w *workbench) must(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	stdout, stderr, err := tool.Run(t, dir, w.env, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout
}

// fresh is an example that was never rendered.
func (w *workbench) fresh(t *testing.T, system string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), system)
	w.must(t, ".", w.program, "init", system, dir, "--example")
	if err := os.RemoveAll(filepath.Join(dir, "rendered")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "kustomization.yaml"), "- rendered\n", "")
	return dir
}

func edit(t *testing.T, file, old, now string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s does not hold %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), old, now, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// owned indexes the rendered objects of a stream: identity to content. Those
// that are local-config are left out on request, as kustomize does.
func owned(t *testing.T, stream string, withLocal bool) map[string]string {
	t.Helper()
	src := &document.Source{Name: "stream", Data: []byte(stream)}
	docs, err := document.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range docs {
		o := krm.NewObject(src, &docs[i].Node)
		if o.Owner() == "" || o.Annotation(krm.AnnotationLocalConfig) != "" && !withLocal {
			continue
		}
		var content map[string]any
		if err := yaml.Unmarshal(src.Data[docs[i].Start:docs[i].End], &content); err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := found[o.Ref.String()]; twice {
			t.Errorf("%s is there twice", o.Ref)
		}
		found[o.Ref.String()] = string(text)
	}
	return found
}

func same(t *testing.T, who string, got, want map[string]string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("the command line renders nothing")
	}
	for ref, text := range want {
		if got[ref] != text {
			t.Errorf("%s: %s is\n%s\nwant\n%s", who, ref, got[ref], text)
		}
	}
	for ref := range got {
		if _, wanted := want[ref]; !wanted {
			t.Errorf("%s: %s is too much", who, ref)
		}
	}
}

// tree reads all manifests of a package, and of each file its content.
func tree(t *testing.T, dir string) (stream string, files map[string]string) {
	t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		if filepath.Ext(path) == ".yaml" {
			stream += "---\n" + string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stream, files
}

func TestRealTools(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what runs other programs")
	}
	w := newWorkbench(t)
	rendered := w.must(t, ".", w.program, "render", w.fresh(t, "cstor-local"), "-o", "-")
	all, applied := owned(t, rendered, true), owned(t, rendered, false)

	t.Run("build", func(t *testing.T) {
		same(t, "poolwright build", owned(t, w.must(t, ".", w.program, "build", w.fresh(t, "cstor-local")), false), applied)
	})
	t.Run("kustomize exec", func(t *testing.T) {
		kustomize := tool.Need(t, "kustomize")
		dir := w.fresh(t, "cstor-local")
		out := w.must(t, ".", kustomize, "build", "--enable-alpha-plugins", "--enable-exec", dir)
		same(t, "kustomize", owned(t, out, false), applied)
		if built := w.must(t, ".", w.program, "build", dir); built != out {
			t.Errorf("poolwright build gives\n%s\nkustomize gives\n%s", built, out)
		}
	})
	t.Run("kustomize exec with the lock", func(t *testing.T) {
		kustomize := tool.Need(t, "kustomize")
		dir := filepath.Join(t.TempDir(), "p")
		w.must(t, ".", w.program, "init", "cstor-local", dir, "--example")
		w.must(t, ".", w.program, "render", dir)
		kept := owned(t, w.must(t, ".", w.program, "render", dir, "-o", "-"), false)
		out := w.must(t, ".", kustomize, "build", "--enable-alpha-plugins", "--enable-exec", dir)
		same(t, "kustomize", owned(t, out, false), kept)
		if built := w.must(t, ".", w.program, "build", dir); built != out {
			t.Errorf("poolwright build gives\n%s\nkustomize gives\n%s", built, out)
		}
	})
	t.Run("kustomize skips in silence", func(t *testing.T) {
		kustomize := tool.Need(t, "kustomize")
		dir := w.fresh(t, "cstor-local")
		if out := w.must(t, ".", kustomize, "build", "--enable-alpha-plugins", dir); len(owned(t, out, false)) > 0 {
			t.Error("kustomize no longer leaves the function out; docs/kustomize.md warns of it")
		}
		if _, stderr, err := tool.Run(t, ".", w.env, w.program, "render", dir, "--check"); err == nil || !strings.Contains(stderr, "would add") {
			t.Errorf("render --check does not notice: %v\n%s", err, stderr)
		}
	})
	t.Run("kpt exec", func(t *testing.T) {
		kpt := tool.Need(t, "kpt")
		dir := w.fresh(t, "cstor-local")
		w.must(t, ".", kpt, "fn", "render", "--allow-exec", dir)
		stream, once := tree(t, dir)
		same(t, "kpt", owned(t, stream, true), all)
		w.must(t, ".", kpt, "fn", "render", "--allow-exec", dir)
		if _, twice := tree(t, dir); !maps.Equal(once, twice) {
			t.Error("rendering twice changes something")
		}
		// kpt writes objects, and the list of files for kustomize is none.
		_, stderr, err := tool.Run(t, ".", w.env, w.program, "render", dir)
		if err != nil || !strings.Contains(stderr, "; 1 file added, 0 changed, 0 removed") {
			t.Errorf("the command line does not agree with kpt: %v\n%s", err, stderr)
		}
		w.must(t, ".", kpt, "fn", "render", "--allow-exec", dir)
		w.must(t, ".", w.program, "render", dir, "--check")
	})
	t.Run("containers", func(t *testing.T) { testContainers(t, w, all, applied) })
}

// testContainers runs the function as an image that was built from the
// Dockerfile, by podman, which needs no daemon.
func testContainers(t *testing.T, w *workbench, all, applied map[string]string) {
	podman := tool.Need(t, "podman")
	root, context, bin := tool.Root(t), t.TempDir(), t.TempDir()
	const image = "localhost/poolwright-fn:test"
	for from, to := range map[string]string{
		w.program:                                   "bin/poolwright",
		filepath.Join(root, "image", "passwd"):      "image/passwd",
		filepath.Join(root, "image", "Dockerfile"):  "image/Dockerfile",
		filepath.Join("testdata", "container.conf"): "container.conf",
	} {
		copyFile(t, from, filepath.Join(context, to))
	}
	// kustomize calls a program named docker, and no other.
	shim := "#!/bin/sh\nexec '" + podman + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	in := &workbench{program: w.program, env: append(w.env[1:len(w.env):len(w.env)],
		"PATH="+bin+string(filepath.ListSeparator)+filepath.Dir(w.program)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"CONTAINERS_CONF="+filepath.Join(context, "container.conf"), "KPT_FN_RUNTIME=podman")}
	in.must(t, context, podman, "build", "--quiet", "--layers=false", "--tag", image, "--file", "image/Dockerfile", ".")
	t.Cleanup(func() { in.must(t, ".", podman, "rmi", "--force", image) })

	t.Run("kustomize", func(t *testing.T) {
		kustomize := tool.Need(t, "kustomize")
		dir := w.fresh(t, "cstor-local")
		edit(t, filepath.Join(dir, "poolwright.yaml"), "exec:\n        path: poolwright", "container:\n        image: "+image)
		same(t, "kustomize", owned(t, in.must(t, ".", kustomize, "build", "--enable-alpha-plugins", dir), false), applied)
		same(t, "poolwright build", owned(t, in.must(t, ".", w.program, "build", dir), false), applied)
	})
	t.Run("kpt", func(t *testing.T) {
		kpt := tool.Need(t, "kpt")
		dir := w.fresh(t, "cstor-local")
		edit(t, filepath.Join(dir, "Kptfile"), "exec: poolwright", "image: "+image)
		in.must(t, ".", kpt, "fn", "render", dir)
		stream, once := tree(t, dir)
		same(t, "kpt", owned(t, stream, true), all)
		in.must(t, ".", kpt, "fn", "render", dir)
		if _, twice := tree(t, dir); !maps.Equal(once, twice) {
			t.Error("rendering twice changes something")
		}
	})
	t.Run("help", func(t *testing.T) {
		if out := in.must(t, ".", podman, "run", "--rm", "--network", "none", image, "--help"); !strings.Contains(out, "ResourceList") {
			t.Errorf("the image does not explain itself: %s", out)
		}
		kpt := tool.Need(t, "kpt")
		if out := in.must(t, ".", kpt, "fn", "doc", "--image", image); !strings.Contains(out, "ResourceList") {
			t.Errorf("kpt fn doc: %s", out)
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}
