package diskpool

import (
	"cmp"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
)

// Holds implements system.Holder: the disks of spec.disks on spec.node, also under other
// links where the pool carries the identity of its disk.
func (System) Holds(o *krm.Object) []disk.Hold {
	if o.Group() != group || o.Kind != poolKind {
		return nil
	}
	node := o.Node.Str("spec", "node")
	mark := readMark(o.Annotation(annotationDisk))
	var holds []disk.Hold
	for _, uri := range o.Node.Seq("spec", "disks") {
		if hold, found := holdOf(node, uri.Value()); found {
			hold.Role = "pool"
			hold.Identity.WWN = cmp.Or(mark.wwn, hold.Identity.WWN)
			hold.Identity.Serial = mark.serial
			holds = append(holds, hold)
		}
	}
	return holds
}

// holdOf reads a disk as Mayastor does: a path, aio:///dev/sdb?blk_size=512,
// uring:///dev/..., or pcie:///0000:01:00.0 for a disk that is taken from the kernel. What
// is no disk, such as malloc:///, is not found.
func holdOf(node, uri string) (hold disk.Hold, found bool) {
	scheme, path := splitURI(uri)
	switch scheme {
	case "", "aio", "uring":
		path = "/" + strings.TrimLeft(path, "/")
		return disk.Hold{Identity: disk.ByPath(node, path)}, strings.HasPrefix(path, "/dev/")
	case "pcie", "nvme":
		// The kernel has such a disk no more, so that its node may not report it.
		address := "pci-" + strings.ToLower(strings.Trim(path, "/"))
		return disk.Hold{Node: node, Identity: disk.Identity{Node: node, Path: "/dev/disk/by-path/" + address + "-nvme-1"}, Matches: func(d *disk.Disk) bool {
			return d.HasPath(func(path string) bool { return strings.Contains(strings.ToLower(path), address) })
		}}, address != "pci-"
	}
	return disk.Hold{}, false
}

// splitURI takes a disk apart: its scheme, "" for a path, and what follows, without a
// query.
func splitURI(uri string) (scheme, path string) {
	uri, _, _ = strings.Cut(uri, "?")
	uri = strings.TrimSpace(uri)
	scheme, path, found := strings.Cut(uri, "://")
	if !found {
		return "", uri
	}
	return scheme, path
}
