package inventory

import (
	"path"
	"slices"
	"strings"
)

// DevicesOf lists the block devices that show a volume of a driver which is attached to
// a node. What is unique on one node only is looked for on the host.
func (f *Facts) DevicesOf(v *Volume, driver, node, hostname string) []*BlockDevice {
	return f.links().find(linksOf(driver, v, f.Attachment(v.Name, node)), hostname)
}

// VolumesOn lists the PersistentVolumes that a block device is, whoever attached it:
// several where one was made anew for the same disk.
func (f *Facts) VolumesOn(d *BlockDevice) []*Volume { return f.volumesOn()[d] }

func (f *Facts) findVolumes() map[*BlockDevice][]*Volume {
	on := map[*BlockDevice][]*Volume{}
	for _, v := range f.Volumes() {
		for _, d := range f.showing(v) {
			if !slices.Contains(on[d], v) {
				on[d] = append(on[d], v)
			}
		}
	}
	return on
}

// showing lists the devices that show a volume wherever it is. Volumes may be called
// anything, also disk or by-id: so a name counts only at the end of a link.
func (f *Facts) showing(v *Volume) []*BlockDevice {
	var found []*BlockDevice
	for _, node := range append([]string{""}, f.AttachedTo(v.Name)...) {
		attachment := f.Attachment(v.Name, node)
		names := linksOf(v.Driver, v, attachment)
		if v.Handle == "" || names.onNode && (f.Node(node) == nil || attachment.Detached) {
			continue
		}
		hostname := ""
		if n := f.Node(node); n != nil {
			hostname = n.Hostname
		}
		found = append(found, slices.DeleteFunc(f.links().find(names, hostname), func(d *BlockDevice) bool { return !names.end(d.Links) })...)
	}
	if v.Path == "" {
		return found
	}
	for _, d := range f.links()[path.Base(v.Path)] {
		// by-id tells disks apart everywhere, any other path on its host alone.
		if slices.Contains(d.Links, v.Path) && (strings.Contains(v.Path, "/by-id/") || v.on(d.Hostname)) {
			found = append(found, d)
		}
	}
	candidates := f.Devices
	if v.Pinned {
		candidates = nil
		for _, host := range v.Hosts {
			candidates = append(candidates, f.DevicesOn(host)...)
		}
	}
	for _, d := range candidates {
		if d.Path == v.Path {
			found = append(found, d)
		}
	}
	return found
}

// on reports whether a local volume is on a host, as far as it says where it is.
func (v *Volume) on(hostname string) bool {
	return !v.Pinned || slices.Contains(v.Hosts, hostname)
}

// end reports whether one of the links ends in one of the names.
func (l links) end(devlinks []string) bool {
	return slices.ContainsFunc(l.names, func(name string) bool {
		return slices.ContainsFunc(devlinks, func(link string) bool { return strings.HasSuffix(link, "/"+name) })
	})
}

// links says by which names a node sees a volume: whole path components of a
// device link, or several of them. onNode is set when a name is unique on one
// node only.
type links struct {
	names  []string
	onNode bool
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
