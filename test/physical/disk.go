package physical

import (
	"fmt"
	"slices"
	"strings"
)

// Bus is how a disk is attached, which decides what its names are made of.
type Bus string

// The buses.
const (
	SATA      Bus = "sata"
	SAS       Bus = "sas"
	NVMe      Bus = "nvme"
	NVMeUUID  Bus = "nvme-uuid" // an NVMe disk that has a UUID and no EUI
	Virtio    Bus = "virtio"
	Bare      Bus = "bare" // no identity at all
	Multipath Bus = "multipath"
	ISCSI     Bus = "iscsi"
	EBS       Bus = "ebs"
	GCE       Bus = "gce"
	Azure     Bus = "azure"
	Cinder    Bus = "cinder"
)

// Host is a machine. It is one node at a time, and may have been others.
type Host struct {
	ID     string
	Name   string // of its node; "" while the cluster has none of it
	Label  string // the hostname label of its node
	UID    string
	Boot   int
	Groups string   // value of the label that specs select by
	Was    []string // names that it has had, and hostname labels
}

// Answers reports whether the name is that of the host now, or once was.
func (h *Host) Answers(name string) bool {
	return name != "" && (h.Name == name || h.Label == name || slices.Contains(h.Was, name))
}

// Place is where a disk is plugged in.
type Place struct {
	Host   *Host
	Slot   int
	Kernel string // such as sdb
	Path   string // the last part of its link below by-path
	PCI    string // the address of an NVMe disk
}

// Disk is a physical disk.
type Disk struct {
	ID                    string
	Bus                   Bus
	WWN                   string // lower case hexadecimal digits
	UUID                  string // of NVMe
	Serial, Vendor, Model string
	Handle                string // of the volume in a cloud
	Portal, IQN           string // of iSCSI
	LUN                   int
	Size                  int64
	Spins                 bool
	Places                []Place // none for a disk that is on a shelf

	Content      string   // what is on it: ext4, lvm ...; "" for nothing
	ContentLinks []string // below by-id, which name what is on it
	Mark         string   // <Kind>/<name> of the object whose mark is on it
	FSUUID       string
}

// IDLinks lists the links below by-id that name the disk itself, the most usual first.
func (d *Disk) IDLinks() []string {
	switch d.Bus {
	case SATA:
		return []string{"wwn-0x" + d.WWN, "ata-" + d.Model + "_" + d.Serial, "scsi-3" + d.WWN, "scsi-SATA_" + d.Model + "_" + d.Serial}
	case SAS:
		return []string{"wwn-0x" + d.WWN, "scsi-3" + d.WWN, "scsi-S" + d.Vendor + "_" + d.Model + "_" + d.Serial}
	case NVMe:
		return []string{"nvme-eui." + d.WWN, "nvme-" + d.Model + "_" + d.Serial}
	case NVMeUUID:
		return []string{"nvme-uuid." + d.UUID, "nvme-" + d.Model + "_" + d.Serial}
	case Virtio:
		return []string{"virtio-" + d.Serial}
	case Multipath:
		return []string{"dm-uuid-mpath-3" + d.WWN, "scsi-3" + d.WWN, "wwn-0x" + d.WWN}
	case ISCSI, Azure:
		return []string{"scsi-3" + d.WWN, "wwn-0x" + d.WWN}
	case EBS:
		return []string{"nvme-Amazon_Elastic_Block_Store_" + d.Serial, "nvme-Amazon_Elastic_Block_Store_" + d.Serial + "_1"}
	case GCE:
		return []string{"google-" + d.Handle, "scsi-0Google_PersistentDisk_" + d.Handle}
	case Cinder:
		return []string{"virtio-" + d.Handle[:20], "scsi-0QEMU_QEMU_HARDDISK_" + d.Handle}
	}
	return nil
}

// Links lists every link of the disk at a place, whole paths.
func (d *Disk) Links(at Place) []string {
	var links []string
	for _, id := range append(d.IDLinks(), d.ContentLinks...) {
		links = append(links, byID+id)
	}
	links = append(links, byPath+at.Path)
	if d.Bus == Azure {
		links = append(links, fmt.Sprintf("/dev/disk/azure/scsi1/lun%d", d.LUN))
	}
	if d.FSUUID != "" {
		links = append(links, "/dev/disk/by-uuid/"+d.FSUUID)
	}
	return links
}

