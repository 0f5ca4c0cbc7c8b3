package inventory

import (
	"reflect"
	"testing"
)

// What identifies the disk of each source that a PersistentVolume can have.
func TestVolumeSource(t *testing.T) {
	for source, want := range map[string]Volume{
		"csi: {driver: d.example.com, volumeHandle: a/b}":                          {Driver: "d.example.com", Handle: "a/b"},
		"gcePersistentDisk: {pdName: old}":                                         {Driver: "pd.csi.storage.gke.io", Handle: "old"},
		"gcePersistentDisk: {pdName: old, partition: 2}":                           {Driver: "pd.csi.storage.gke.io", Handle: "old", Partition: 2},
		"awsElasticBlockStore: {volumeID: 'aws://eu-west-1a/vol-1', partition: 1}": {Driver: "ebs.csi.aws.com", Handle: "vol-1", Partition: 1},
		"awsElasticBlockStore: {volumeID: vol-1}":                                  {Driver: "ebs.csi.aws.com", Handle: "vol-1"},
		"cinder: {volumeID: 1d2c3b4a}":                                             {Driver: "cinder.csi.openstack.org", Handle: "1d2c3b4a"},
		"azureDisk: {diskURI: /subscriptions/s/disks/d}":                           {Driver: "disk.csi.azure.com", Handle: "d"},
		"vsphereVolume: {volumePath: '[ds1] volumes/d.vmdk'}":                      {Driver: VSpherePlugin, Handle: "[ds1] volumes/d.vmdk"},
		"local: {path: /dev/disk/by-path//p}":                                      {Path: "/dev/disk/by-path/p"},
		"hostPath: {path: /dev/sdb/, type: BlockDevice}":                           {Path: "/dev/sdb"},
		"fc: {wwids: [3600508b4, 'VENDOR MODEL 7']}":                               {FC: &FibreChannel{WWIDs: []string{"3600508b4", "VENDOR_MODEL_7"}}},
		"fc: {targetWWNs: [50060E801049CFD1, '0x50060e801049cfd2'], lun: 2}":       {FC: &FibreChannel{WWNs: []string{"50060e801049cfd1", "50060e801049cfd2"}, LUN: 2}},
		"iscsi: {targetPortal: 10.0.0.2, iqn: iqn.2001-04.com.example:d, lun: 1, portals: ['10.0.0.1:3261', '10.0.0.2:3260', '[fd00::1]']}": {
			ISCSI: &ISCSI{Portals: []string{"10.0.0.1:3261", "10.0.0.2:3260", "[fd00::1]:3260"}, IQN: "iqn.2001-04.com.example:d", LUN: 1},
		},
		"iscsi: {iqn: iqn.2001-04.com.example:d}": {ISCSI: &ISCSI{IQN: "iqn.2001-04.com.example:d"}},
		"nfs: {path: /x}":                         {},
	} {
		want.Name = "pv"
		facts := New(parse(t, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {"+source+"}}"))
		if got := facts.Volume("pv"); !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, want %+v", source, *got, want)
		}
	}
}
