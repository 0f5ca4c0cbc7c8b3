package controller_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TestMetalK8s holds that nothing is written while MetalK8s' own operator is there, and that
// its end is noticed.
func TestMetalK8s(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	links(t, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c.apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: storage-operator-controller-manager, namespace: kube-system}
spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: none}]}}}
`)
	c.apply(t, sparseVolume("data", "keep", "40Mi", "Filesystem"))
	c.start(t, c.token(t, "n1"), folder)
	await(t, "there is no NodeInventory", func() (bool, string) {
		got := c.get(t, inventory, "n1", "status", "bootID")
		return got != "" && got != "null" && !strings.HasPrefix(got, "error"), got
	})
	time.Sleep(2 * time.Second)
	if status, finalizers := c.get(t, volume, "data", "status"), c.get(t, volume, "data", "metadata", "finalizers"); status != "null" || finalizers != "null" {
		t.Errorf("beside MetalK8s' operator the agent wrote %s %s", status, finalizers)
	}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	if err := c.Resource(deployments).Namespace("kube-system").Delete(t.Context(), "storage-operator-controller-manager", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.phase(t, "data", "Available")
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