const (
	byID   = "/dev/disk/by-id/"
	byPath = "/dev/disk/by-path/"
)

// On is the place of the disk on a host.
func (d *Disk) On(h *Host) (Place, bool) {
	i := slices.IndexFunc(d.Places, func(p Place) bool { return p.Host == h })
	if i < 0 {
		return Place{}, false
	}
	return d.Places[i], true
}

// World is what there is, whatever anybody says of it.
type World struct {
	Hosts   []*Host
	Disks   []*Disk
	Devices []*Device // BlockDevices, those that are out of date among them
	Entries []*Entry  // of NodeInventories
	Live    []*Live
	Bound   map[string][]*Disk // what a hold was on when it was made
	Names   map[string]*Disk   // of BlockDevices, also of those that are gone
	counter int
}

func (w *World) next() int {
	w.counter++
	return w.counter
}

// whole takes the number of a partition off a path.
func whole(path string) string {
	if name, part, found := strings.Cut(path, "-part"); found && part != "" && strings.Trim(part, "0123456789") == "" {
		return name
	}
	name, found := strings.CutPrefix(path, "/dev/")
	bare := strings.TrimRight(name, "0123456789")
	switch {
	case !found || bare == name || strings.Contains(name, "/"):
		return path
	case strings.HasPrefix(name, "nvme"):
		if disk, found := strings.CutSuffix(bare, "p"); found {
			return "/dev/" + disk
		}
		return path
	case strings.HasPrefix(name, "sd"), strings.HasPrefix(name, "vd"):
		return "/dev/" + bare
	}
	return path
}

// Named lists the disks that a path means on a node, wherever they are now. A link below by-id means
// the disk on that node that has it, or else any disk.
func (w *World) Named(node, path string) []*Disk {
	path = whole(path)
	hosts := w.hosts(node)
	var here, anywhere []*Disk
	for _, d := range w.Disks {
		for _, id := range append(d.IDLinks(), d.ContentLinks...) {
			if byID+id == path {
				anywhere = append(anywhere, d)
				break
			}
		}
		for _, at := range d.Places {
			if (node == "" || slices.Contains(hosts, at.Host)) && (path == "/dev/"+at.Kernel || slices.Contains(d.Links(at), path)) {
				here = append(here, d)
				break
			}
		}
	}
	if len(here) == 0 {
		return anywhere
	}
	return here
}

// hosts lists the machines that a node name or hostname label means: those that have it now, or
// else those that had it.
func (w *World) hosts(node string) []*Host {
	var now, once []*Host
	for _, h := range w.Hosts {
		switch {
		case node != "" && (h.Name == node || h.Label == node):
			now = append(now, h)
		case h.Answers(node):
			once = append(once, h)
		}
	}
	if len(now) == 0 {
		return once
	}
	return now
}

// Known lists the disks that have a WWN or a serial number, on a node where one there has it.
func (w *World) Known(node, wwn, serial string) []*Disk {
	var all, here []*Disk
	hosts := w.hosts(node)
	for _, d := range w.Disks {
		if wwn != "" && digits(wwn) != d.WWN && digits(wwn) != d.UUID || serial != "" && serial != d.Serial && !strings.EqualFold(serial, d.WWN) || wwn == "" && serial == "" {
			continue
		}
		all = append(all, d)
		if slices.ContainsFunc(d.Places, func(p Place) bool { return slices.Contains(hosts, p.Host) }) {
			here = append(here, d)
		}
	}
	if len(here) == 0 {
		return all
	}
	return here
}

// digits is what a WWN is, without what tools write before it.
func digits(wwn string) string {
	wwn = strings.ToLower(wwn)
	for _, prefix := range []string{"wwn-", "naa.", "eui.", "uuid.", "0x"} {
		wwn = strings.TrimPrefix(wwn, prefix)
	}
	return wwn
}
