package kustomize

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/poolwright/poolwright/test/tool"
)

// program puts the test binary where it has the name of the function.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "poolwright")
	if os.Link(self, path) == nil {
		return path
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// unpack writes the files of an archive, in which FN stands for the function.
func unpack(t *testing.T, archive, fn string) string {
	t.Helper()
	dir := t.TempDir()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(string(f.Data), "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(f.Data), "FN", fn)), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Every archive is a kustomization in the folder "top". Where the function is
// declared nowhere, kustomize gets a kustomization that does: "declared".
func TestBuildGivesWhatKustomizeGives(t *testing.T) {
	kustomize := tool.Need(t, "kustomize")
	archives, err := filepath.Glob("testdata/same/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	fn := program(t)
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			dir := unpack(t, archive, fn)
			top := filepath.Join(dir, "top")
			theirs := top
			if _, err := os.Stat(filepath.Join(dir, "declared")); err == nil {
				theirs = filepath.Join(dir, "declared")
			}
			want, stderr, err := tool.Run(t, dir, nil, kustomize, "build", "--enable-alpha-plugins", "--enable-exec", theirs)
			if err != nil {
				t.Fatalf("kustomize: %v\n%s", err, stderr)
			}
			enable := strings.Contains(archive, "foreign")
			for _, execs := range []bool{enable, true} {
				got, fs, err := Build(top, Options{Process: toy, EnableExec: execs, Program: fn})
				if err != nil {
					t.Fatalf("with exec %v: %v", execs, err)
				}
				if len(fs) > 0 {
					t.Errorf("with exec %v: findings %v", execs, fs)
				}
				if string(got) != want {
					t.Errorf("with exec %v: got\n%s\nwant\n%s", execs, got, want)
				}
			}
		})
	}
}

// Findings name the place in the file that a person wrote, which kustomize does
// not pass on: exactly where nothing changed the object, else its start.
func TestBuildNamesThePlace(t *testing.T) {
	const spec = "# a comment\n\n---\napiVersion: toy.io/v1\nkind: Intent\nmetadata: {name: x}\n"
	for name, kustomization := range map[string]string{
		"as written": "resources: [../base]\n",
		"patched":    "resources: [../base]\nnamePrefix: p-\n",
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"top/kustomization.yaml":  kustomization,
			"base/kustomization.yaml": "resources: [intent.yaml]\n",
			"base/intent.yaml":        spec,
		} {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(dir)
		out, fs, err := Build("top", Options{Process: toy})
		if err != nil || len(out) > 0 || len(fs) != 1 {
			t.Fatalf("%s: %q, %v, %v", name, out, fs, err)
		}
		if got := fs[0].Pos; got.File != "base/intent.yaml" || got.Line != 4 || got.Column != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// kustomize gets no more of an inventory than its name, and the function all.
func TestInventoryIsKeptFromKustomize(t *testing.T) {
	dir := unpack(t, "testdata/same/plain.txtar", "FN")
	disk := newOverlay(true, newReadings("", nil))
	data, err := disk.ReadFile(filepath.Join(dir, "top/inventory/nodes.yaml"))
	if err != nil || strings.Contains(string(data), "items") || !strings.Contains(string(data), "name: nodes") {
		t.Errorf("kustomize gets %q, %v", data, err)
	}
	disk = newOverlay(false, newReadings("", nil))
	if data, err := disk.ReadFile(filepath.Join(dir, "top/inventory/nodes.yaml")); err != nil || !strings.Contains(string(data), "items") {
		t.Errorf("without the shortcut kustomize gets %q, %v", data, err)
	}
}
