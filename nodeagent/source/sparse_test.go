package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/tool"
)

func sparse(name, size, mode string) *api.Volume {
	return &api.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.VolumeSpec{NodeName: "n1", Mode: mode, Sparse: &api.SparseLoopDevice{Size: size}},
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
