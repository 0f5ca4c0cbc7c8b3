package tutorial_test

import (
	"fmt"
	"os"
	"os/exec"
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

// TestAdopting runs the way from pools that were made by hand to a package under Git, and
// holds that applying it changes neither the spec nor the generation of anything that lives.
func TestAdopting(t *testing.T) {
	cluster, reader := tutorial.Start(t, root, nil)
	state := func() (string, error) {
		cmd := exec.Command(cluster.Kubectl, "get", "cspc,cspi,bd,bdc,pvc,nodes", "-A", "-o",
			`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation} {.spec}{"\n"}{end}`)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
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
