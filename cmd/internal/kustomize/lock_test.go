package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

// put writes a file.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What was rendered is the lock wherever the function is called, whether it is
// listed or not, and the result is the same.
func TestBuildTakesRenderedAsTheLock(t *testing.T) {
	fn := program(t)
	const declared = "transformers: [fn.yaml]\n"
	for name, c := range map[string]struct{ host, listed, rest string }{
		"declared":     {"top", "[intent.yaml, other.yaml, inventory/nodes.yaml, rendered]", declared},
		"undeclared":   {"top", "[intent.yaml, other.yaml, inventory/nodes.yaml, rendered]", ""},
		"in a base":    {"base", "[intent.yaml, other.yaml, inventory/nodes.yaml, rendered]", declared},
		"by component": {"top", "[intent.yaml, other.yaml, inventory/nodes.yaml, rendered]", "components: [../part]\n"},
	} {
		for _, execs := range []bool{false, true} {
			dir := unpack(t, "testdata/same/lock.txtar", fn)
			put(t, filepath.Join(dir, "part/kustomization.yaml"),
				"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers: [fn.yaml]\n")
			config, err := os.ReadFile(filepath.Join(dir, "top/fn.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, "part/fn.yaml"), string(config))
			if c.host == "base" {
				if err := os.Rename(filepath.Join(dir, "top"), filepath.Join(dir, "base")); err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(dir, "top/kustomization.yaml"), "resources: [../base]\nnamePrefix: p-\n")
			}
			build := func(resources string) string {
				t.Helper()
				put(t, filepath.Join(dir, c.host, "kustomization.yaml"), "resources: "+resources+"\nsortOptions: {order: fifo}\n"+c.rest)
				out, fs, err := Build(filepath.Join(dir, "top"), Options{Process: toy, EnableExec: execs, Program: fn})
				if err != nil || len(fs) > 0 {
					t.Fatalf("%s, exec %v: %v %v", name, execs, err, fs)
				}
				return string(out)
			}
			want, got := build(c.listed), build(strings.Replace(c.listed, ", rendered", "", 1))
			if got != want {
				t.Errorf("%s, exec %v: got\n%s\nwant\n%s", name, execs, got, want)
			}
			// What the lock holds comes first, as it stands there; what is no
			// longer wanted, or local, is not printed.
			if a, b := strings.Index(got, "name: p-a\n")+strings.Index(got, "name: a\n"), strings.Index(got, "name: p-b\n")+strings.Index(got, "name: b\n"); a > b {
				t.Errorf("%s, exec %v: not in the order of the lock:\n%s", name, execs, got)
			}
			if strings.Contains(got, "gone") || strings.Contains(got, "local") {
				t.Errorf("%s, exec %v: got\n%s", name, execs, got)
			}
		}
	}
}

// A lock that cannot be read is not left out.
func TestBuildNeedsTheLockToBeReadable(t *testing.T) {
	fn := program(t)
	dir := unpack(t, "testdata/same/lock.txtar", fn)
	put(t, filepath.Join(dir, "top/kustomization.yaml"), "resources: [intent.yaml]\n")
	put(t, filepath.Join(dir, "top/rendered/broken.yaml"), "a: [")
	t.Chdir(dir)
	for _, execs := range []bool{false, true} {
		out, fs, err := Build("top", Options{Process: toy, EnableExec: execs, Program: fn})
		if err != nil || len(out) > 0 || !finding.Failed(fs) || fs[0].Pos.File != "top/rendered/broken.yaml" {
			t.Errorf("exec %v: %q %v %v", execs, out, fs, err)
		}
	}
}
