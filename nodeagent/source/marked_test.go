package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/source"
)

// TestLostJournal: what carries the mark of a Volume is found and erased without its journal; what does not is not.
func TestLostJournal(t *testing.T) {
	for name, v := range map[string]*api.Volume{
		"raw": raw("data", "S1", api.Filesystem), "raw block": raw("data", "S1", api.Block), "partition": part("data", "S1", "8Mi", api.Block),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "S1")
			b.do(operation{Apply: v, FS: "ext4"})
			if err := os.RemoveAll(filepath.Join(b.folder, "journal")); err != nil {
				t.Fatal(err)
			}
			b.begin()
			marked := func(name string, want bool) {
				t.Helper()
				of := *v
				of.Name = name
				got, err := b.engine.Marked(context.Background(), source.Request{Volume: &of})
				if err != nil || got != want {
					t.Errorf("Volume/%s is marked: %t, %v", name, got, err)
				}
			}
			marked("data", true)
			marked("other", false)
			b.do(operation{Remove: v})
			marked("data", false)
			if !allZero(t, filepath.Join(filepath.Dir(b.folder), "S1")) {
				t.Error("the disk is not zero")
			}
		})
	}
}

// vanish takes a disk from the machine.
func (b *bench) vanish(name string) {
	b.t.Helper()
	links, err := filepath.Glob(b.engine.Host.Path("/sys/class/block/" + name + "*"))
	for _, link := range links {
		err = errors.Join(err, os.Remove(link))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestAbandon: a Volume whose disk is dead is ended on the word of a person who names that disk, and only once
// nothing on the node has its identity or the mark. What may come back with it is not taken over silently.
func TestAbandon(t *testing.T) {
	b := newBench(t, "S1", "S2")
	data := raw("data", "S1", api.Filesystem)
	b.do(operation{Apply: data, FS: "ext4"})
	abandon := func(name, want string) {
		t.Helper()
		before := b.sums()
		err := b.engine.Abandon(context.Background(), source.Request{Volume: data}, name, "left")
		if got := text(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if strings.Join(before, "") != strings.Join(b.sums(), "") {
			t.Error("a disk was written to")
		}
	}
	for _, other := range []string{"S2", "", "S"} {
		abandon(other, `rule forget: the annotation poolwright.io/forget-disk is "`+other+`", which is neither the serial number nor the WWN of a disk of this Volume`)
	}
	abandon("S1", "rule forget: poolwright.io/forget-disk is not taken: the node has /dev/sda with wwn 0x5000000000000001, serial S1")
	// A copy of what was on it is there.
	dir := filepath.Dir(b.folder)
	content, err := os.ReadFile(filepath.Join(dir, "S1"))
	if err == nil {
		err = os.WriteFile(b.real("sdb"), content, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.vanish("sda")
	b.refused(operation{Remove: data}, guard.RuleNotFound, "no disk of this node has serial S1")
	uuid := b.engine.Cluster.Of(api.KindVolume, "data", "n1")
	abandon("S1", "rule forget: poolwright.io/forget-disk: S1 is not taken: something on this node carries the mark "+uuid+" of this Volume")
	if err := os.WriteFile(b.real("sdb"), make([]byte, diskSize), 0); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "storcli64"), []byte("#!/bin/sh\necho '{['\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tools := b.engine.Host.Tools.Folders
	b.engine.Host.Tools.Folders = append([]string{programs}, tools...)
	if err := b.engine.Abandon(context.Background(), source.Request{Volume: data}, "S1", ""); err == nil || !strings.Contains(err.Error(), "rule tool: what is behind the RAID controllers is not known: ") {
		t.Errorf("beside a controller that is not understood: %v", err)
	}
	b.engine.Host.Tools.Folders = tools
	abandon("0x5000000000000001", "")
	b.refused(operation{Apply: data, FS: "ext4"}, guard.RuleAdopt, "a Volume of this name was deleted and its data kept (left)")
}

// TestAbandonDrive: nor is a disk given up that a RAID controller has as a drive.
func TestAbandonDrive(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	standIn(t, folder, "storcli64", controller())
	engine, err := run{Folder: folder, Root: "/", Tools: []string{controllers(folder)}}.engine(nil)
	if err != nil {
		t.Fatal(err)
	}
	engine.Host = host.New("/")
	engine.Host.Tools.Folders = append([]string{controllers(folder)}, engine.Host.Tools.Folders...)
	err = engine.Abandon(context.Background(), source.Request{Volume: behind("drive", "FREE", api.Block, "raid0", "")}, "FREE", "")
	const want = "rule forget: poolwright.io/forget-disk is not taken: the RAID controller 0 has the drive 252:4 with serial FREE"
	if text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
