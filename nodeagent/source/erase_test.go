package source_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// bench is an agent in this process, and a machine that is a folder with loop devices as its disks.
type bench struct {
	t      *testing.T
	folder string
	engine *source.Engine
	at     func(step.Step, string)
}

func newBench(t *testing.T, serials ...string) *bench {
	t.Helper()
	b := &bench{t: t, folder: filepath.Join(t.TempDir(), "agent")}
	loopDisks(t, disksOf(serials...)...)(b.folder)
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	b.begin()
	return b
}

// begin is a new agent on the same machine.
func (b *bench) begin() {
	b.t.Helper()
	r := run{Folder: b.folder, Root: machine(b.folder).Root, Tools: []string{controllers(b.folder)}}
	var err error
	b.engine, err = r.engine(func(s step.Step, point string) {
		if b.at != nil {
			b.at(s, point)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) do(o operation) {
	b.t.Helper()
	if err := o.do(b.engine); err != nil {
		b.t.Fatal(err)
	}
}

// refused does an operation once, and holds that it is refused by a rule with a text, and that no byte of the
// disks is changed.
func (b *bench) refused(o operation, rule guard.Rule, text string) {
	b.t.Helper()
	before := b.sums()
	_, err := o.once(b.engine)
	var refusal guard.Refusal
	if !errors.As(err, &refusal) || refusal.Rule != rule || !strings.Contains(refusal.Text, text) {
		b.t.Errorf("%v, want the rule %s and %q", err, rule, text)
	}
	if after := b.sums(); !slices.Equal(before, after) {
		b.t.Errorf("a disk was written to, refused or not: %v", err)
	}
}

// sums are the checksums of the disks.
func (b *bench) sums() (sums []string) {
	b.t.Helper()
	unix.Sync()
	files, err := os.ReadDir(filepath.Dir(b.folder))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(b.folder), f.Name()))
		if err != nil {
			b.t.Fatal(err)
		}
		sums = append(sums, fmt.Sprintf("%s %x", f.Name(), sha256.Sum256(data)))
	}
	return sums
}

