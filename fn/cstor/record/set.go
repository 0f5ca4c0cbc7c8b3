package record

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// Role is what a disk is for.
type Role string

// The roles.
const (
	Data  Role = "data"
	Cache Role = "cache"
	Spare Role = "spare"
	// Leaving is a disk that has left its pool, and that something running still shows there.
	Leaving Role = "leaving"
)

// Set is a CStorClusterStorageSet: the disks of a node. It is empty for a node that has none yet.
type Set struct {
	Hostname  string
	VolumesOf string            // the node by whose name its volumes are called, where that is another
	Devices   map[Role][]string // block devices, by name
	Known     map[string]Disk   // devices by name, also those that this run gives up
	Grown     Grown             // how the pool grew by itself

	Capacity    string       // the least that a data disk holds
	Provisioner *Provisioner // of cloud disks, or nil
}

// Disk is what a storage set remembers of a device.
type Disk struct {
	disk.Identity
	Role   Role   // what it was for
	Reason string // why it was chosen, one word
	Size   int64  // bytes that it had, 0 where that is not known
}

// Provisioner makes cloud disks, as a spec and a storage set have it.
type Provisioner struct {
	CSIAttacherName  string `json:"csiAttacherName"`
	StorageClassName string `json:"storageClassName"`
}

// Node writes it down.
func (p *Provisioner) Node() d.Node {
	return d.Object(
		d.F("csiAttacherName", d.Text(p.CSIAttacherName)),
		d.F("storageClassName", d.Text(p.StorageClassName)),
	)
}

func readSet(o *krm.Object) Set {
	devices := o.Node.Seq("spec", "blockDevices")
	s := Set{
		Hostname: o.Node.Str("spec", "node", "hostname"), VolumesOf: o.Node.Str("spec", "node", "volumesOf"),
		Devices: map[Role][]string{}, Known: make(map[string]Disk, len(devices)), Grown: readGrown(o.Node.Get("spec", "expansions")),
		Capacity: o.Node.Str("spec", "disk", "capacity"),
	}
	for i := range devices {
		device := &devices[i]
		name, was := device.Str("name"), Disk{Identity: Identity(device), Role: Role(device.Str("role")), Reason: device.Str("reason"), Size: number(device, "size")}
		s.Devices[was.Role] = append(s.Devices[was.Role], name)
		s.Known[name] = was
	}
	if p := o.Node.Get("spec", "externalProvisioner"); p != nil {
		s.Provisioner = &Provisioner{CSIAttacherName: p.Str("csiAttacherName"), StorageClassName: p.Str("storageClassName")}
	}
	return s
}

// Without is a set that no longer reserves some disks; it still knows them.
func (s Set) Without(disks []string) Set {
	s.Devices = maps.Clone(s.Devices)
	for role, names := range s.Devices {
		s.Devices[role] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(disks, name) })
	}
	return s
}

// Grown is how a pool grew by itself, as its storage set remembers it: a pool that is still shown as
// full as it was is not made larger once more.
type Grown struct {
	Count int   // how often
	Disks int   // how many data disks it has then
	Level int   // how full it was when the last was decided, in percent
	Size  int64 // what it held then, in bytes; 0 where that was not known
	Below bool  // it was seen below the threshold since then, where its size does not show that it has grown
}

func readGrown(n *d.Node) Grown {
	g := Grown{Count: int(number(n, "count")), Disks: int(number(n, "disks")), Level: int(number(n, "level")), Size: number(n, "size")}
	g.Below, _ = n.Get("below").Bool()
	return g
}

// Node writes it down.
func (g Grown) Node() d.Node {
	n := d.Object(d.F("count", d.Int(int64(g.Count))), d.F("disks", d.Int(int64(g.Disks))), d.F("level", d.Int(int64(g.Level))))
	if g.Size > 0 {
		n.Set("size", d.Int(g.Size))
	}
	if g.Below {
		n.Set("below", d.Bool(true))
	}
	return n
}

// Identity is what a storage set remembers a disk by.
func Identity(device *d.Node) disk.Identity {
	id := disk.Identity{WWN: disk.WWN(device.Str("wwn")), Serial: device.Str("serial")}
	if links := device.Seq("links"); len(links) > 0 {
		id.Links = make([]string, len(links))
		for i := range links {
			id.Links[i] = links[i].Value()
		}
	}
	return id
}
