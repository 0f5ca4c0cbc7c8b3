package cstor

import (
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
)

// links says by which names a node sees a volume: whole path components of a
// device link, or several of them. onNode is set when a name is unique on one
// node only.
type links struct {
	names  []string
	onNode bool
}

// linksOf follows the documented link names of the drivers; any other driver is
// known by its exact volume handle or the name of the volume.
func linksOf(driver string, v *inventory.Volume, a *inventory.Attachment) links {
	switch {
	case driver == "disk.csi.azure.com":
		lun := a.Metadata("LUN")
		if lun == "" {
			return links{}
		}
		return links{names: []string{"azure/scsi1/lun" + lun, "azure/data/by-lun/" + lun}, onNode: true}
	case v.Handle == "":
		driver = ""
	}
	switch driver {
	case "pd.csi.storage.gke.io":
		disk := v.Handle[strings.LastIndexByte(v.Handle, '/')+1:]
		return links{names: []string{"google-" + disk, "scsi-0Google_PersistentDisk_" + disk}}
	case "ebs.csi.aws.com":
		name := "nvme-Amazon_Elastic_Block_Store_" + strings.Replace(v.Handle, "-", "", 1)
		return links{names: []string{name, name + "_1", name + "-ns-1"}}
	case "cinder.csi.openstack.org":
		return links{names: []string{"virtio-" + v.Handle[:min(20, len(v.Handle))], "scsi-0QEMU_QEMU_HARDDISK_" + v.Handle}}
	}
	var names []string
	for _, id := range []string{v.Handle, v.Name} {
		if id == "" || strings.Contains(id, "/") {
			continue
		}
		names = append(names, id)
		for _, bus := range []string{"scsi-", "virtio-", "nvme-", "wwn-"} {
			names = append(names, bus+id)
		}
	}
	return links{names: names}
}

// volumesOn says which devices are PersistentVolumes, whoever attached them.
func volumesOn(facts *inventory.Facts, links func() linkIndex) map[*inventory.BlockDevice]*inventory.Volume {
	all, volumes := facts.Volumes(), map[*inventory.BlockDevice]*inventory.Volume{}
	if len(all) == 0 {
		return volumes
	}
	index := links()
	note := func(v *inventory.Volume, devices []*inventory.BlockDevice) {
		for _, d := range devices {
			if volumes[d] == nil {
				volumes[d] = v
			}
		}
	}
	for _, v := range all {
		note(v, index.find(linksOf(v.Driver, v, nil), ""))
		for _, node := range facts.AttachedTo(v.Name) {
			if n := facts.Node(node); n != nil {
				note(v, index.find(linksOf(v.Driver, v, facts.Attachment(v.Name, node)), n.Hostname))
			}
		}
		if _, id, found := strings.Cut(v.Path, "/by-id/"); found {
			note(v, index[id])
		}
	}
	return volumes
}

// linkIndex finds devices by the names in their links.
type linkIndex map[string][]*inventory.BlockDevice

// newLinkIndex indexes every component of every link, and its last three and four
// together, which is how Azure names a disk.
func newLinkIndex(devices []*inventory.BlockDevice) linkIndex {
	index := linkIndex{}
	for _, d := range devices {
		for _, link := range d.Links {
			parts := strings.Split(strings.Trim(link, "/"), "/")
			for i, part := range parts {
				index.add(part, d)
				if left := len(parts) - i; left == 3 || left == 4 {
					index.add(strings.Join(parts[i:], "/"), d)
				}
			}
		}
	}
	return index
}

func (x linkIndex) add(name string, d *inventory.BlockDevice) {
	if found := x[name]; len(found) == 0 || found[len(found)-1] != d {
		x[name] = append(found, d)
	}
}

// find returns the devices that carry any of the names, each once.
func (x linkIndex) find(l links, hostname string) []*inventory.BlockDevice {
	var found []*inventory.BlockDevice
	seen := map[*inventory.BlockDevice]bool{}
	for _, name := range l.names {
		for _, d := range x[name] {
			if !seen[d] && (!l.onNode || d.Hostname == hostname) {
				seen[d] = true
				found = append(found, d)
			}
		}
	}
	return found
}
