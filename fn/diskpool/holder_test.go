package diskpool

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const facts = `
apiVersion: v1
kind: Node
metadata:
  name: worker-1
  labels:
    kubernetes.io/hostname: n1
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: one
  namespace: openebs
  labels:
    kubernetes.io/hostname: n1
spec:
  path: /dev/nvme0n1
  details:
    deviceType: disk
    serial: S1
  devlinks:
  - kind: by-id
    links:
    - /dev/disk/by-id/nvme-eui.0025385b71b0a1f2
    - /dev/disk/by-path/pci-0000:01:00.0-nvme-1
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: elsewhere
  namespace: openebs
  labels:
    kubernetes.io/hostname: n2
spec:
  path: /dev/nvme0n1
  details:
    deviceType: disk
    serial: S2
`

// TestHolds holds that a pool holds its disk however it names it, and no other.
func TestHolds(t *testing.T) {
	for uri, held := range map[string]bool{
		"/dev/nvme0n1":                                      true,
		"aio:///dev/nvme0n1":                                true,
		"aio:///dev/nvme0n1?blk_size=512":                   true,
		"uring:///dev/disk/by-id/nvme-eui.0025385b71b0a1f2": true,
		"/dev/disk/by-id/nvme-eui.0025385b71b0a1f2-part1":   true,
		"/dev/disk/by-path/pci-0000:01:00.0-nvme-1":         true,
		"pcie:///0000:01:00.0":                              true,
		"pcie:///0000:02:00.0":                              false,
		"/dev/nvme1n1":                                      false,
		"malloc:///disk?size_mb=64":                         false,
		"":                                                  false,
		"aio:///var/disks/file":                             false,
	} {
		for _, node := range []string{"worker-1", "n1"} {
			o := parse(t, fmt.Sprintf("apiVersion: openebs.io/v1beta3\nkind: DiskPool\nmetadata: {name: p, namespace: mayastor}\nspec: {node: %s, disks: [%q]}\n", node, uri))[0]
			ledger := disk.NewLedger(inventory.New(parse(t, facts)))
			ledger.Add(disk.Holder{Object: o.Ref, Source: disk.Live}, System{}.Holds(o))
			var holds []string
			for _, d := range ledger.Disks() {
				if len(d.Holders()) > 0 {
					holds = append(holds, d.Name().Name)
				}
			}
			if want := map[bool][]string{true: {"one"}}[held]; !slices.Equal(holds, want) {
				t.Errorf("%s on %s holds %v, want %v", uri, node, holds, want)
			}
		}
	}
}

func parse(t *testing.T, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
