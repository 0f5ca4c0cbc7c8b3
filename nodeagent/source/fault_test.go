package source_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/test/storcli"
	"github.com/poolwright/poolwright/test/tool"
)

// faults are the ways in which a program fails. $REAL is the program, $@ its arguments.
var faults = map[string]string{
	"hangs":                  `echo $$ >> "$DIR/hanging"; exec sleep 600`,
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

// wrap puts a program before another, which notes its runs and spoils one of them.
func wrap(t *testing.T, dir, name, fault string, at int, folders ...string) {
	t.Helper()
	tools := host.New("/").Tools
	tools.Folders = append(folders, tools.Folders...)
	real, err := tools.Find(name)
	if err != nil {
		tool.Missing(t, err.Error())
	}
	script := fmt.Sprintf(`#!/bin/sh
REAL=%s DIR=%s
exec 9>>"$DIR/%[3]s.runs"; echo "$*" >&9; exec 9>&-
n=$(wc -l < "$DIR/%[3]s.runs")
[ "$n" -ne %[4]d ] && exec "$REAL" "$@"
%[5]s
`, real, dir, name, at, fault)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// runs are the arguments of each run of a program.
func runs(t *testing.T, dir, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".runs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(data)))
}

// inject spoils each run of each program in each way, once, lets the agent go on without
// faults, and compares what the machine has come to.
func inject(t *testing.T, operations []operation, programs []string, reset func(string), names ...string) int {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agent")
	wrappers := filepath.Join(t.TempDir(), "bin")
	t.Cleanup(func() { reset(folder) })
	begin := func(program, fault string, at int) run {
		reset(folder)
		for _, dir := range []string{folder, wrappers} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if program != "" {
			wrap(t, wrappers, program, fault, at, controllers(folder))
		}
		return run{Folder: folder, Root: machine(folder).Root, Operations: operations, KillAt: -1, Tools: []string{wrappers, controllers(folder)}}
	}
	if points, _, err := start(t, begin("", "", 0)); err != nil {
		t.Fatalf("without a fault: %v\n%s", err, strings.Join(points, "\n"))
	}
	want := summary(t, folder, names...)
	// All of them take hours where all is emulated, and half an hour where a RAID program is asked at every
	// look. One of eleven meets every program and every fault.
	every := 1
	switch {
	case os.Getenv(inMachine) != "":
		every = 11
	case slices.ContainsFunc(programs, storcli.Is):
		every = 41
	}
	if n, err := strconv.Atoi(os.Getenv("POOLWRIGHT_FAULTS_EVERY")); err == nil {
		every = max(n, 1)
	}
	injected, all := 0, 0
	for _, program := range programs {
		if _, _, err := start(t, begin(program, "", -1)); err != nil {
			t.Fatal(err)
		}
		commands := runs(t, wrappers, program)
		fmt.Printf("PROGRESS %s: %d runs of %s\n", t.Name(), len(commands), program)
		if len(commands) == 0 {
			t.Errorf("%s was not run", program)
		}
		for n, command := range commands {
			n++
			ways := faultsOf(program)
			for _, fault := range slices.Sorted(maps.Keys(ways)) {
				script := ways[fault]
				// A run that changes a controller is met by each.
				if all++; all%every != 0 && !(storcli.Is(program) && storcli.Writes(command)) {
					continue
				}
				injected++
				r := begin(program, script, n)
				if fault == "hangs" {
					r.Deadline = hangDeadline()
				}
				_, _, first := start(t, r)
				if hanging := hung(t, wrappers); hanging != 0 {
					// A program that writes is not killed: nothing is done for the object until it ends.
					_, _, err := start(t, run{Folder: folder, Root: machine(folder).Root, Operations: operations, KillAt: -1, Tools: []string{controllers(folder)}})
					if err == nil || !strings.Contains(err.Error(), "still runs") {
						t.Errorf("run %d of %s %s, and the agent went on beside it: %v", n, program, fault, err)
					}
					_ = syscall.Kill(hanging, syscall.SIGKILL)
					time.Sleep(100 * time.Millisecond)
				}
				r.Tools, r.Deadline = []string{controllers(folder)}, 0
				if _, _, err := start(t, r); err != nil {
					t.Errorf("run %d of %s %s (%v), then: %v", n, program, fault, first, err)
					continue
				}
				if got := summary(t, folder, names...); got != want {
					t.Errorf("run %d of %s %s (%v):\n%swant\n%s", n, program, fault, first, got, want)
				}
			}
		}
	}
	t.Logf("%d faults of %d", injected, all)
	return injected
}

// hung is the process of a program that hangs still, or 0.
func hung(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "hanging"))
	if err != nil {
		return 0
	}
	process, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(process, 0) != nil {
		return 0
	}
	return process
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

// TestFaultsDisks does the same for a group and a volume in it.
func TestFaultsDisks(t *testing.T) {
	one := machineDisk(t, "VBLK0001")
	inject(t, []operation{
		{Group: group("fast", "VBLK0001")}, {Apply: logical("data", "fast", "50Mi", api.Filesystem), FS: "ext4"},
		{Remove: logical("data", "fast", "50Mi", api.Filesystem)},
	}, []string{"lvm", "wipefs", "mkfs.ext4"}, emptyDisks(t, []*device.Device{one}...), one.Name)
}

// hangDeadline is how long a program is waited for: longer where all is emulated.
func hangDeadline() time.Duration {
	if os.Getenv(inMachine) != "" {
		return 30 * time.Second
	}
	return 2 * time.Second
}
