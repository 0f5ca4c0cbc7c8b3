// Package diskpool is the system of Mayastor DiskPools. Until the rest of it is built, it
// says which disks a DiskPool holds.
package diskpool

import (
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

const (
	group    = "openebs.io"
	poolKind = "DiskPool"
)

// System is the DiskPool system.
type System struct{ system.FactsOnly }

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "DiskPool",
		Kinds: []system.Kind{{
			GroupKind: krm.GroupKind{Group: group, Kind: poolKind}, Version: "v1beta3",
			Plural: "diskpools", Names: []string{"dsp"}, Holds: true, Health: true,
			Keep: "spec{node disks topology} status{cr_state pool_status}",
		}},
		Domains: []string{"openebs.io"},
	}
}

// Holds implements system.Holder: the disks of spec.disks on spec.node.
func (System) Holds(o *krm.Object) []disk.Hold {
	if o.Group() != group || o.Kind != poolKind {
		return nil
	}
	node := o.Node.Str("spec", "node")
	var holds []disk.Hold
	for _, uri := range o.Node.Seq("spec", "disks") {
		if hold, found := holdOf(node, uri.Value); found {
			hold.Role = "pool"
			holds = append(holds, hold)
		}
	}
	return holds
}

// holdOf reads a disk as Mayastor does: a path, aio:///dev/sdb?blk_size=512,
// uring:///dev/..., or pcie:///0000:01:00.0 for a disk that is taken from the kernel. What
// is no disk, such as malloc:///, is not found.
func holdOf(node, uri string) (hold disk.Hold, found bool) {
	uri, _, _ = strings.Cut(strings.TrimSpace(uri), "?")
	scheme, path, found := strings.Cut(uri, "://")
	if !found {
		scheme, path = "", uri
	}
	switch scheme {
	case "", "aio", "uring":
		path = "/" + strings.TrimLeft(path, "/")
		return disk.Hold{Identity: disk.ByPath(node, path)}, strings.HasPrefix(path, "/dev/")
	case "pcie", "nvme":
		address := "pci-" + strings.ToLower(strings.Trim(path, "/"))
		return disk.Hold{Node: node, Matches: func(d *disk.Disk) bool {
			return d.HasPath(func(path string) bool { return strings.Contains(strings.ToLower(path), address) })
		}}, address != "pci-"
	}
	return disk.Hold{}, false
}
