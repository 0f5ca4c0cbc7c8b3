package folder

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// pool is an object as a render makes it.
func pool(name, size string) *krm.Object {
	o := krm.Make("example.io/v1", "Pool", "storage", name, document.F("spec", document.Object(document.F("size", document.Text(size)))))
	o.SetLabel(krm.LabelManagedBy, krm.ManagedBy)
	o.SetAnnotation(krm.AnnotationOwner, "example.io/Spec/storage/s")
	o.Raw = document.Append(nil, o.Node, 0)
	return o
}

func rendered(path string, objects ...*krm.Object) []fn.Rendered {
	var rs []fn.Rendered
	for _, o := range objects {
		rs = append(rs, fn.Rendered{Path: path, Object: o})
	}
	return rs
}

// files reads a whole tree.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		found[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// write renders into the package in dir, as the command does.
func write(t *testing.T, dir string, rs []fn.Rendered) (*Plan, error) {
	t.Helper()
	p, fs, err := Read(Input{Dir: dir})
	if err != nil || len(fs) > 0 {
		t.Fatal(err, fs)
	}
	plan, err := NewPlan(filepath.Join(dir, fn.RenderedFolder), rs, p)
	if err != nil {
		return nil, err
	}
	return plan, plan.Write(context.Background())
}

func mustWrite(t *testing.T, dir string, rs []fn.Rendered) *Plan {
	t.Helper()
	plan, err := write(t, dir, rs)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestWriteAddsChangesAndRemoves(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, fn.RenderedFolder)
	mustWrite(t, dir, append(rendered("s/pool.yaml", pool("a", "1"), pool("b", "1")), rendered("s/other.yaml", pool("c", "1"))...))
	got := files(t, out)
	want := map[string]string{
		"kustomization.yaml": madeBy + "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata:\n  name: rendered\n" +
			"  annotations:\n    config.kubernetes.io/local-config: \"true\"\nresources:\n- s/other.yaml\n- s/pool.yaml\nsortOptions:\n  order: fifo\n",
		"s/pool.yaml":  string(pool("a", "1").Raw) + "---\n" + string(pool("b", "1").Raw),
		"s/other.yaml": string(pool("c", "1").Raw),
	}
	if !maps.Equal(got, want) {
		t.Fatalf("got %q\nwant %q", got, want)
	}

	put(t, filepath.Join(out, "NOTES.md"), "mine")
	if err := os.Chmod(filepath.Join(out, "s"), 0o750); err != nil {
		t.Fatal(err)
	}
	plan := mustWrite(t, dir, append(rendered("s/pool.yaml", pool("a", "2")), rendered("t/new.yaml", pool("d", "1"))...))
	var lines []string
	for _, c := range plan.Changes {
		lines = append(lines, strings.ReplaceAll(c.String(), dir+"/", ""))
	}
	if got := strings.Join(lines, ", "); got != "change rendered/kustomization.yaml, remove rendered/s/other.yaml, change rendered/s/pool.yaml, add rendered/t/new.yaml" {
		t.Errorf("changes: %s", got)
	}
	got = files(t, out)
	if got["s/pool.yaml"] != string(pool("a", "2").Raw) || got["NOTES.md"] != "mine" || len(got) != 4 {
		t.Errorf("got %q", got)
	}
	if info, _ := os.Stat(filepath.Join(out, "s")); info.Mode().Perm() != 0o750 {
		t.Errorf("permissions of the folder: %v", info.Mode())
	}

	mustWrite(t, dir, nil)
	if got := files(t, dir); len(got) != 1 || got["rendered/NOTES.md"] != "mine" {
		t.Errorf("after everything is gone: %q", got)
	}
	if exists(filepath.Join(out, "s")) {
		t.Error("an empty folder stays")
	}
}

