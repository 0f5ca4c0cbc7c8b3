package controller_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/step"
	"github.com/poolwright/poolwright/test/tool"
)

// TestAttachVerb: nodeagent attach needs no API server and no flag but --state, and is refused while an agent runs. systemd
// accepts the unit that runs it.
func TestAttachVerb(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	program := built(t)
	folder := filepath.Join(t.TempDir(), "state")
	const uuid = "0d9c7c2e-27a1-5c14-9be3-6d1b3c9f5a10"
	file := filepath.Join(folder, "sparse", uuid)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, err := step.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Write(step.Entry{Object: "Volume/data", UUID: uuid, Made: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fixture.DetachLoops(func(path string) bool { return path == file }); err != nil {
			t.Error(err)
		}
	})
	attach := func() (string, error) {
		cmd := exec.Command(program, "attach", "--state", folder)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	agent, err := os.Create(filepath.Join(folder, "lock")) // of an agent that runs
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(agent.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if out, err := attach(); err == nil || !strings.Contains(out, "another node agent runs on this node") {
		t.Errorf("beside an agent: %v\n%s", err, out)
	}
	if err := agent.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := attach(); err != nil || !strings.HasPrefix(out, "Volume/data: /dev/loop") || !strings.HasSuffix(out, " is over "+file+"\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := attach(); err != nil || out != "" {
		t.Errorf("again: %v\n%s", err, out)
	}

	tool.Need(t, "systemd-analyze")
	unit, err := os.ReadFile(filepath.Join(tool.Root(t), "deploy/nodeagent/poolwright-attach.service"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(unit), "/usr/local/bin/nodeagent", program)
	if text == string(unit) {
		t.Error("the unit does not run nodeagent")
	}
	path := filepath.Join(t.TempDir(), "poolwright-attach.service")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || strings.Contains(string(out), path) {
		t.Errorf("%v\n%s", err, out)
	}
}