// real is the device of this machine behind one of the folder's.
func (b *bench) real(name string) string {
	b.t.Helper()
	path, err := filepath.EvalSymlinks(b.engine.Host.Path("/dev/" + name))
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

// export puts a loop device over a bind mount of a device's node, as kubelet does for a volume of mode Block, and
// returns what ends it.
func (b *bench) export(name string) (end func()) {
	b.t.Helper()
	node := filepath.Join(filepath.Dir(b.folder), "node-"+filepath.Base(name))
	if err := os.WriteFile(node, nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := unix.Mount(b.real(name), node, "", unix.MS_BIND, ""); err != nil {
		b.t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", node).Output()
	if err != nil {
		b.t.Fatal(err)
	}
	loop := filepath.Base(strings.TrimSpace(string(out)))
	if root := b.engine.Host.Root; root != "/" {
		if err := fixture.Show(root, loop); err != nil {
			b.t.Fatal(err)
		}
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		err := fixture.DetachLoops(func(path string) bool { return path == node })
		if root := b.engine.Host.Root; root != "/" {
			err = errors.Join(err, os.Remove(filepath.Join(root, "sys/class/block", loop)), os.Remove(filepath.Join(root, "dev", loop)))
		}
		if err := errors.Join(err, unix.Unmount(node, 0), os.Remove(node)); err != nil {
			b.t.Error(err)
		}
	}
	b.t.Cleanup(end)
	return end
}

// TestEraseAsksTheKernel: what somebody has through a loop device over a bind mount of the node, or open in
// whatever way, is not erased, and neither is what he had once he has ended another.
func TestEraseAsksTheKernel(t *testing.T) {
	for name, test := range map[string]struct {
		volume    *api.Volume
		neighbour *api.Volume
		fs        string
		device    string // whose node is exported
		open      string // or "" where the kernel says of no such device whether it is open
		under     string
	}{
		"raw, mode Block":             {volume: raw("data", "S1", api.Block), device: "sda1", open: "sda1", under: "/dev/sda1 is under /dev/loop"},
		"raw, the disk is exported":   {volume: raw("data", "S1", api.Block), device: "sda", under: "/dev/sda is under /dev/loop"},
		"raw, mode Filesystem":        {volume: raw("data", "S1", api.Filesystem), fs: "ext4", device: "sda", under: "/dev/sda is under /dev/loop"},
		"a partition":                 {volume: part("data", "S1", "8Mi", api.Block), neighbour: part("other", "S1", "8Mi", api.Block), device: "sda1", open: "sda1", under: "/dev/sda1 is under /dev/loop"},
		"a partition's disk exported": {volume: part("data", "S1", "8Mi", api.Block), device: "sda", under: "/dev/sda, which /dev/sda1 is on, is under /dev/loop"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "S1")
			b.do(operation{Apply: test.volume, FS: test.fs})
			if test.neighbour != nil {
				b.do(operation{Apply: test.neighbour, FS: test.fs})
				defer b.do(operation{Remove: test.neighbour})
			}
			remove := operation{Remove: test.volume}
			end := b.export(test.device)
			b.refused(remove, guard.RuleExported, test.under)
			end()
			if test.open != "" {
				user, err := os.OpenFile(b.real(test.open), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				b.refused(remove, guard.RuleClaimed, "/dev/"+test.open+" is open")
				if _, err := os.Stat(b.real(test.open)); err != nil {
					t.Errorf("the kernel lacks the partition of a refused erase: %v", err)
				}
				if err := user.Close(); err != nil {
					t.Fatal(err)
				}
			}
			b.do(remove)
		})
	}
}

// TestEraseHoldsTheDevice: the device that is erased is open exclusively before the first byte and after the last.
func TestEraseHoldsTheDevice(t *testing.T) {
	for name, test := range map[string]struct {
		volume *api.Volume
		kind   string
		device string
	}{
		"raw":       {raw("data", "S1", api.Block), step.Erase, "sda"},
		"partition": {part("data", "S1", "8Mi", api.Block), step.Erase, "sda1"},
		"table":     {part("data", "S1", "8Mi", api.Block), "clear-table", "sda"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "S1")
			b.do(operation{Apply: test.volume})
			looked := 0
			b.at = func(s step.Step, point string) {
				if s.Kind != test.kind || !slices.Contains([]string{"checked", "begun", "written"}, point) {
					return
				}
				looked++
				f, err := os.OpenFile(b.real(test.device), os.O_RDONLY|unix.O_EXCL, 0)
				if err == nil {
					_ = f.Close()
				}
				if !errors.Is(err, unix.EBUSY) {
					t.Errorf("%s at the point %s: somebody else had %s exclusively: %v", s.Kind, point, test.device, err)
				}
			}
			b.do(operation{Remove: test.volume})
			if looked != 3 {
				t.Errorf("%d points were looked at", looked)
			}
		})
	}
}

// TestEraseSparse: the file of a Volume that somebody has through a loop device over its partition's node stays,
// and so does its loop device.
func TestEraseSparse(t *testing.T) {
	needLoops(t)
	folder := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropLoops(t)(folder) })
	b := &bench{t: t, folder: folder}
	b.begin()
	data := sparse("data", "40Mi", api.Block)
	b.do(operation{Apply: data})
	result, err := b.engine.Plan(context.Background(), source.Request{Volume: data})
	if err != nil {
		t.Fatal(err)
	}
	end := b.export(result.Device.Name)
	b.refused(operation{Remove: data}, guard.RuleExported, result.Device.Path+" is under /dev/loop")
	files, err := os.ReadDir(filepath.Join(folder, "sparse"))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	end()
	if b.real(result.Device.Name) == "" {
		t.Error("its loop device is gone")
	}
	user, err := os.OpenFile(result.Device.Path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.refused(operation{Remove: data}, guard.RuleClaimed, result.Device.Path+" is open")
	if err := user.Close(); err != nil {
		t.Fatal(err)
	}
	b.do(operation{Remove: data})
}
