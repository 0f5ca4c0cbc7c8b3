package vm_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
	"github.com/poolwright/poolwright/test/vm"
)

const onNode = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: delete}
provisioner: kubernetes.io/no-provisioner
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
parameters: {fsType: ext4}
---
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: VolumeGroup
metadata: {name: fast, annotations: {poolwright.io/cascade: "true"}}
spec: {nodeName: n1, devices: [{serial: SCSI0001}]}
---
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: slice}
spec: {nodeName: n1, storageClassName: delete, mode: Filesystem, lvmLogicalVolume: {vgName: fast, size: 48Mi}}
---
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: whole}
spec: {nodeName: n1, storageClassName: delete, mode: Filesystem, rawBlockDevice: {disk: {serial: VBLK0001}}}
`

// late wants the disk of the group.
const late = `
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: late}
spec: {nodeName: n1, storageClassName: delete, mode: Filesystem, rawBlockDevice: {disk: {serial: SCSI0001}}}
`

const end = `
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: end}
spec: {nodeName: nowhere, storageClassName: delete, mode: Filesystem, rawBlockDevice: {disk: {serial: NONE}}}
`

// TestAPIServer runs the agent in a virtual machine against a real API server on this one: a group, a
// slice of it, a whole disk, and a Volume that wants the group's disk; then the group is deleted, with what is in it,
// once no claim has that.
func TestAPIServer(t *testing.T) {
	begin(t)
	vm.Built(t)
	kubectl := tool.Need(t, "kubectl")
	plane := controlplane.ForTest(t)
	root, dir := tool.Root(t), t.TempDir()
	program := buildAgent(t)
	kube := func(args ...string) (string, error) {
		out, err := exec.Command(kubectl, append([]string{"--kubeconfig", plane.Kubeconfig}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	apply := func(file string) {
		t.Helper()
		if out, err := kube("apply", "-f", file); err != nil {
			t.Fatal(out)
		}
	}
	for _, kind := range []string{"volumes.storage.metalk8s.scality.com", "volumegroups.storage.metalk8s.scality.com", "nodeinventories.poolwright.io"} {
		apply(filepath.Join(root, "deploy/crds", kind+".yaml"))
	}
	if err := plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	written := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	apply(written("objects.yaml", onNode))

	// What is looked at while the machine runs; it ends once there is a Volume of the node "nowhere".
	then, last := written("late.yaml", late), written("end.yaml", end)
	ended := make(chan error, 1)
	go func() {
		err := watch(kube, then)
		_, failed := kube("apply", "-f", last)
		ended <- errors.Join(err, failed)
	}()
	disks := []vm.Disk{vm.NewDisk(t, "virtio", "VBLK0001", "", 320<<20), vm.NewDisk(t, "scsi", "SCSI0001", "0x5000000000000001", 320<<20)}
	out, code := vm.Machine{Network: true, Memory: 2048, Disks: disks, Timeout: patience}.Run(t, `
exec 2>&1
/nodeagent run --kubeconfig /kubeconfig --node n1 --cluster test --state /var/lib/poolwright --listen "" &
until /nodeagent plan --kubeconfig /kubeconfig --node nowhere --cluster test --state /tmp/plan 2>/dev/null | grep -q Volume/end; do sleep 1; done
kill $!
`, map[string]string{"/nodeagent": program, "/kubeconfig": reachable(t, plane, dir)})
	if err := <-ended; err != nil || code != 0 {
		t.Errorf("%v; the machine ended with %d:\n%s", err, code, out)
	}
}

// watch looks at the life of the objects, from outside of the machine.
func watch(kube func(...string) (string, error), late string) error {
	until := func(want string, args ...string) error {
		var last string
		for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
			if last, _ = kube(args...); strings.Contains(last, want) {
				return nil
			}
		}
		return fmt.Errorf("kubectl %s says %q, want %q", strings.Join(args, " "), last, want)
	}
	field := func(kind, name, path, want string) error {
		return until(want, "get", kind, name, "-o", "jsonpath={"+path+"}")
	}
	claimed := func(by string) error {
		out, err := kube("patch", "pv", "slice", "--type=merge", "-p", `{"spec": {"claimRef": `+by+`}}`)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	for _, err := range []func() error{
		func() error { return field("volumegroup", "fast", ".status.phase", "Available") },
		func() error { return field("volume", "slice", ".status.phase", "Available") },
		func() error { return field("volume", "whole", ".status.phase", "Available") },
		func() error { return field("pv", "slice", ".spec.local.path", "/dev/disk/by-uuid/") },
		func() error { _, err := kube("apply", "-f", late); return err },
		func() error { return field("volume", "late", ".status.conditions[0].message", "rule ") },
		func() error { return field("volumegroup", "fast", ".status.volumes", "slice") },
		func() error {
			return field("nodeinventory", "n1", ".status.groups[0].volumes[0].owner", "Volume/slice")
		},
		// As long as a claim has one of its Volumes, the group takes none of them along.
		func() error { return claimed(`{"namespace": "default", "name": "data"}`) },
		func() error { return field("volume", "slice", ".status.claim", "default/data") },
		func() error { _, err := kube("delete", "volumegroup", "fast", "--wait=false"); return err },
		func() error { return field("volumegroup", "fast", ".status.conditions[0].message", "slice") },
		func() error {
			if at, err := kube("get", "volume", "slice", "-o", "jsonpath={.metadata.deletionTimestamp}"); err != nil || at != "" {
				return fmt.Errorf("with its group a Volume went that is claimed: %s, %v", at, err)
			}
			return nil
		},
		func() error { return claimed("null") },
		func() error { return until("not found", "get", "volume", "slice") },
		func() error { return until("not found", "get", "pv", "slice") },
		func() error { return until("not found", "get", "volumegroup", "fast") },
		// The disk is free now for whom it was refused.
		func() error { return field("volume", "late", ".status.phase", "Available") },
	} {
		if err := err(); err != nil {
			return err
		}
	}
	return nil
}

// reachable is a kubeconfig by which the machine reaches the API server.
func reachable(t *testing.T, plane *controlplane.ControlPlane, dir string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(plane.Kubeconfig)
	if err == nil {
		err = clientcmdapi.FlattenConfig(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		at, err := url.Parse(cluster.Server)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Server, cluster.TLSServerName = "https://"+vm.Gateway+":"+at.Port(), at.Hostname()
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