func TestWriteTouchesNothingThatStays(t *testing.T) {
	dir := t.TempDir()
	all := append(rendered("a.yaml", pool("a", "1")), rendered("b.yaml", pool("b", "1"))...)
	mustWrite(t, dir, all)
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"a.yaml", "b.yaml", "kustomization.yaml", ""} {
		if err := os.Chtimes(filepath.Join(dir, fn.RenderedFolder, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	age := func(name string) time.Time {
		info, err := os.Stat(filepath.Join(dir, fn.RenderedFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	if plan := mustWrite(t, dir, all); len(plan.Changes) != 0 || plan.Unchanged != 3 {
		t.Errorf("changes: %v", plan.Changes)
	}
	if !age("").Equal(past) || !age("a.yaml").Equal(past) {
		t.Error("nothing changed, and yet something was touched")
	}
	mustWrite(t, dir, append(rendered("a.yaml", pool("a", "2")), rendered("b.yaml", pool("b", "1"))...))
	if !age("b.yaml").Equal(past) || !age("kustomization.yaml").Equal(past) || age("a.yaml").Equal(past) {
		t.Error("the wrong files were touched")
	}
}

func TestWriteKeepsDocumentsOfOthers(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, rendered("a.yaml", pool("a", "1")))
	mine := "# mine\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	path := filepath.Join(dir, fn.RenderedFolder, "a.yaml")
	put(t, path, string(pool("a", "1").Raw)+"---\n"+mine)
	mustWrite(t, dir, rendered("a.yaml", pool("a", "2")))
	if got, want := files(t, dir)["rendered/a.yaml"], string(pool("a", "2").Raw)+"---\n"+mine; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if plan := mustWrite(t, dir, rendered("a.yaml", pool("a", "2"))); len(plan.Changes) > 0 {
		t.Errorf("a second render changes %v", plan.Changes)
	}
	mustWrite(t, dir, nil)
	if got := files(t, dir)["rendered/a.yaml"]; got != mine {
		t.Errorf("got %q", got)
	}
}

func TestWriteRefusesWhatIsNotOurs(t *testing.T) {
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: []\n",
		"kustomization.yml":  "resources: []\n",
		"a.yaml":             "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n",
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, fn.RenderedFolder, name), content)
		before := files(t, dir)
		_, err := write(t, dir, rendered("a.yaml", pool("a", "1")))
		if err == nil || !strings.Contains(err.Error(), filepath.Join(fn.RenderedFolder, name)) || !strings.Contains(err.Error(), "move it out") {
			t.Errorf("%s: %v", name, err)
		}
		if after := files(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: something was touched: %v", name, after)
		}
	}
}

func TestWriteInterruptedLeavesEverything(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, rendered("a.yaml", pool("a", "1")))
	before := files(t, dir)
	p, _, _ := Read(Input{Dir: dir})
	plan, err := NewPlan(filepath.Join(dir, fn.RenderedFolder), rendered("b.yaml", pool("b", "1")), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := plan.Write(ctx); err == nil || !strings.Contains(err.Error(), "interrupted; nothing was changed") {
		t.Error(err)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Errorf("got %v", after)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// Where a folder cannot be exchanged in one step, two renames do it, and a
// failure between them is undone.
func TestSwapByName(t *testing.T) {
	dir := t.TempDir()
	target, next := filepath.Join(dir, "target"), filepath.Join(dir, "next")
	put(t, filepath.Join(target, "old"), "old")
	if err := swapByName(target, next); err == nil || !strings.HasSuffix(err.Error(), "; nothing was changed") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if got := files(t, dir); len(got) != 1 || got["target/old"] != "old" {
		t.Errorf("not undone: %v", got)
	}
	put(t, filepath.Join(next, "new"), "new")
	if err := swapByName(target, next); err != nil {
		t.Error(err)
	}
	if got := files(t, dir); len(got) != 1 || got["target/new"] != "new" {
		t.Errorf("not swapped: %v", got)
	}
}

// A link in the output folder does not lead a file out of it.
func TestWriteStaysInside(t *testing.T) {
	dir := t.TempDir()
	outside, out := filepath.Join(dir, "outside"), filepath.Join(dir, "out")
	for _, d := range []string{outside, out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(out, "s")); err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(out, rendered("s/a.yaml", pool("a", "1")), Package{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Write(context.Background()); err == nil || !strings.Contains(err.Error(), filepath.Join("s", "a.yaml")) {
		t.Errorf("got %v", err)
	}
	if got := files(t, outside); len(got) > 0 {
		t.Errorf("written outside: %v", got)
	}
}

func TestWriteThroughLink(t *testing.T) {
	dir := t.TempDir()
	pkg, real := filepath.Join(dir, "pkg"), filepath.Join(dir, "real")
	for _, d := range []string{pkg, real} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(real, filepath.Join(pkg, "out")); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(pkg, "out")
	plan, err := NewPlan(out, rendered("a.yaml", pool("a", "1")), Package{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Write(context.Background()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(out); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if len(files(t, real)) != 2 {
		t.Errorf("got %v", files(t, real))
	}
}

// Git may give every file the line ends of Windows. They are still ours.
func TestWriteOverWindowsLines(t *testing.T) {
	dir := t.TempDir()
	mine := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	all := append(rendered("a.yaml", pool("a", "1")), rendered("b.yaml", pool("b", "1"))...)
	mustWrite(t, dir, all)
	put(t, filepath.Join(dir, fn.RenderedFolder, "a.yaml"), string(pool("a", "1").Raw)+"---\n"+mine)
	want := files(t, dir)
	for name, text := range want {
		put(t, filepath.Join(dir, name), strings.ReplaceAll(text, "\n", "\r\n"))
	}
	if plan := mustWrite(t, dir, all); len(plan.Changes) != 0 || plan.Unchanged != 3 {
		t.Errorf("changes: %v", plan.Changes)
	}
	mustWrite(t, dir, append(rendered("a.yaml", pool("a", "2")), rendered("c.yaml", pool("c", "1"))...))
	got := files(t, dir)
	if got["rendered/a.yaml"] != string(pool("a", "2").Raw)+"---\n"+strings.ReplaceAll(mine, "\n", "\r\n") ||
		!strings.HasPrefix(got["rendered/kustomization.yaml"], madeBy) || len(got) != 3 {
		t.Errorf("got %q", got)
	}
}
