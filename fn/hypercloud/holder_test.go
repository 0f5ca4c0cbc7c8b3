package hypercloud

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// facts are two nodes with two disks each, of which one has no kernel name.
func facts() string {
	text := ""
	for _, d := range []struct{ node, name, path string }{
		{"n1", "n1-sdb", "/dev/sdb"}, {"n1", "n1-sdc", "/dev/sdc"}, {"n2", "n2-sdb", "/dev/sdb"}, {"n2", "n2-odd", "/dev/disk/by-path/pci-0-sas-1"},
	} {
		text += fmt.Sprintf(`---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: %[2]s
  namespace: openebs
  labels:
    kubernetes.io/hostname: %[1]s
spec:
  path: %[3]s
  details:
    deviceType: disk
    serial: %[2]s
  devlinks:
  - kind: by-id
    links: [/dev/disk/by-id/ata-%[2]s]
`, d.node, d.name, d.path)
	}
	return text
}

// TestHolds holds that a CephCluster holds what it names, and every disk that it could
// take.
func TestHolds(t *testing.T) {
	for storage, want := range map[string][]string{
		`{nodes: [{name: n1, devices: [{name: sdb}]}]}`:                                                        {"n1-sdb"},
		`{nodes: [{name: n1, devices: [{fullpath: /dev/disk/by-id/ata-n1-sdc}]}]}`:                             {"n1-sdc"},
		`{nodes: [{name: n1, devices: [{name: sdb, config: {metadataDevice: sdc}}]}]}`:                         {"n1-sdb", "n1-sdc"},
		`{nodes: [{name: n1, config: {metadataDevice: sdc}, deviceFilter: ^sdx}]}`:                             {"n1-sdc"},
		`{useAllDevices: true, nodes: [{name: n1}]}`:                                                           {"n1-sdb", "n1-sdc"},
		`{useAllDevices: true, nodes: [{name: n1, useAllDevices: false}, {name: n2, devices: [{name: sdb}]}]}`: {"n2-sdb"},
		`{useAllNodes: true, useAllDevices: true}`:                                                             {"n1-sdb", "n1-sdc", "n2-odd", "n2-sdb"},
		`{useAllNodes: true, deviceFilter: "^sd[c-f]"}`:                                                        {"n1-sdc", "n2-odd"}, // which may be sdc
		`{useAllNodes: true, devicePathFilter: "by-id/ata-.*-sdb$"}`:                                           {"n1-sdb", "n2-sdb"},
		`{useAllNodes: true, deviceFilter: "(unclosed"}`:                                                       {"n1-sdb", "n1-sdc", "n2-odd", "n2-sdb"},
		`{useAllNodes: true, devices: [{name: sdb}]}`:                                                          {"n1-sdb", "n2-sdb"},
		`{useAllNodes: false, useAllDevices: true}`:                                                            nil,
		`{storageClassDeviceSets: [{name: set1, count: 3}]}`:                                                   nil,
	} {
		o := parse(t, "apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: c, namespace: rook-ceph}\nspec: {storage: "+storage+"}\n")[0]
		if got := held(t, o); !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", storage, got, want)
		}
	}
	external := parse(t, "apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: c}\nspec: {external: {enable: true}, storage: {useAllNodes: true, useAllDevices: true}}\n")[0]
	if got := held(t, external); got != nil {
		t.Errorf("a cluster elsewhere holds %v", got)
	}
}

// held lists the disks that an object holds, sorted.
func held(t *testing.T, o *krm.Object) []string {
	t.Helper()
	ledger := disk.NewLedger(inventory.New(parse(t, facts())))
	ledger.Add(disk.Holder{Object: o.Ref, Source: disk.Live}, System{}.Holds(o))
	var names []string
	for _, d := range ledger.Disks() {
		if len(d.Holders()) > 0 {
			names = append(names, d.Name().Name)
		}
	}
	slices.Sort(names)
	return names
}

func parse(t *testing.T, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
