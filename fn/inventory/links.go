package inventory

import (
	"slices"
	"strings"
)

// DevicesOf lists the block devices that show a volume of a driver which is attached to
// a node. What is unique on one node only is looked for on the host.
func (f *Facts) DevicesOf(v *Volume, driver, node, hostname string) []*BlockDevice {
	return f.links().find(linksOf(driver, v, f.Attachment(v.Name, node)), hostname)
}

// LinkName is a name that ends the links of the disk of a volume.
type LinkName struct {
	Name string
	Host string // the node on which the name is that of one disk; "" for a name that is on every node
	// Serial is the serial number of the disk, where the driver makes one of its handle; "" where
	// it is not known to.
	Serial string
}

// LinkNames lists by which names nodes see a volume. Volumes may be called anything, also disk or
// by-id: so a name counts only at the end of a link.
func (f *Facts) LinkNames(v *Volume) []LinkName {
	if v.Handle == "" {
		return nil
	}
	var found []LinkName
	for _, node := range append([]string{""}, f.AttachedTo(v.Name)...) {
		attachment := f.Attachment(v.Name, node)
		names := linksOf(v.Driver, v, attachment)
		if names.onNode && (f.Node(node) == nil || attachment.Detached) {
			continue
		}
		for _, name := range names.names {
			n := LinkName{Name: name, Serial: names.serial}
			if names.onNode {
				n.Host = node
			}
			if !slices.Contains(found, n) {
				found = append(found, n)
			}
		}
	}
	return found
}

// links says by which names a node sees a volume: whole path components of a
// device link, or several of them. onNode is set when a name is unique on one
// node only.
type links struct {
	names  []string
	onNode bool
	serial string // of the disk, where the driver makes it
}

// linksOf follows the documented link names of the drivers; any other driver is
// known by its exact volume handle or the name of the volume.
func linksOf(driver string, v *Volume, a *Attachment) links {
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
		return links{names: []string{"google-" + disk, "scsi-0Google_PersistentDisk_" + disk}, serial: disk}
	case "ebs.csi.aws.com":
		serial := strings.Replace(v.Handle, "-", "", 1)
		name := "nvme-Amazon_Elastic_Block_Store_" + serial
		return links{names: []string{name, name + "_1", name + "-ns-1"}, serial: serial}
	case "cinder.csi.openstack.org":
		return links{names: []string{"virtio-" + v.Handle[:min(20, len(v.Handle))], "scsi-0QEMU_QEMU_HARDDISK_" + v.Handle}, serial: v.Handle}
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

// linkIndex finds devices by the names in their links.
type linkIndex map[string][]*BlockDevice

// newLinkIndex indexes every component of every link, and its last three and four
// together, which is how Azure names a disk.
func newLinkIndex(devices []*BlockDevice) linkIndex {
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

func (x linkIndex) add(name string, d *BlockDevice) {
	if found := x[name]; len(found) == 0 || found[len(found)-1] != d {
		x[name] = append(found, d)
	}
}

// find returns the devices that carry any of the names, each once.
func (x linkIndex) find(l links, hostname string) []*BlockDevice {
	var found []*BlockDevice
	seen := map[*BlockDevice]bool{}
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
