package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// TestList: the programs of a node are reported with the version that each says itself, in its own words and on
// whichever output; those that are missing are reported as well, and the programs of RAID controllers are not run.
func TestList(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for name, script := range map[string]string{
		"lvm":       "echo '  LVM version:     2.03.16(2) (2022-05-18)'; echo '  Library version: 1.02.185 (2022-05-18)'",
		"mdadm":     "echo 'mdadm - v4.3 - 2024-02-15' >&2",
		"mkfs.ext4": "echo 'mke2fs 1.47.0 (5-Feb-2023)' >&2",
		"mkfs.xfs":  "echo 'mkfs.xfs version 6.1.0'",
		"udevadm":   "echo 252",
		"wipefs":    "exit 1",
		"storcli64": "echo 'Storage Command Line Tool 007.1'; : >" + ran,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tools := &host.Tools{Root: "/", Folders: []string{dir}}
	got := map[string]string{}
	for _, tool := range tools.List(t.Context()) {
		got[tool.Name] = fmt.Sprintf("%v %s", tool.Path != "", tool.Version)
	}
	for name, want := range map[string]string{
		"lvm": "true 2.03.16", "mdadm": "true 4.3", "mkfs.ext4": "true 1.47.0", "mkfs.xfs": "true 6.1.0", "udevadm": "true 252",
		"wipefs": "true ", "storcli64": "true ", "resize2fs": "false ", "ssacli": "false ",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of a RAID controller was run")
	}
}
