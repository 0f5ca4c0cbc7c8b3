package tutorial_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/tutorial"
)

// byHand are pools that somebody wrote in an order of his own, each with its disks the
// other way round.
func byHand() string {
	text := "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: by-hand, namespace: openebs}\nspec:\n  pools:\n"
	for _, node := range []string{"stor-3", "stor-1", "stor-2"} {
		text += fmt.Sprintf(`  - nodeSelector: {kubernetes.io/hostname: %[1]s}
    dataRaidGroups:
    - blockDevices: [{blockDeviceName: blockdevice-%[1]s-1}, {blockDeviceName: blockdevice-%[1]s-0}]
    poolConfig: {dataRaidGroupType: mirror, compression: lz4}
`, node)
	}
	return text
}

// specs lists the objects of some kinds in the cluster, with uid, generation and spec.
func specs(cluster tutorial.Cluster, kinds string) (string, error) {
	cmd := exec.Command(cluster.Kubectl, "get", kinds, "-A", "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation} {.spec}{"\n"}{end}`)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestAdopting runs the way from pools that were made by hand to a package under Git, and
// holds that applying it changes neither the spec nor the generation of anything that exists.
func TestAdopting(t *testing.T) {
	cluster, reader := tutorial.Start(t, root, nil)
	state := func() (string, error) { return specs(cluster, "cspc,cspi,bd,bdc,pvc,nodes") }
	var before string
	reader.Meanwhile = map[string]func(tutorial.Shell) error{
		"by-hand": func(tutorial.Shell) error {
			if err := cluster.Manifests(byHand()); err != nil {
				return err
			}
			return cluster.Operate()
		},
		"remember": func(tutorial.Shell) (err error) {
			before, err = state()
			if pools := strings.Count(before, "CStorPoolInstance "); pools != 3 {
				t.Errorf("%d pools live, and there should be 3:\n%s", pools, before)
			}
			return err
		},
		"unchanged": func(tutorial.Shell) error {
			after, err := state()
			if after != before {
				t.Errorf("what lives was changed:\n%s\nbefore:\n%s", after, before)
			}
			owner, errOwner := cluster.Annotation("cspc", tutorial.Namespace, "by-hand", "poolwright.io/owner")
			if owner == "" {
				t.Error("what lives was not taken over")
			}
			if err == nil {
				err = errOwner
			}
			return err
		},
	}
	tutorial.Run(t, root+"/docs/adopting.md", reader)
}

// others are what the page does not show: pools that differ, DiskPools, and a CephCluster.
// $ID begins the by-id link of each disk.
const others = `
apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata: {name: uneven, namespace: openebs}
spec:
  pools:
  - nodeSelector: {kubernetes.io/hostname: stor-3}
    dataRaidGroups: [{blockDevices: [{blockDeviceName: blockdevice-stor-3-1}, {blockDeviceName: blockdevice-stor-3-0}]}]
    poolConfig: {dataRaidGroupType: mirror, compression: lz4}
  - nodeSelector: {kubernetes.io/hostname: stor-1}
    dataRaidGroups: [{blockDevices: [{blockDeviceName: blockdevice-stor-1-0}, {blockDeviceName: blockdevice-stor-1-1}]}]
    poolConfig: {dataRaidGroupType: mirror, compression: "off", roThresholdLimit: 90}
  - nodeSelector: {kubernetes.io/hostname: stor-2}
    dataRaidGroups: [{blockDevices: [{blockDeviceName: blockdevice-stor-2-1}]}]
    poolConfig: {dataRaidGroupType: stripe, compression: lz4, resources: {limits: {memory: 2Gi}}}
---
apiVersion: openebs.io/v1beta3
kind: DiskPool
metadata: {name: fast, namespace: openebs}
spec: {node: mayo-1, disks: [$ID(mayo-1,0)]}
---
apiVersion: openebs.io/v1beta3
kind: DiskPool
metadata: {name: pool-on-mayo-2, namespace: openebs}
spec: {node: mayo-2, disks: [$ID(mayo-2,1)]}
---
apiVersion: ceph.rook.io/v1
kind: CephCluster
metadata: {name: rook-ceph, namespace: rook-ceph}
spec:
  cephVersion: {image: quay.io/ceph/ceph:v20.2.4, allowUnsupported: false}
  dataDirHostPath: /var/lib/rook
  mon: {count: 3, allowMultiplePerNode: false}
  mgr: {count: 2, allowMultiplePerNode: false}
  dashboard: {enabled: true, ssl: true}
  monitoring: {enabled: false}
  disruptionManagement: {managePodBudgets: true}
  security: {cephx: {csi: {keyType: aes}}}
  storage:
    useAllNodes: false
    useAllDevices: false
    nodes:
    - {name: ceph-1, devices: [{name: $ID(ceph-1,0)}]}
    - {name: ceph-2, devices: [{name: $ID(ceph-2,1)}, {name: $ID(ceph-2,0)}]}
    - {name: ceph-3, devices: [{name: $ID(ceph-3,0)}]}
`

// TestAdoptingOthers goes the same way with shapes that the page does not show, in one package.
func TestAdoptingOthers(t *testing.T) {
	cluster, reader := tutorial.Start(t, root, []string{"openebs-diskpool.yaml", "rook-ceph.yaml"})
	if err := cluster.Join("mayo-1", "mayo-2", "ceph-1", "ceph-2", "ceph-3"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sh := func(exit int, commands string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", commands)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), reader.Env...)
		out, _ := cmd.CombinedOutput()
		t.Logf("$ %s\n%s", commands, out)
		if code := cmd.ProcessState.ExitCode(); code != exit {
			t.Fatalf("exit %d instead of %d", code, exit)
		}
		return string(out)
	}
	made := regexp.MustCompile(`\$ID\(([^,]*),(.)\)`).ReplaceAllStringFunc(others, func(id string) string {
		disk := strings.NewReplacer("$ID(", "", ",", "-", ")", "").Replace(id)
		return strings.TrimSpace(sh(0, "kubectl get bd -n openebs blockdevice-"+disk+" -o jsonpath='{.spec.devlinks[0].links[0]}'"))
	})
	if err := errors.Join(cluster.Namespace("rook-ceph"), cluster.Manifests(made), cluster.Operate()); err != nil {
		t.Fatal(err)
	}
	const kinds = "cspc,cspi,bd,bdc,diskpools.openebs.io,cephclusters,nodes"
	before, err := specs(cluster, kinds)
	if err != nil {
		t.Fatal(err, before)
	}
	sh(0, "poolwright inventory -O pools/inventory && poolwright convert pools -O pools")
	if plan := sh(2, "poolwright plan pools --against live"); !strings.Contains(plan, "0 to create, 4 to change, 0 to remove; all safe") {
		t.Error("the plan is to change more than marks")
	}
	sh(0, "kubectl apply --server-side -k pools/rendered")
	if after, err := specs(cluster, kinds); err != nil || after != before {
		t.Errorf("what lives was changed: %v\n%s\nbefore:\n%s", err, after, before)
	}
	sh(0, "poolwright inventory -O pools/inventory && poolwright render pools --check && poolwright plan pools --against live")
}
