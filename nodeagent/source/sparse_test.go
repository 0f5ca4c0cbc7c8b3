package source_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/tool"
)

func sparse(name, size, mode string) *api.Volume {
	return &api.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.VolumeSpec{NodeName: "n1", Mode: mode, Sparse: &api.SparseLoopDevice{Size: api.Quantity(size)}},
	}
}

// needLoops leaves a test out where loop devices cannot be made.
func needLoops(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	if f, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0); err != nil {
		tool.Missing(t, "there are no loop devices: "+err.Error())
	} else {
		_ = f.Close()
	}
	tool.Need(t, "wipefs")
	tool.Need(t, "mkfs.ext4")
}

// dropLoops ends the loop devices over sparse files of a folder.
func dropLoops(t *testing.T) func(string) {
	return func(folder string) {
		if err := fixture.DetachLoops(func(path string) bool { return strings.HasPrefix(path, folder+"/") }); err != nil {
			t.Error(err)
		}
		removeLinks(t)
	}
}

// removeLinks takes the links away that link made.
func removeLinks(t *testing.T) {
	if _, err := os.Stat("/run/udev/data"); err == nil {
		return
	}
	links, _ := filepath.Glob("/dev/disk/by-*uuid/*")
	for _, path := range links {
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "../../loop") {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCrashSparse kills the agent at every point of making, growing and removing sparse
// volumes of both modes.
func TestCrashSparse(t *testing.T) {
	needLoops(t)
	if testing.Short() {
		t.Skip("skipped: it makes some hundred processes, which is no short test")
	}
	for name, operations := range map[string][]operation{
		"filesystem": {
			{Apply: sparse("data", "40Mi", api.Filesystem), FS: "ext4"}, {Apply: sparse("data", "64Mi", api.Filesystem), FS: "ext4"},
		},
		"block":        {{Apply: sparse("data", "40Mi", api.Block)}, {Apply: sparse("data", "64Mi", api.Block)}},
		"remove":       {{Apply: sparse("data", "40Mi", api.Filesystem), FS: "ext4"}, {Remove: sparse("data", "40Mi", api.Filesystem), FS: "ext4"}},
		"remove block": {{Apply: sparse("data", "40Mi", api.Block)}, {Remove: sparse("data", "40Mi", api.Block)}},
	} {
		t.Run(name, func(t *testing.T) { crash(t, operations, dropLoops(t)) })
		t.Run(name+", again and again", func(t *testing.T) { stutter(t, operations, dropLoops(t)) })
	}
}

// TestLoops: a file has one loop device, whoever has attached it: what is there is taken, a second one or
// one over a part of the file is refused, and a file that could not be written full is not made. Whoever
// reads it while it is removed is waited for.
func TestLoops(t *testing.T) {
	needLoops(t)
	losetup := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("losetup", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("losetup %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tool.Need(t, "losetup")
	folder := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropLoops(t)(folder) })
	tell := func(size, refused string) (points []string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(folder, "progress")); err != nil {
			t.Fatal(err)
		}
		points, _, err := start(t, run{Folder: folder, Root: "/", KillAt: -1, Operations: []operation{{Apply: sparse("data", size, api.Filesystem), FS: "ext4"}}})
		if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Fatalf("%v, want %q, after\n%s", err, refused, strings.Join(points, "\n"))
		}
		return points
	}
	if points := tell("4Ei", "rule space"); len(points) > 0 {
		t.Errorf("without room for it: %v", points)
	}
	tell("40Mi", "")
	files, err := os.ReadDir(filepath.Join(folder, "sparse"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	file := filepath.Join(folder, "sparse", files[0].Name())
	loop := losetup("--noheadings", "--output", "NAME", "--associated", file)
	if got := strings.Fields(losetup("--noheadings", "--output", "PARTSCAN,DIO", loop)); got[0] != "1" || got[1] != direct(t, file) {
		t.Errorf("partscan and direct I/O of %s are %v", loop, got)
	}

	losetup("--detach", loop)
	removeLinks(t)                        // as udev does
	losetup("--find", "--partscan", file) // as a unit of MetalK8s does after a boot
	if points := tell("40Mi", ""); len(points) > 0 {
		t.Errorf("beside a loop device that is there: %v", points)
	}
	losetup("--find", file)
	tell("40Mi", "rule twin")
	tell("64Mi", "rule twin")
	dropLoops(t)(folder)
	tell("40Mi", "")
	reader, err := os.Open(losetup("--noheadings", "--output", "NAME", "--associated", file))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Second, func() { _ = reader.Close() })
	if err := os.Remove(filepath.Join(folder, "progress")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := start(t, run{Folder: folder, Root: "/", KillAt: -1, Operations: []operation{{Remove: sparse("data", "40Mi", api.Filesystem)}}}); err != nil {
		t.Errorf("while somebody reads the loop device: %v", err)
	}
	removeLinks(t)

	tell("40Mi", "")
	dropLoops(t)(folder)
	losetup("--find", "--offset", "1048576", file)
	if points := tell("40Mi", "rule twin"); len(points) > 0 {
		t.Errorf("beside a loop device over a part: %v", points)
	}
}

// direct says, as losetup does, whether a file can be read without the page cache.
func direct(t *testing.T, path string) string {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return "0"
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return "1"
}
