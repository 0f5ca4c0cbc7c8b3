package controller_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
	said := func(what string) func() (bool, string) {
		return func() (bool, string) {
			text, err := os.ReadFile(log.Name())
			return err == nil && strings.Contains(string(text), what), string(text)
		}
	}
	await(t, "the first agent has no lock", said("node agent started"))
	patient, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	second := exec.CommandContext(patient, c.program, append([]string{"run", "--dry-run", "--listen", ""}, flags...)...)
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another node agent runs") {
		t.Errorf("a second agent: %v\n%s", err, out)
	}
	await(t, "the dry run says nothing of the steps", said(`"step":"create-file"`))
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

// TestMetalK8sDefinition holds that nothing is made while MetalK8s' definition of Volume is in place,
// which drops what the agent has to remember, that this is reported, and that the agent goes on with ours.
func TestMetalK8sDefinition(t *testing.T) {
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	theirs := tool.Upstream(t, "metalk8s-volume.yaml")[0]
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	links(t, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	define := func(file string) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c.apply(t, string(data))
	}
	define(theirs)
	c.apply(t, sparseVolume("probe", "keep", "40Mi", "Filesystem"))
	await(t, "their definition is not served", func() (bool, string) {
		_, err := c.Resource(volume).Patch(t.Context(), "probe", types.MergePatchType, []byte(`{"status":{"uuid":"x"}}`), metav1.PatchOptions{}, "status")
		got := c.get(t, volume, "probe", "status", "uuid")
		return err == nil && got == "null", got
	})
	c.start(t, c.token(t, "n1"), folder)
	await(t, "it is not told", func() (bool, string) {
		got := c.get(t, volume, "probe", "status", "conditions")
		return strings.Contains(got, "apply deploy/crds") && strings.Contains(got, `"False"`), got
	})
	if files, _ := filepath.Glob(filepath.Join(folder, "*", "*")); len(files) > 0 {
		t.Errorf("something was made: %v", files)
	}
	define(filepath.Join(tool.Root(t), "deploy/crds/volumes.storage.metalk8s.scality.com.yaml"))
	c.phase(t, "probe", "Available")
}
