package inventory

import (
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

func parse(t *testing.T, text string) []*krm.Object {
	t.Helper()
	src := &document.Source{Name: "test.yaml", Data: []byte(text)}
	objects, err := krm.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestVolumeLinks checks which of a node's device links show a volume. Names and
// ids are as the clouds give them.
func TestVolumeLinks(t *testing.T) {
	const cinder = "1d2c3b4a-5f6e-4a7b-8c9d-0e1f2a3b4c5d"
	lun := func(metadata string) *Attachment {
		facts := New(parse(t, `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: va},
  spec: {nodeName: n1, source: {persistentVolumeName: pv}}, status: {attached: true, attachmentMetadata: `+metadata+`}}`))
		return facts.Attachment("pv", "n1")
	}
	tests := []struct {
		name, driver, handle string
		attachment           *Attachment
		seen, unseen         []string
	}{
		{
			name: "GCE PD", driver: "pd.csi.storage.gke.io", handle: "projects/p/zones/europe-west4-a/disks/pvc-9287873a",
			seen:   []string{"/dev/disk/by-id/google-pvc-9287873a", "/dev/disk/by-id/scsi-0Google_PersistentDisk_pvc-9287873a"},
			unseen: []string{"/dev/disk/by-id/google-pvc-9287873a-part1", "/dev/disk/by-id/google-pvc-9287873ab", "/dev/disk/by-id/xgoogle-pvc-9287873a", "/dev/disk/by-id/google-PVC-9287873A"},
		},
		{
			name: "regional GCE PD", driver: "pd.csi.storage.gke.io", handle: "projects/p/regions/europe-west4/disks/pvc-1",
			seen:   []string{"/dev/disk/by-id/google-pvc-1"},
			unseen: []string{"/dev/disk/by-id/google-pvc-12"},
		},
		{
			name: "EBS", driver: "ebs.csi.aws.com", handle: "vol-0a1b2c3d4e5f60718",
			seen: []string{
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1b2c3d4e5f60718",
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1b2c3d4e5f60718_1",
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1b2c3d4e5f60718-ns-1",
			},
			unseen: []string{
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1b2c3d4e5f60718-part1",
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1b2c3d4e5f60718_1-part1",
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a1b2c3d4e5f607189",
				"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol-0a1b2c3d4e5f60718",
			},
		},
		{
			name: "Cinder", driver: "cinder.csi.openstack.org", handle: cinder,
			seen:   []string{"/dev/disk/by-id/virtio-1d2c3b4a-5f6e-4a7b-8", "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_" + cinder},
			unseen: []string{"/dev/disk/by-id/virtio-" + cinder, "/dev/disk/by-id/virtio-1d2c3b4a-5f6e-4a7b-8-part1", "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_1d2c3b4a-5f6e-4a7b-8"},
		},
		{
			name: "Azure", driver: "disk.csi.azure.com", handle: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/pvc-1",
			attachment: lun(`{lun: "1"}`),
			seen:       []string{"/dev/disk/azure/scsi1/lun1", "/dev/disk/azure/data/by-lun/1"},
			unseen:     []string{"/dev/disk/azure/scsi1/lun12", "/dev/disk/azure/scsi0/lun1", "/dev/disk/azure/scsi1/lun1-part1", "/dev/disk/azure/data/by-lun/1-part1", "/dev/disk/azure/data/by-lun/12", "/dev/disk/by-id/lun1", "/dev/disk/by-id/1"},
		},
		{
			name: "Azure, other case", driver: "disk.csi.azure.com", handle: "/x", attachment: lun(`{LUN: 0}`),
			seen: []string{"/dev/disk/azure/scsi1/lun0"}, unseen: []string{"/dev/disk/azure/scsi1/lun1"},
		},
		{
			name: "Azure, attachment unknown", driver: "disk.csi.azure.com", handle: "/x", attachment: nil,
			unseen: []string{"/dev/disk/azure/scsi1/lun", "/dev/disk/azure/scsi1/lun0"},
		},
		{
			name: "Azure, attachment without LUN", driver: "disk.csi.azure.com", handle: "/x", attachment: lun(`{devicePath: a}`),
			unseen: []string{"/dev/disk/azure/scsi1/lun", "/dev/disk/azure/scsi1/lun0"},
		},
		{
			name: "unknown driver", driver: "csi.example.com", handle: "vol-1",
			seen: []string{
				"/dev/disk/by-id/vol-1", "/dev/disk/by-id/scsi-vol-1", "/dev/disk/by-id/virtio-vol-1", "/dev/disk/by-id/nvme-vol-1",
				"/dev/disk/by-id/wwn-vol-1", "/dev/disk/by-id/pv", "/dev/disk/by-id/scsi-pv", "/dev/vg/vol-1/disk",
			},
			unseen: []string{"/dev/disk/by-id/vol-12", "/dev/disk/by-id/vol-1-part1", "/dev/disk/by-id/ata-vol-1", "/dev/disk/by-id/scsi-0vol-1", "/dev/disk/by-id/pv1", "/dev/disk/by-id/VOL-1"},
		},
		{
			name: "a handle that is a path", driver: "csi.example.com", handle: "zone/vol-1",
			seen: []string{"/dev/disk/by-id/pv"}, unseen: []string{"/dev/zone/vol-1", "/dev/disk/by-id/vol-1"},
		},
		{
			name: "no handle", driver: "pd.csi.storage.gke.io", handle: "",
			seen: []string{"/dev/disk/by-id/pv"}, unseen: []string{"/dev/disk/by-id/google-", "/dev/disk/by-id/scsi-0Google_PersistentDisk_", "/dev/disk/by-id/scsi-"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			find := func(link string) int {
				device := &BlockDevice{Name: "bd", Hostname: "n1", Links: []string{link, "/dev/disk/by-path/pci-0"}}
				elsewhere := &BlockDevice{Name: "root", Hostname: "n1", Links: []string{"/dev/disk/by-id/root"}}
				index := newLinkIndex([]*BlockDevice{device, elsewhere})
				return len(index.find(linksOf(test.driver, &Volume{Name: "pv", Driver: test.driver, Handle: test.handle}, test.attachment), "n1"))
			}
			for _, link := range test.seen {
				if find(link) != 1 {
					t.Errorf("%s does not show the volume", link)
				}
			}
			for _, link := range test.unseen {
				if find(link) != 0 {
					t.Errorf("%s shows the volume", link)
				}
			}
		})
	}
}

// A LUN is a number of one node; all nodes have a LUN 0.
func TestLUNsAreOfANode(t *testing.T) {
	var devices []*BlockDevice
	for _, host := range []string{"n1", "n2", "n3"} {
		devices = append(devices, &BlockDevice{Name: "bd-" + host, Hostname: host, Links: []string{"/dev/disk/azure/scsi1/lun0", "/dev/disk/by-id/vol"}})
	}
	index := newLinkIndex(devices)
	found := index.find(links{names: []string{"azure/scsi1/lun0"}, onNode: true}, "n2")
	if len(found) != 1 || found[0].Name != "bd-n2" {
		t.Errorf("LUN 0 of n2 is %v", found)
	}
	if all := index.find(links{names: []string{"vol"}}, "n2"); len(all) != 3 {
		t.Errorf("a name that should be unique is found on %d nodes, not 3", len(all))
	}
}

// Two attachments of one volume to one node: ours, and that of the controller.
func TestAttachmentsInAnyOrder(t *testing.T) {
	objects := parse(t, `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: b}, spec: {nodeName: n1, source: {persistentVolumeName: pv}}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: c}, spec: {nodeName: n1, source: {persistentVolumeName: pv}}, status: {attachmentMetadata: {LUN: "3"}}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: d}, spec: {nodeName: n1, source: {persistentVolumeName: pv}}, status: {attachmentMetadata: {LUN: "4"}}}
`)
	for range 2 {
		if got := New(objects).Attachment("pv", "n1").Metadata("lun"); got != "3" {
			t.Errorf("the LUN is %s, not 3", got)
		}
		slices.Reverse(objects)
	}
}
