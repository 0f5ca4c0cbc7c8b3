package folder

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
)

// Where the output folder is gone and its old content was left behind, nothing
// is chosen again in silence.
func TestReadNamesOldContent(t *testing.T) {
	dir := t.TempDir()
	pkg, out := filepath.Join(dir, "pkg"), filepath.Join(dir, "out")
	put(t, filepath.Join(pkg, "a.yaml"), secret("a"))
	for _, name := range []string{".rendered.poolwright-7-0", ".rendered.poolwright-x-0-old", ".rendered.poolwright-7-old", ".other.poolwright-7-0-old"} {
		put(t, filepath.Join(pkg, name, "x.yaml"), string(pool("x", "1").Raw))
	}
	check := func(output string, want ...string) {
		t.Helper()
		_, fs, err := Read(Input{Dir: pkg, Output: output})
		if err != nil || len(fs) != len(want) {
			t.Fatal(err, fs)
		}
		for i, f := range fs {
			if !strings.Contains(f.Message, fmt.Sprintf(`move it back with "mv %s %s", or delete it`, want[i], f.Pos.File)) {
				t.Errorf("-o %q: %v", output, f)
			}
		}
	}
	check("")
	old := filepath.Join(pkg, ".rendered.poolwright-7-0-old")
	put(t, filepath.Join(old, "x.yaml"), string(pool("x", "1").Raw))
	check("", old)
	check(Stdout, old)
	check(filepath.Join(pkg, fn.RenderedFolder), old)
	oldOut := filepath.Join(dir, ".out.poolwright-8-0-old")
	put(t, filepath.Join(oldOut, "x.yaml"), string(pool("x", "1").Raw))
	check(out, oldOut, old)

	// The remedy works.
	if err := os.Rename(old, filepath.Join(pkg, fn.RenderedFolder)); err != nil {
		t.Fatal(err)
	}
	check("")
	if p, _, _ := Read(Input{Dir: pkg}); names(p.Lock) != "x" {
		t.Errorf("the lock is %q", names(p.Lock))
	}
	if objects, fs := ReadRendered(filepath.Join(pkg, fn.RenderedFolder), "shown"); names(objects) != "x" || len(fs) > 0 || objects[0].Source.Name != "shown/x.yaml" {
		t.Errorf("%v %v", objects, fs)
	}
	if _, fs := ReadRendered(out, "shown/out"); len(fs) != 1 || !strings.Contains(fs[0].Message, "mv shown/.out.poolwright-8-0-old shown/out") {
		t.Errorf("%v", fs)
	}
}

func TestWriteRemovesStaleFolders(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up on Linux only")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	gone := ended.Process.Pid
	dir := t.TempDir()
	stale := []string{fmt.Sprintf(".rendered.poolwright-%d-0", gone), fmt.Sprintf(".rendered.poolwright-%d-12", gone)}
	kept := []string{
		fmt.Sprintf(".rendered.poolwright-%d-0-old", gone),
		fmt.Sprintf(".rendered.poolwright-%d", gone),
		fmt.Sprintf(".rendered.poolwright-0%d-0", gone),
		fmt.Sprintf(".rendered.poolwright-%d-0.bak", gone),
		fmt.Sprintf(".other.poolwright-%d-0", gone),
		fmt.Sprintf(".rendered.poolwright-%d-0", os.Getppid()),
		fmt.Sprintf(".rendered.poolwright-%d-0", os.Getpid()),
	}
	for _, name := range append(stale, kept...) {
		put(t, filepath.Join(dir, name, "x"), "x")
	}
	put(t, filepath.Join(dir, fmt.Sprintf(".rendered.poolwright-%d-3", gone)), "a file")
	put(t, filepath.Join(dir, fn.RenderedFolder, "NOTES.md"), "mine")
	mustWrite(t, dir, rendered("a.yaml", pool("a", "1")))
	for _, name := range stale {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range kept {
		if !exists(filepath.Join(dir, name, "x")) {
			t.Errorf("%s is gone", name)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != len(kept)+2 {
		t.Errorf("got %v", entries)
	}
}
