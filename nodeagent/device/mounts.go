package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// Mount is a line of mountinfo. Major is 0 for filesystems with a number of their own, such as btrfs and tmpfs.
type Mount struct {
	Major, Minor        uint32
	Root, Point, Source string
}

// ReadMounts reads what is mounted, in the view of process 1.
func ReadMounts(h host.Host) ([]Mount, error) {
	data, err := os.ReadFile(h.Path("/proc/1/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	var mounts []Mount
	for line := range strings.Lines(string(data)) {
		before, after, found := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(rest) < 2 {
			return nil, fmt.Errorf("mounts: the line %q is not understood", strings.TrimSpace(line))
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		mounts = append(mounts, Mount{number32(major), number32(minor), unescape(fields[3]), unescape(fields[4]), unescape(rest[1])})
	}
	return mounts, nil
}

// OnDevice reports whether the mount can be of a block device.
func (m Mount) OnDevice() bool { return m.Major != 0 || strings.HasPrefix(m.Source, "/dev/") }

// System reports whether the mount point belongs to the operating system.
func (m Mount) System() bool { return slices.Contains(systemMounts(), m.Point) }

// Kin are devices with all that they are on (disk, slaves) and all that is on them (partitions, holders).
type Kin struct {
	Names map[string]bool
	// Disks are the disks and multipath maps among them.
	Disks []*Device
	// OnDisk reports that a disk or a partition itself is mounted.
	OnDisk bool
}

// KinOf returns the kin of the mounted devices, and reads no others. An error means that they are not known.
func KinOf(h host.Host, mounts []Mount) (Kin, error) {
	kin, mounted := Kin{Names: map[string]bool{}}, map[string]bool{}
	for _, m := range mounts {
		name, err := m.device(h)
		if err != nil {
			return Kin{}, err
		}
		if name == "" {
			continue
		}
		kin.Names[name], mounted[name] = true, true
		for _, next := range []func(host.Host, string) ([]string, error){below, above} {
			if err := kin.walk(h, name, next); err != nil {
				return Kin{}, err
			}
		}
	}
	for name := range kin.Names {
		if strings.HasPrefix(name, "loop") {
			continue // no identity, and opening it can hang
		}
		d, err := scanOne(h, filepath.Join(classBlock, name), name)
		if err != nil {
			return Kin{}, err
		}
		isDisk := d.Kind == Disk || d.Multipath()
		if isDisk {
			kin.Disks = append(kin.Disks, d)
		}
		kin.OnDisk = kin.OnDisk || mounted[name] && (isDisk || d.Kind == Partition)
	}
	return kin, nil
}

// device returns the name of the mounted block device, or "".
func (m Mount) device(h host.Host) (string, error) {
	number := fmt.Sprintf("%d:%d", m.Major, m.Minor)
	if m.Major == 0 {
		var stat unix.Stat_t
		if err := unix.Stat(h.Path(m.Source), &stat); err != nil {
			return "", fmt.Errorf("%s: %w", m.Source, err)
		}
		if stat.Mode&unix.S_IFMT != unix.S_IFBLK {
			return "", nil // such as /dev/fuse
		}
		number = fmt.Sprintf("%d:%d", unix.Major(stat.Rdev), unix.Minor(stat.Rdev))
	}
	to, err := os.Readlink(h.Path("/sys/dev/block/" + number))
	if err != nil {
		return "", err
	}
	return filepath.Base(to), nil
}

func (k Kin) walk(h host.Host, name string, next func(host.Host, string) ([]string, error)) error {
	names, err := next(h, name)
	if err != nil {
		return err
	}
	for _, n := range names {
		k.Names[n] = true
		if err := k.walk(h, n, next); err != nil {
			return err
		}
	}
	return nil
}

// below returns the disk of a partition, and the slaves of a device.
func below(h host.Host, name string) ([]string, error) {
	real, err := filepath.EvalSymlinks(h.Path(filepath.Join(classBlock, name)))
	if err != nil {
		return nil, err
	}
	s := sysfs{dir: real}
	names := s.names("slaves")
	if s.has("partition") {
		names = append(names, filepath.Base(filepath.Dir(real)))
	}
	return names, nil
}

// above returns the partitions and the holders of a device.
func above(h host.Host, name string) ([]string, error) {
	real, err := filepath.EvalSymlinks(h.Path(filepath.Join(classBlock, name)))
	if err != nil {
		return nil, err
	}
	s := sysfs{dir: real}
	names := s.names("holders")
	for _, entry := range s.names(".") {
		if s.has(filepath.Join(entry, "partition")) {
			names = append(names, entry)
		}
	}
	return names, nil
}
