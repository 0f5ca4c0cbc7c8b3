package controller_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/tool"
)

// TestRestart holds that a second agent on a node does not start, and that run --dry-run and
// plan say what would be done and do nothing.
func TestRestart(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "process 1's mounts are root's to read")
	}
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c.apply(t, sparseVolume("data", "keep", "40Mi", "Filesystem"))
	token := c.token(t, "n1")
	flags := []string{"--kubeconfig", token, "--node", "n1", "--cluster", "test", "--state", folder}

	out, err := exec.Command(c.program, append([]string{"plan"}, flags...)...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1. create-file") || !strings.Contains(string(out), "3. make-filesystem") {
		t.Errorf("plan: %v\n%s", err, out)
	}
	dry := exec.Command(c.program, append([]string{"run", "--dry-run", "--listen", ""}, flags...)...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	dry.Stderr = log
	if err := dry.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dry.Process.Kill(); _ = dry.Wait() })
	if out, err := c.second(t, flags); err == nil || !strings.Contains(out, "another node agent runs") {
		t.Errorf("a second agent: %v\n%s", err, out)
	}
	await(t, "the dry run says nothing of the steps", func() (bool, string) {
		said, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(said), `"step":"create-file"`), string(said)
	})
	if files, _ := filepath.Glob(filepath.Join(folder, "sparse", "*")); len(files) > 0 {
		t.Errorf("a file was made: %v", files)
	}
	if got := c.get(t, volume, "data", "status"); got != "null" {
		t.Errorf("a status was written: %s", got)
	}
	if got := c.get(t, volume, "data", "metadata", "finalizers"); got != "null" {
		t.Errorf("a finalizer was written: %s", got)
	}

	out, err = exec.Command(c.program, "run", "--kubeconfig", token, "--state", folder).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--cluster") {
		t.Errorf("without a cluster's name: %v\n%s", err, out)
	}
}

// second starts another agent once the first has the lock.
func (c *cluster) second(t *testing.T, flags []string) (string, error) {
	t.Helper()
	var text string
	var failed error
	await(t, "the first agent has no lock", func() (bool, string) {
		out, err := exec.Command("timeout", append([]string{"3", c.program, "run", "--dry-run", "--listen", ""}, flags...)...).CombinedOutput()
		text, failed = string(out), err
		return strings.Contains(text, "another node agent runs"), text
	})
	return text, failed
}
