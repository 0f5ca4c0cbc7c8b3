package localvolume

import (
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const facts = `
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: one
  namespace: openebs
  labels:
    kubernetes.io/hostname: n1
spec:
  path: /dev/sdb
  details:
    deviceType: disk
    serial: S1
  devlinks:
  - kind: by-id
    links: [/dev/disk/by-id/wwn-0x5000c500a1b2c3d4]
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: two
  namespace: openebs
  labels:
    kubernetes.io/hostname: n1
spec:
  path: /dev/sdc
  details:
    deviceType: disk
    serial: S2
`

// TestHolds holds that a Volume and a VolumeGroup hold their disks by kernel name, link,
// partition, WWN and serial number.
func TestHolds(t *testing.T) {
	for object, want := range map[string][]string{
		`kind: Volume, spec: {nodeName: n1, rawBlockDevice: {devicePath: /dev/sdb}}`:                                 {"one"},
		`kind: Volume, spec: {nodeName: n1, rawBlockDevice: {devicePath: sdb1}}`:                                     {"one"},
		`kind: Volume, spec: {nodeName: n1, rawBlockDevice: {devicePath: /dev/disk/by-id/wwn-0x5000c500a1b2c3d4}}`:   {"one"},
		`kind: Volume, spec: {nodeName: n2, rawBlockDevice: {devicePath: /dev/sdb}}`:                                 nil,
		`kind: Volume, spec: {nodeName: n1, sparseLoopDevice: {size: 1Gi}}`:                                          nil,
		`kind: Volume, spec: {nodeName: n1, lvmLogicalVolume: {vgName: data, size: 1Gi}}`:                            nil,
		`kind: VolumeGroup, spec: {nodeName: n1, devices: [{wwn: "naa.5000C500A1B2C3D4", size: 1Ti}, {serial: S2}]}`: {"one", "two"},
		`kind: VolumeGroup, spec: {nodeName: n1, devices: [{devicePath: /dev/sdc}]}`:                                 {"two"},
		`kind: VolumeGroup, spec: {nodeName: n1, devices: [/dev/sdc, sdb]}`:                                          {"one", "two"},
		`kind: VolumeGroup, spec: {nodeName: n1, devices: [{size: 1Ti}]}`:                                            nil,
	} {
		o := parse(t, "{apiVersion: storage.metalk8s.scality.com/v1alpha1, metadata: {name: x}, "+object+"}")[0]
		ledger := disk.NewLedger(inventory.New(parse(t, facts)))
		ledger.Add(disk.Holder{Object: o.Ref, Source: disk.Live}, System{}.Holds(o))
		var got []string
		for _, d := range ledger.Disks() {
			if len(d.Holders()) > 0 {
				got = append(got, d.Name().Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", object, got, want)
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
