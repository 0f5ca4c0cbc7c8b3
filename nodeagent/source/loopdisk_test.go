package source_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/tool"
)

// diskSize is that of a loopDisk that does not say its own.
const diskSize = 64 << 20

// loopDisk is a disk of a machine that is a folder.
type loopDisk struct {
	serial string
	size   int64
	fill   func(t *testing.T, file string) // puts something on it, or is nil
}

// disksOf are empty disks.
func disksOf(serials ...string) (disks []loopDisk) {
	for _, serial := range serials {
		disks = append(disks, loopDisk{serial: serial})
	}
	return disks
}

// loopDisks is a machine that is a folder beside that of the agent, with disks: sda, sdb and so on, each a loop
// device over a file named by its serial number. reset makes all of it again.
func loopDisks(t *testing.T, disks ...loopDisk) (reset func(folder string)) {
	t.Helper()
	needLoops(t)
	tool.Need(t, "losetup")
	return func(folder string) {
		t.Helper()
		dir := filepath.Dir(folder)
		root := filepath.Join(dir, machineFolder)
		dropLoopDisks(t, dir)
		t.Cleanup(func() { dropLoopDisks(t, dir) })
		if err := errors.Join(os.RemoveAll(root), fixture.EmptyMachine(root), os.MkdirAll(controllers(folder), 0o700)); err != nil {
			t.Fatal(err)
		}
		for i, d := range disks {
			file := filepath.Join(dir, d.serial)
			if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, nil, 0o600), os.Truncate(file, cmp.Or(d.size, diskSize))); err != nil {
				t.Fatal(err)
			}
			if d.fill != nil {
				d.fill(t, file)
			}
			disk := fixture.LoopDisk{Root: root, Name: "sd" + string(rune('a'+i)), File: file, WWN: fmt.Sprintf("50000000000000%02x", i+1), Serial: d.serial}
			if _, err := disk.Attach(); err != nil {
				t.Fatal(err)
			}
		}
		// Programs are of this machine, and the devices are below the folder.
		for _, program := range []string{"wipefs", "e2fsck", "resize2fs"} {
			script := "#!/bin/sh\nfor a; do shift; case $a in /dev/*) a=" + root + "$a;; esac; set -- \"$@\" \"$a\"; done\nexec " + tool.Need(t, program) + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(controllers(folder), program), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// dropLoopDisks ends the loop devices over files of a folder, those over their nodes first.
func dropLoopDisks(t *testing.T, dir string) {
	t.Helper()
	for _, of := range []func(string) bool{
		func(path string) bool { return strings.HasPrefix(path, filepath.Join(dir, "node")) },
		func(path string) bool { return strings.HasPrefix(path, dir+"/") },
	} {
		if err := fixture.DetachLoops(of); err != nil {
			t.Error(err)
		}
	}
}
