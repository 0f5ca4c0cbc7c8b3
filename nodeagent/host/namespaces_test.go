package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/host"
)

const insideEnv = "POOLWRIGHT_TEST_INSIDE"

// TestNamespaces: a program of the node runs in the namespaces of process 1 that its locks,
// semaphores, mounts and messages are in, whatever those of the agent are; the agent stays in its own.
func TestNamespaces(t *testing.T) {
	kinds := []string{"mnt", "ipc", "uts", "net"}
	of := func(process, kind string) string {
		link, err := os.Readlink(filepath.Join("/proc", process, "ns", kind))
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	if _, err := os.Readlink("/proc/1/ns/mnt"); err != nil && os.Getenv("POOLWRIGHT_TEST_MACHINE") == "" {
		t.Skip("skipped: who runs it may not look at process 1; make test-vm runs it in a virtual machine: " + err.Error())
	}
	if os.Getenv(insideEnv) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNamespaces$", "-test.v")
		cmd.Env = append(os.Environ(), insideEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	tools := host.New("/proc/1/root").Tools
	for _, kind := range kinds {
		// Not /proc/self, which shows the first thread: that may be one that has entered them, and is
		// never used again.
		own, first := of("thread-self", kind), of("1", kind)
		if own == first {
			t.Fatalf("the test is in the %s namespace of process 1", kind)
		}
		for _, writes := range []bool{false, true} {
			result, err := tools.Run(t.Context(), host.Command{Name: "readlink", Args: []string{"/proc/self/ns/" + kind}, Writes: writes})
			if err != nil || result.Failure("readlink") != nil {
				t.Fatalf("%v: %s", err, result.Said())
			}
			if got := strings.TrimSpace(string(result.Stdout)); got != first {
				t.Errorf("the program was in %s, and process 1 is in %s", got, first)
			}
			if now := of("thread-self", kind); now != own {
				t.Errorf("the agent has entered %s as well", now)
			}
		}
	}
}

// TestScope: where systemd is, what writes gets a unit of its own, out of reach of the end of the pod, and
// what only reads does not; where it is not, both are run as they are.
func TestScope(t *testing.T) {
	for _, systemd := range []bool{false, true} {
		root := t.TempDir()
		for _, folder := range []string{"usr/bin", "run"} {
			if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if systemd {
			if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"lvm", "systemd-run"} {
			if err := os.WriteFile(filepath.Join(root, "usr/bin", name), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		tools := &host.Tools{Root: root, Folders: []string{"/usr/bin"}, Enter: true}
		for _, writes := range []bool{false, true} {
			want := "/usr/bin/lvm vgs"
			if systemd && writes {
				want = "/usr/bin/systemd-run --scope --quiet --collect --slice=system.slice -- " + want
			}
			line, err := tools.Line(host.Command{Name: "lvm", Args: []string{"vgs"}, Writes: writes})
			if err != nil || strings.Join(line, " ") != want {
				t.Errorf("systemd %v, writes %v: %q, %v", systemd, writes, line, err)
			}
		}
	}
}
