package device

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/nodeagent/host"
)

const classBlock = "/sys/class/block"

// Scan reads all block devices of a machine. An error means that nothing may be concluded.
// A device that goes while it is read is left out.
func Scan(h host.Host) (*Devices, error) {
	dir, err := os.ReadDir(h.Path(classBlock))
	if err != nil {
		return nil, fmt.Errorf("block devices: %w", err)
	}
	links, err := readLinks(h)
	if err != nil {
		return nil, err
	}
	ds := &Devices{}
	for _, entry := range dir {
		d, err := scanOne(h, filepath.Join(classBlock, entry.Name()), entry.Name())
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		d.Links = links[d.Name]
		ds.All = append(ds.All, d)
	}
	slices.SortFunc(ds.All, func(a, b *Device) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range ds.All {
		inherit(ds, d)
	}
	if err := readUses(h, ds); err != nil {
		return nil, err
	}
	return ds, nil
}

// inherit gives a partition what only its disk knows.
func inherit(ds *Devices, d *Device) {
	if parent := ds.Named(d.Parent); parent != nil {
		d.Sector, d.Seq, d.Rotational, d.Transport = parent.Sector, parent.Seq, parent.Rotational, parent.Transport
	}
}

func scanOne(h host.Host, path, name string) (*Device, error) {
	numbers, err := os.ReadFile(h.Path(filepath.Join(path, "dev")))
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		return nil, os.ErrNotExist // it is going
	}
	real, err := filepath.EvalSymlinks(h.Path(path))
	if err != nil {
		return nil, err
	}
	s := sysfs{dir: real}
	// The kernel writes ! for a / in a name (cciss!c0d0).
	d := &Device{Name: name, Path: "/dev/" + strings.ReplaceAll(name, "!", "/"), Sector: 512}
	major, minor, ok := strings.Cut(strings.TrimSpace(string(numbers)), ":")
	if !ok {
		return nil, fmt.Errorf("%s: its number is %q", name, numbers)
	}
	d.Major, d.Minor = number32(major), number32(minor)
	sectors, err := strconv.ParseInt(s.text("size"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s: its size cannot be read: %w", name, err)
	}
	d.Size = sectors * 512 // of 512 bytes, whatever the disk's sectors are
	d.ReadOnly = s.text("ro") == "1"
	d.Removable = s.text("removable") == "1"
	d.Seq, _ = strconv.ParseUint(s.text("diskseq"), 10, 64)
	if sector, err := strconv.ParseInt(s.text("queue/logical_block_size"), 10, 64); err == nil {
		d.Sector = sector
	}
	d.Rotational = s.text("queue/rotational") == "1"
	d.Holders, d.Slaves = s.names("holders"), s.names("slaves")
	d.Mapped, d.UUID = s.text("dm/name"), s.text("dm/uuid")
	if d.UUID == "" {
		d.UUID = s.text("md/uuid")
	}
	if n, err := strconv.Atoi(s.text("partition")); err == nil {
		d.Number, d.Parent = n, filepath.Base(filepath.Dir(real))
		start, _ := strconv.ParseInt(s.text("start"), 10, 64)
		d.Start = start * 512
	}
	d.Kind = kindOf(d, s)
	if d.Kind == Loop {
		d.Backing = backing(h, d, s)
	}
	d.Transport = transport(real)
	identify(d, s)
	d.Settled = settled(h, d)
	return d, nil
}

var otherNames = regexp.MustCompile(`^(ram|zram|sr|fd|nbd|rbd|drbd|zd|dasd|pmem|ublkb|nvme\d+c\d+n)\d*|^mmcblk\d+(boot|rpmb|gp)\d*$`)

func kindOf(d *Device, s sysfs) Kind {
	switch {
	case d.Number > 0:
		return Partition
	case strings.HasPrefix(d.Name, "loop"):
		return Loop
	case s.has("dm"):
		return Mapper
	case s.has("md"):
		return MD
	case otherNames.MatchString(d.Name), s.text("hidden") == "1":
		return Other
	}
	return Disk
}

// transport finds out how a disk is attached by where it is in the tree of devices.
func transport(path string) string {
	for _, t := range []struct{ part, name string }{
		{"/usb", "usb"}, {"/virtio", "virtio"}, {"/nvme", "nvme"}, {"/ata", "sata"}, {"/end_device-", "sas"},
		{"/rport-", "fc"}, {"/session", "iscsi"}, {"/mmc_host", "mmc"}, {"/vbd-", "xen"}, {"/target", "scsi"},
	} {
		if strings.Contains(path, t.part) {
			return t.name
		}
	}
	return ""
}

// identify reads WWN, serial number and model from the kernel. What udev keeps of them is
// older than a disk that was swapped.
func identify(d *Device, s sysfs) {
	switch d.Kind {
	case Disk:
	case Mapper:
		if wwid, ok := strings.CutPrefix(d.UUID, "mpath-3"); ok {
			d.WWN = disk.WWN(wwid)
		}
		return
	default:
		return
	}
	d.Model = strings.Join(strings.Fields(s.text("device/model")), " ")
	for _, file := range []string{"wwid", "device/wwid"} {
		if wwn := wwid(s.text(file)); wwn != "" {
			d.WWN = wwn
			break
		}
	}
	if d.WWN == "" {
		d.WWN = page83(s.bytes("device/vpd_pg83"))
	}
	for _, serial := range []string{page80(s.bytes("device/vpd_pg80")), s.text("serial"), s.text("device/serial")} {
		if serial = strings.TrimSpace(strings.Trim(serial, "\x00")); serial != "" {
			d.Serial = serial
			break
		}
	}
}

// wwid reads the kernel's wwid. "t10." and "nvme." are made of model and serial number, and
// are no world wide names.
func wwid(text string) string {
	for _, prefix := range []string{"naa.", "eui."} {
		if digits, ok := strings.CutPrefix(text, prefix); ok && strings.Trim(digits, "0") != "" {
			return disk.WWN(digits)
		}
	}
	return ""
}

// page83 finds the NAA name of the logical unit (not of its port) in SCSI's page 0x83. Of
// several it takes the longest: NAA 6 has the extension that distinguishes units of one array.
func page83(page []byte) string {
	best := ""
	for at := 4; at+4 <= len(page); {
		kind, association, length := page[at+1]&0xf, page[at+1]>>4&3, int(page[at+3])
		if at+4+length > len(page) {
			break
		}
		if name := hex.EncodeToString(page[at+4 : at+4+length]); kind == 3 && association == 0 && len(name) > len(best) {
			best = name
		}
		at += 4 + length
	}
	return disk.WWN(best)
}

// page80 is the serial number in SCSI's page 0x80.
func page80(page []byte) string {
	if len(page) < 4 || 4+int(page[3]) > len(page) {
		return ""
	}
	return string(page[4 : 4+int(page[3])])
}

// settled reports whether udev has finished with a device. Where udev keeps no database
// there is none to wait for.
func settled(h host.Host, d *Device) bool {
	if _, err := os.Stat(h.Path("/run/udev/data")); err != nil {
		return true
	}
	_, err := os.Stat(h.Path(fmt.Sprintf("/run/udev/data/b%d:%d", d.Major, d.Minor)))
	return err == nil
}

// sysfs is a folder of the kernel.
type sysfs struct{ dir string }

func (s sysfs) bytes(name string) []byte {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return nil
	}
	return data
}

func (s sysfs) text(name string) string { return strings.TrimSpace(string(s.bytes(name))) }

func (s sysfs) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func (s sysfs) names(folder string) []string {
	dir, err := os.ReadDir(filepath.Join(s.dir, folder))
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range dir {
		names = append(names, entry.Name())
	}
	return names
}

func number32(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n)
}
