package disk

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Disk is one report of a physical disk: a BlockDevice, an entry of a NodeInventory, or
// both where they are of one disk on one node. A disk that an object names and nobody
// reports is one, too: it is missing, and still held.
type Disk struct {
	Identity
	Device *inventory.BlockDevice // nil where the node disk manager does not report it
	Entry  *Entry                 // nil where no NodeInventory does
	name   inventory.Key          // of the BlockDevice, also of one that is missing

	class   *class
	alone   class     // of a disk whose identity no other report has
	sites   []*site   // where it is
	stray   bool      // its node is not among those of the facts
	holders []*Holder // of this very report: an object that holds many disks is one
	naming  []naming
	volumes []*inventory.Volume
}

// Name is the BlockDevice that the disk is known as, if it is known as one.
func (d *Disk) Name() inventory.Key { return d.name }

// Ref names the disk for people: one that only a node agent reports has no object, and is
// called by its node and path.
func (d *Disk) Ref() finding.Ref {
	if d.Device != nil {
		return d.Device.Object.Ref
	}
	return finding.Ref{Kind: Kind().Kind, Namespace: d.Node, Name: d.Path}
}

// Kind is that of a disk that has no object: no API server has it.
func Kind() krm.GroupKind { return krm.GroupKind{Kind: "Disk"} }

// IsCalled reports whether a person means the disk by the name of its BlockDevice, a serial
// number, a WWN, a link with or without its folder, or a path.
func (d *Disk) IsCalled(name string) bool {
	known := d.Known()
	links := known.Links
	if d.Entry != nil {
		links = slices.Concat(links, d.Entry.Links)
	}
	if d.Device != nil {
		links = slices.Concat(links, d.Device.Links)
	}
	return d.name.Name == name || known.Serial != "" && strings.EqualFold(known.Serial, name) || known.WWN != "" && known.WWN == WWN(name) || d.Path == name ||
		slices.ContainsFunc(links, func(link string) bool { return link == name || path.Base(link) == name })
}

// Missing reports whether nobody reports the disk now.
func (d *Disk) Missing() bool { return d.Device == nil && d.Entry == nil }

// Size is its capacity in bytes, 0 when it is not known.
func (d *Disk) Size() int64 {
	if d.Device != nil && d.Device.Capacity > 0 {
		return d.Device.Capacity
	}
	if d.Entry != nil {
		return d.Entry.Size
	}
	return 0
}

// Known is what both reports of the disk together know of its identity.
func (d *Disk) Known() Identity {
	if d.Entry == nil {
		return d.Identity
	}
	return d.Identity.With(d.Entry.Identity)
}

// Inactive reports whether the disk is not there: nobody reports it, the node disk manager says so,
// or its node is gone and has left its report behind.
func (d *Disk) Inactive() bool {
	return d.Missing() || d.Device == nil && d.stray || d.Entry == nil && d.Device.State == "Inactive"
}

// called names the disk for a message about another.
func (d *Disk) called() string {
	switch {
	case d.name.Name != "":
		return d.name.Name
	case d.Path != "":
		return d.Path + " on node " + d.Node
	}
	return d.Identity.String()
}

// Entry is one disk of a NodeInventory (poolwright.io/v1alpha1, status.disks[]).
type Entry struct {
	Identity   Identity    // as the node agent reports it
	Object     *krm.Object // the NodeInventory
	Links      []string    // all of them: by id, by path ...
	Model      string
	Size       int64 // bytes
	Rotational bool
	Transport  string
	Content    []string // what was recognised on it: ext4, lvm, zfs, gpt ...
	Partitions []string // paths
	Mounts     []string // paths
	Holder     string   // the kernel's, or <Kind>/<name>
	Owner      string   // <Kind>/<name> of the object whose mark is on it
	Usable     bool
	Reason     string // why not
	RAID       *RAID  // nil where no controller has it
}

// RAID is where a RAID controller has a disk.
type RAID struct {
	Controller      int64
	Enclosure, Slot *int64 // nil where that is not reported
}

func readRAID(n *document.Node) *RAID {
	if n == nil {
		return nil
	}
	r := &RAID{}
	r.Controller, _ = n.Get("controller").Int()
	if number, told := n.Get("enclosure").Int(); told {
		r.Enclosure = &number
	}
	if number, told := n.Get("slot").Int(); told {
		r.Slot = &number
	}
	return r
}

// readEntries reads the disks of a NodeInventory.
func readEntries(o *krm.Object) []*Disk {
	items := o.Node.Seq("status", "disks")
	disks := make([]*Disk, 0, len(items))
	for i := range items {
		n := &items[i]
		list := func(field string) []string {
			var values []string
			for _, v := range n.Seq(field) {
				values = append(values, v.Value())
			}
			return values
		}
		d := &Disk{
			Identity: Identity{
				WWN: WWN(n.Str("wwn")), Serial: n.Str("serial"), Links: wholeLinks(list("links")),
				Node: o.Name, Path: n.Str("path"),
			},
			Entry: &Entry{
				Object: o, Links: list("links"), Model: n.Str("model"), Transport: n.Str("transport"), Holder: n.Str("holder"), Owner: n.Str("owner"),
				Content: list("content"), Partitions: list("partitions"), Mounts: list("mounts"), Reason: n.Str("reason"),
			},
		}
		d.Entry.Identity, d.Entry.RAID = d.Identity, readRAID(n.Get("raid"))
		d.Entry.Size, _ = n.Get("size").Int()
		d.Entry.Rotational, _ = n.Get("rotational").Bool()
		d.Entry.Usable, _ = n.Get("usable").Bool() // what cannot be read is not usable
		disks = append(disks, d)
	}
	return disks
}

// Rank orders disks: the smallest that suffices first, then by identity.
func Rank(a, b *Disk) int {
	if by := cmp.Compare(a.Size(), b.Size()); by != 0 {
		return by
	}
	return cmp.Or(cmp.Compare(a.Identity.String(), b.Identity.String()), cmp.Compare(a.name.Name, b.name.Name))
}

// Holders lists who holds the disk, under whatever name, in the order in which they were
// added. Nobody changes them.
func (d *Disk) Holders() []*Holder {
	same := d.same()
	if len(same) == 1 {
		return d.holders
	}
	var all []*Holder
	for _, o := range same {
		all = append(all, o.holders...)
	}
	return all
}

// Others lists the other reports of the same disk, those of a disk that is missing among them.
func (d *Disk) Others() []*Disk {
	same := d.same()
	if len(same) == 1 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(same), func(o *Disk) bool { return o == d })
}

// Twin is another report with the same identity, or nil: then neither can be trusted. A
// disk that is back under another name has none: the old report is Inactive, and nobody
// holds it who does not hold the new one.
func (d *Disk) Twin() *Disk {
	for _, o := range d.same() {
		if o != d && !(o.Inactive() && o.heldWith(d)) {
			return o
		}
	}
	return nil
}

// heldWith reports whether all that holds a report holds another one, too: as what names a disk
// by its identity does.
func (d *Disk) heldWith(other *Disk) bool {
	return !slices.ContainsFunc(d.holders, func(h *Holder) bool { return !other.isHeldBy(h) })
}
