package localvolume

import (
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// device is a disk as a Volume or a VolumeGroup names it: by the path of its device, or by
// what it is. What the lock remembers has both.
type device struct {
	path, wwn, serial string
	links             []string // of the lock
	size              amount
	field             string // where it is written, such as spec.rawBlockDevice.disk
}

// readDevice reads {devicePath}, {wwn, serial, size}, {disk: {...}}, or a path alone, as
// others write it.
func readDevice(n *document.Node, field string) device {
	d := device{path: n.Str("devicePath"), field: field}
	if n != nil && n.Kind() == document.Scalar {
		d.path = n.Value()
	} else if d.path != "" {
		d.field += ".devicePath"
	}
	if of := n.Get("disk"); of != nil {
		n, d.field = of, field+".disk"
	}
	d.wwn, d.serial = disk.WWN(n.Str("wwn")), strings.TrimSpace(n.Str("serial"))
	d.size = readAmount(n, "size")
	if d.path != "" {
		d.path = devicePath(d.path)
	}
	return d
}

// devicePath is the path of a device that is called by its kernel name alone.
func devicePath(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/dev/" + name
}

// sameWords reports whether a person names both in the same words.
func (d device) sameWords(other device) bool {
	return d.path == other.path && d.wwn == other.wwn && d.serial == other.serial
}

// empty reports whether nothing says which disk it is.
func (d device) empty() bool {
	return d.path == "" && d.wwn == "" && d.serial == "" && len(d.links) == 0
}

// identity is by what the ledger knows the disk.
func (d device) identity(node string) disk.Identity {
	id := disk.Identity{Node: node}
	if d.path != "" {
		id = disk.ByPath(node, d.path)
	}
	if d.wwn != "" {
		id.WWN = d.wwn
	}
	id.Serial = d.serial
	id.Links = append(id.Links, d.links...)
	return id
}

// hold is the hold on the disk.
func (d device) hold(node, role string) disk.Hold {
	return disk.Hold{Identity: d.identity(node), Role: role}
}

// String names the disk as it is written.
func (d device) String() string {
	if d.path != "" {
		return d.path
	}
	var parts []string
	for _, p := range []struct{ key, value string }{{"wwn", d.wwn}, {"serial", d.serial}, {"size", d.size.text}} {
		if p.value != "" {
			parts = append(parts, p.key+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

// lasts reports whether the disk is known by more than a path, which may be that of another one
// later.
func (d device) lasts() bool { return d.wwn != "" || d.serial != "" || len(d.links) > 0 }

// kernelName reports whether the disk is named by what the kernel calls it now: tomorrow
// that may be another one.
func (d device) kernelName() bool {
	name, found := strings.CutPrefix(d.path, "/dev/")
	return found && !strings.Contains(name, "/")
}

// differs says in what a disk is not the declared one, or "". What is not known of a disk is no
// difference where the object exists already: the lock knew the disk by more than is reported now.
func (d device) differs(there *disk.Disk, exists bool) string {
	known := there.Known()
	switch {
	case d.wwn != "" && known.WWN != d.wwn && !sharesWWN(there, d.wwn) && !(exists && known.WWN == ""):
		return "its WWN is " + orUnknown(known.WWN) + ", not " + d.wwn
	case d.serial != "" && strings.TrimSpace(known.Serial) != d.serial && !(exists && known.Serial == ""):
		return "its serial number is " + orUnknown(known.Serial) + ", not " + d.serial
	case d.size.text != "" && there.Size() > 0 && !d.size.is(there.Size()):
		return "it holds " + quantity.Size(there.Size()) + " (" + strconv.FormatInt(there.Size(), 10) + " bytes), not " + d.size.text
	}
	return ""
}

// sharesWWN reports whether a disk has a link that was made of a WWN: a BlockDevice shows
// of it only so.
func sharesWWN(there *disk.Disk, wwn string) bool {
	for _, link := range there.Known().Links {
		if disk.ByPath("", link).WWN == wwn {
			return true
		}
	}
	return false
}

func orUnknown(text string) string {
	if text == "" {
		return "not known"
	}
	return text
}
