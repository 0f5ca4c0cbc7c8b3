package localvolume

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// What LVM takes. The device mapper has 127 bytes for a name (DM_NAME_LEN):
// that of the group, a hyphen and that of the volume, in both of which each hyphen is doubled.
//
// Source: LVM2, VALID NAMES, lvm(8).
const (
	maxMapped = 126
	maxTag    = 1024
)

// underDev are names that every machine has below /dev, where LVM makes a folder for the
// group.
var underDev = regexp.MustCompile(`^(autofs|block|bsg|btrfs-control|bus|char|console|core|cpu|cpu_dma_latency|cuse|disk|dm-[0-9]+|dma_heap|dri|fb[0-9]*|fd|fd[0-9]+|full|fuse|hpet|hugepages|hwrng|initctl|input|kmsg|log|loop-control|loop[0-9]+|mapper|mcelog|md|md[0-9]+|mem|mqueue|nbd[0-9]+|net|ng[0-9]+n[0-9]+|null|nvme[0-9].*|nvram|port|ppp|ptmx|pts|ram[0-9]+|random|raw|rfkill|rtc[0-9]*|shm|sg[0-9]+|snapshot|snd|sr[0-9]+|stderr|stdin|stdout|(sd|hd|vd|xvd)[a-z]+[0-9]*|tty[A-Za-z0-9]*|uhid|uinput|urandom|userio|vcs[a-z0-9]*|vfio|vga_arbiter|vhci|vhost-.*|watchdog[0-9]*|zero|bcache[0-9]*|cdrom[0-9]*|dax[0-9]+.*|drbd[0-9]*|dvd|gpiochip[0-9]+|hidraw[0-9]+|i2c-[0-9]+|ipmi[0-9]+|kvm|lp[0-9]+|mei[0-9]+|mmcblk[0-9].*|mtd[0-9]+.*|pmem[0-9]+.*|rbd[0-9]*|tpm(rm)?[0-9]+|ubi[0-9]+.*|usb|usbmon[0-9]+|zd[0-9]+|zfs|zram[0-9]+|zvol)$`)

// checkNames holds the names of a group and of its logical volumes, its extents and its tags
// against the limits of LVM.
func (e *entry) checkNames() {
	if v := e.volume; v != nil {
		if v.source.kind != lvm {
			return
		}
		if length := mapped(v.source.vg, logicalName(v.name)); length > maxMapped {
			e.Report(finding.Error, "lvm-name", "spec.lvmLogicalVolume.vgName", "%s/%s is too long for the device mapper: %d bytes with each - twice, and at most %d; shorten the name of the group or of the Volume",
				v.source.vg, logicalName(v.name), length, maxMapped)
		}
		return
	}
	g, field := e.group, "spec.name"
	if e.Object.Node.Str("spec", "name") == "" {
		field = "metadata.name"
	}
	why := ""
	switch {
	case g.vg == "." || g.vg == ".." || strings.HasPrefix(g.vg, "-"):
		why = "is no name that LVM takes"
	case !e.was.exists() && (underDev.MatchString(g.vg) || e.host().isDisk(g.vg)):
		why = fmt.Sprintf("cannot be the name of a group: there is a /dev/%s", g.vg)
	case mapped(g.vg, "x") > maxMapped:
		why = fmt.Sprintf("is too long for the device mapper: %d bytes with each - twice, and at most %d with the name of a volume", mapped(g.vg, ""), maxMapped)
	}
	if why != "" {
		e.Report(finding.Error, "lvm-name", field, "%q %s; write another spec.name", g.vg, why)
	}
	if extent := g.extent.bytes; extent < 1<<10 || extent&(extent-1) != 0 && extent%(128<<10) != 0 {
		e.Report(finding.Error, "extent-size", "spec.physicalExtentSize", "is neither a power of two nor a multiple of 128Ki, as LVM wants it, but %s; write 4Mi", g.extent.text)
	}
	for _, key := range slices.Sorted(maps.Keys(g.tags)) {
		switch tag := key + "=" + g.tags[key]; {
		case len(tag) > maxTag:
			e.Report(finding.Error, "lvm-tag", "spec.tags", "%s is too long: %d characters as LVM has it, key=value, and at most %d", key, len(tag), maxTag)
		case strings.HasPrefix(key, "poolwright.io_"):
			e.Report(finding.Error, "lvm-tag", "spec.tags", "%s begins with poolwright.io_, as the marks of the node agent do; write another key", key)
		}
	}
}

// checkLogicalNames holds the logical volumes of one group against each other.
func checkLogicalNames(entries []*entry) {
	first := map[string]*entry{}
	for _, e := range entries {
		name := logicalName(e.volume.name)
		if other := first[name]; other != nil {
			e.Report(finding.Error, "names-meet", "metadata.name", "its logical volume would be called %s in group %s, as that of Volume %s is; rename one of them", name, e.volume.source.vg, other.volume.name)
			continue
		}
		first[name] = e
	}
}

// checkForeignVolumes looks for foreign logical volumes under the names of those that the Volumes get.
func (g *room) checkForeignVolumes(entries []*entry) {
	if g.reported == nil {
		return
	}
	for _, e := range entries {
		at := slices.IndexFunc(g.reported.volumes, func(lv logicalVolume) bool { return lv.name == logicalName(e.volume.name) })
		if at < 0 {
			continue
		}
		switch lv := g.reported.volumes[at]; {
		case lv.owner == ownerOf(volumeKind, e.volume.name):
		case lv.owner != "":
			e.Report(e.was.severity(), "volume-foreign", vgField, "group %s of node %s has a logical volume %s already, which is that of %s; give the Volume another name", g.vg, g.node, lv.name, lv.owner)
		case !wasMade(e.Facts, e.was.live) && !e.adopts():
			e.Report(e.was.severity(), "volume-foreign", vgField, "group %s of node %s has a logical volume %s already, which is not ours; give the Volume another name, or annotate it with %s and the UUID of that if it is to take it over", g.vg, g.node, lv.name, annotationAdopt)
		}
	}
}

// mapped is how long the device mapper's name of a logical volume is, without the hyphen
// between the group and the volume.
func mapped(vg, lv string) int {
	double := func(name string) int { return len(name) + strings.Count(name, "-") }
	return double(vg) + double(lv)
}

// logicalName is the name of the logical volume of a Volume: its own, but for what LVM keeps
// for itself.
func logicalName(volume string) string {
	if strings.HasPrefix(volume, "snapshot") || strings.HasPrefix(volume, "pvmove") {
		return "pw-" + volume
	}
	return volume
}
