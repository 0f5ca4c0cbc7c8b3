package source_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/source"
)

// wiped is a Volume that is erased in a way.
func wiped(v *api.Volume, policy string) *api.Volume {
	v.Spec.Wipe = policy
	return v
}

// write puts a secret on a disk of the bench, and returns what shows whether it is there.
func (b *bench) write(disk string, at int64) (there func() bool) {
	b.t.Helper()
	secret := []byte("somebody's secret")
	f, err := os.OpenFile(b.real(disk), os.O_WRONLY, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := f.WriteAt(secret, at); err != nil {
		b.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.t.Fatal(err)
	}
	return func() bool {
		b.t.Helper()
		b.sums() // syncs
		data, err := os.ReadFile(filepath.Join(filepath.Dir(b.folder), "S1"))
		if err != nil {
			b.t.Fatal(err)
		}
		return bytes.Contains(data, secret)
	}
}

// allocated is how much of a disk's file there is.
func (b *bench) allocated(serial string) int64 {
	b.t.Helper()
	info, err := os.Stat(filepath.Join(filepath.Dir(b.folder), serial))
	if err != nil {
		b.t.Fatal(err)
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	return stat.Blocks * 512
}

// TestWipe: with zeros all of a device is written, discarded it has no blocks any more, and reads as zeros either
// way. With none only what it is recognized by is taken away.
func TestWipe(t *testing.T) {
	for _, test := range []struct {
		policy, done string
		stays        bool
		least, most  int64 // of the disk's file, afterwards
	}{
		{"", api.WipeFull, false, diskSize - 8<<20, 2 * diskSize},
		{api.WipeFull, api.WipeFull, false, diskSize - 8<<20, 2 * diskSize},
		{api.WipeDiscard, api.WipeDiscard, false, 0, 8 << 20},
		{api.WipeNone, api.WipeNone, true, 0, diskSize / 2},
	} {
		for _, volume := range []*api.Volume{raw("data", "S1", api.Block), raw("data", "S1", api.Filesystem), part("data", "S1", "60Mi", api.Block)} {
			if test.policy == api.WipeDiscard && volume.Spec.Mode == api.Filesystem {
				continue // mkfs wants zeros of a file in memory, which takes what discarding needs from its loop device
			}
			name := test.policy + " " + volume.Spec.Mode
			if volume.Spec.Partition != nil {
				name += " partition"
			}
			t.Run(name, func(t *testing.T) {
				b := newBench(t, "S1")
				b.do(operation{Apply: wiped(volume, test.policy), FS: "ext4"})
				there := b.write("sda", 40<<20)
				var reports []guard.Wiping
				err := b.engine.Remove(t.Context(), source.Request{Volume: volume, Wiping: func(w guard.Wiping) { reports = append(reports, w) }})
				if err != nil {
					t.Fatal(err)
				}
				if there() != test.stays {
					t.Errorf("the data is there: %t", !test.stays)
				}
				if has := b.allocated("S1"); has < test.least || has > test.most {
					t.Errorf("the disk has %d bytes of blocks, want %d to %d", has, test.least, test.most)
				}
				if !test.stays && !allZero(t, b.real("sda")) {
					t.Error("the disk has something on it")
				}
				first := guard.Wiping{Policy: test.done, Size: reports[0].Size, Left: reports[0].Size}
				if reports[0] != first {
					t.Errorf("it begins with %+v", reports[0])
				}
				if last := reports[len(reports)-1]; last.Policy != test.done || last.Note != "" || !test.stays && last.Left != last.Size-16<<20 {
					t.Errorf("it told last of %+v", last)
				}
				b.do(operation{Apply: raw("next", "S1", api.Filesystem), FS: "ext4"}) // nothing that is recognized is left
			})
		}
	}
}

// TestWipeCutOff: an erase that is cut off is continued where it was, by the next agent and in the same way alone.
func TestWipeCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		volume *api.Volume
		next   string // policy
		from   int64  // what is left when the next agent begins
	}{
		"disk":           {raw("data", "S1", api.Filesystem), "", 48 << 20},
		"block":          {raw("data", "S1", api.Block), "", 48 << 20},
		"discard":        {wiped(raw("data", "S1", api.Filesystem), api.WipeDiscard), api.WipeDiscard, 48 << 20},
		"partition":      {part("data", "S1", "60Mi", api.Block), "", 44 << 20},
		"another policy": {wiped(raw("data", "S1", api.Filesystem), api.WipeDiscard), api.WipeFull, 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "S1")
			b.do(operation{Apply: test.volume, FS: "ext4"})
			b.killWiping(test.volume)
			var reports []int64
			b.begin()
			test.volume.Spec.Wipe = test.next
			err := b.engine.Remove(t.Context(), source.Request{Volume: test.volume, Wiping: func(w guard.Wiping) { reports = append(reports, w.Left) }})
			if err != nil {
				t.Fatal(err)
			}
			if want := []int64{test.from, test.from - 16<<20}; !slices.Equal(reports, want) {
				t.Errorf("it was left to be erased: %d, want %d", reports, want)
			}
			if !allZero(t, b.real("sda")) {
				t.Error("the disk has something on it")
			}
		})
	}
}

// killWiping removes a Volume with an agent that is killed on the way.
func (b *bench) killWiping(v *api.Volume) {
	b.t.Helper()
	_, killed, err := start(b.t, run{
		Folder: b.folder, Root: machine(b.folder).Root, Tools: []string{controllers(b.folder)}, KillAt: -1,
		Operations: []operation{{Remove: v, KillWiping: true}},
	})
	if err != nil || !killed {
		b.t.Fatalf("it was not killed: %v", err)
	}
}

// TestWipeUsedAgain: what is written after an erase that was cut off is erased, where the Volume was used again
// meanwhile: somebody has taken its finalizer off, and made it again.
func TestWipeUsedAgain(t *testing.T) {
	b := newBench(t, "S1")
	volume := raw("data", "S1", api.Filesystem)
	b.do(operation{Apply: volume, FS: "ext4"})
	b.killWiping(volume)
	b.begin()
	b.do(operation{Apply: volume, FS: "ext4"})
	there := b.write("sda", 60<<20)
	b.do(operation{Remove: volume})
	if there() {
		t.Error("the data is there")
	}
}
