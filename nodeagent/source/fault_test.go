package source_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/test/storcli"
	"github.com/poolwright/poolwright/test/tool"
)

// hangs is the fault that only a deadline ends.
const hangs = "hangs"

// hanging is the file in the folder of wrappers that has the process of a program that hangs.
const hanging = "hanging"

// faults are the ways in which a program fails. $REAL is the program, $@ its arguments.
var faults = map[string]string{
	hangs:                    `echo $$ > "$DIR/` + hanging + `"; exec sleep 600`,
	"fails with effect":      `"$REAL" "$@" >/dev/null; exit 5`,
	"fails without effect":   `echo "no" >&2; exit 5`,
	"succeeds, does nothing": `exit 0`,
	"prints half":            `out=$("$REAL" "$@"); code=$?; printf %s "$out" | head -c $((${#out} / 2)); exit $code`,
	"prints garbage":         `"$REAL" "$@" >/dev/null; code=$?; printf '{"signatures": \377{[ 7'; exit $code`,
}

// faultsOf are those of a program: one that answers in JSON has more.
func faultsOf(program string) map[string]string {
	if !storcli.Is(program) {
		return faults
	}
	all := maps.Clone(faults)
	for _, fault := range storcli.Faults() {
		all[fault] = fmt.Sprintf(`echo %q > "$(dirname "$REAL")/%s"; exec "$REAL" "$@"`, fault, storcli.FaultFile)
	}
	return all
}

// wrap puts a program before another, which spoils the next run of it as a file says.
func wrap(t *testing.T, dir, name string, folders ...string) {
	t.Helper()
	tools := host.New("/").Tools
	tools.Folders = append(folders, tools.Folders...)
	real, err := tools.Find(name)
	if err != nil {
		tool.Missing(t, err.Error())
	}
	script := fmt.Sprintf(`#!/bin/sh
REAL=%s DIR=%s
[ -e "$DIR/%[3]s.fault" ] || exec "$REAL" "$@"
mv "$DIR/%[3]s.fault" "$DIR/spoiled"
. "$DIR/spoiled"
`, real, dir, name)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestFaultsSparse spoils every run of every program that sparse volumes need.
func TestFaultsSparse(t *testing.T) {
	needLoops(t)
	if testing.Short() {
		t.Skip("skipped: it makes some hundred processes, which is no short test")
	}
	inject(t, []operation{
		{Apply: sparse("data", "40Mi", api.Filesystem), FS: "ext4"}, {Apply: sparse("data", "64Mi", api.Filesystem), FS: "ext4"},
	}, []string{"wipefs", "mkfs.ext4", "e2fsck", "resize2fs"}, dropLoops(t))
}

// TestFaultsDisks does the same for a group and a volume in it, for a partition, and for growth in use.
func TestFaultsDisks(t *testing.T) {
	one, scsi, nvme := machineDisk(t, "VBLK0001"), machineDisk(t, "SCSI0001"), machineDisk(t, "NVME0001")
	for _, test := range []struct {
		name     string
		disks    []*device.Device
		ops      []operation
		programs []string
	}{
		{"group and volume", []*device.Device{one, scsi}, []operation{
			{Group: group("fast", "VBLK0001")}, {Apply: logical("data", "fast", "50Mi", api.Filesystem), FS: "ext4"},
			{Group: group("fast", "VBLK0001", "SCSI0001")}, {Apply: logical("data", "fast", "90Mi", api.Filesystem), FS: "ext4"},
			{Remove: logical("data", "fast", "90Mi", api.Filesystem)}, {Ungroup: group("fast", "VBLK0001", "SCSI0001")},
		}, []string{"lvm", "wipefs", "mkfs.ext4", "e2fsck", "resize2fs"}},
		{"partition", []*device.Device{nvme}, []operation{
			{Apply: part("data", "NVME0001", "20Mi", api.Filesystem), FS: "ext4"}, {Apply: part("data", "NVME0001", "40Mi", api.Filesystem), FS: "ext4"},
			{Remove: part("data", "NVME0001", "40Mi", api.Filesystem)},
		}, []string{"wipefs", "mkfs.ext4", "e2fsck", "resize2fs"}},
		{"growth in use", []*device.Device{scsi}, []operation{
			{Apply: part("data", "SCSI0001", "304Mi", api.Filesystem), FS: "xfs"}, {Apply: part("data", "SCSI0001", "400Mi", api.Filesystem), FS: "xfs", Mounted: true},
		}, []string{"wipefs", "mkfs.xfs", "xfs_growfs"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			for _, d := range test.disks {
				names = append(names, d.Name)
			}
			inject(t, test.ops, test.programs, emptyDisks(t, test.disks...), names...)
		})
	}
}
