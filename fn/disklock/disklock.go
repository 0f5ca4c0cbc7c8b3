// Package disklock is Poolwright's own memory of the disks of a spec: by what the disks of its objects
// are known, and the disks of objects that are no longer rendered, and that may still exist in the
// cluster.
package disklock

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	group   = "poolwright.io"
	version = "v1alpha1"
	kind    = "DiskLock"

	// File is the file of a DiskLock in the folder of its spec.
	File = "disklock.yaml"
)

// Kind is that of a DiskLock.
func Kind() krm.GroupKind { return krm.GroupKind{Group: group, Kind: kind} }

// Is reports whether an object is a DiskLock.
func Is(o *krm.Object) bool { return o.GroupKind() == Kind() }

// Lock is the content of a DiskLock.
type Lock struct {
	Disks    []Disk // of what is rendered
	Released []Disk // of objects that are no longer rendered
}

// Disk is a disk of an object.
type Disk struct {
	Holder   finding.Ref   // the object
	Device   inventory.Key // the BlockDevice that it is, if the object names one
	Identity disk.Identity // what is known of it
	Role     string        // what it was for, or ""
	Size     int64         // bytes, 0 where it is not known
	Applied  bool          // a snapshot has shown it in the running object, of a kind whose disks come and go

	released bool // in a Memory: the object is no longer rendered
}

// Hold is the disk as the ledger knows it.
func (e *Disk) Hold() disk.Hold {
	return disk.Hold{Device: e.Device, Identity: e.Identity, Role: e.Role}
}

// String names the disk for people.
func (e *Disk) String() string {
	switch {
	case e.Device.Name != "":
		return "BlockDevice " + e.Device.Name
	case e.Identity.Node != "":
		return e.Identity.String() + " of node " + e.Identity.Node
	}
	return e.Identity.String()
}

// Compare orders disks by their holders, then by their names.
func (e *Disk) Compare(other *Disk) int {
	return cmp.Or(
		cmp.Compare(e.Holder.Kind, other.Holder.Kind), cmp.Compare(e.Holder.Namespace, other.Holder.Namespace), cmp.Compare(e.Holder.Name, other.Holder.Name),
		cmp.Compare(e.Device.Name, other.Device.Name), cmp.Compare(e.Identity.Node, other.Identity.Node), cmp.Compare(e.Identity.String(), other.Identity.String()),
	)
}

// Read reads a DiskLock.
func Read(o *krm.Object) Lock {
	return Lock{Disks: readDisks(o.Node.Seq("spec", "disks")), Released: readDisks(o.Node.Seq("spec", "released"))}
}

// Of reads the DiskLock among what was rendered for a spec; an empty one where there is none.
func Of(before []*krm.Object) Lock {
	if i := slices.IndexFunc(before, Is); i >= 0 {
		return Read(before[i])
	}
	return Lock{}
}

// Alone reports whether none of what was rendered for a spec is anything but its DiskLock.
func Alone(before []*krm.Object) bool {
	return !slices.ContainsFunc(before, func(o *krm.Object) bool { return !Is(o) })
}

func readDisks(items []d.Node) []Disk {
	disks := make([]Disk, 0, len(items))
	for i := range items {
		n := &items[i]
		holder := n.Get("holder")
		e := Disk{
			Holder:   finding.Ref{APIVersion: holder.Str("apiVersion"), Kind: holder.Str("kind"), Namespace: holder.Str("namespace"), Name: holder.Str("name")},
			Identity: disk.Identity{WWN: disk.WWN(n.Str("wwn")), Serial: n.Str("serial"), Node: n.Str("node"), Path: n.Str("path")},
			Role:     n.Str("role"),
		}
		e.Size, _ = n.Get("size").Int()
		e.Applied, _ = n.Get("applied").Bool()
		if name := n.Str("blockDevice"); name != "" {
			e.Device = inventory.Key{Namespace: e.Holder.Namespace, Name: name}
		}
		for _, link := range n.Seq("links") {
			e.Identity.Links = append(e.Identity.Links, link.Value())
		}
		disks = append(disks, e)
	}
	return disks
}

// Make writes the DiskLock of a spec, or nil where there is nothing to remember.
func (l *Lock) Make(spec krm.ID) *krm.Object {
	content := d.Object()
	if len(l.Disks) > 0 {
		content.Set("disks", list(l.Disks))
	}
	if len(l.Released) > 0 {
		content.Set("released", list(l.Released))
	}
	if len(content.Fields()) == 0 {
		return nil
	}
	return krm.Make(group+"/"+version, kind, "", Name(spec), d.F("spec", content))
}

func list(disks []Disk) d.Node {
	items := make([]d.Node, len(disks))
	for i := range disks {
		items[i] = disks[i].node()
	}
	return d.List(items...)
}

func (e *Disk) node() d.Node {
	holder, fields := make([]d.Field, 0, 4), make([]d.Field, 0, 9)
	add := func(to *[]d.Field, key, value string) {
		if value != "" {
			*to = append(*to, d.F(key, d.Text(value)))
		}
	}
	add(&holder, "apiVersion", e.Holder.APIVersion)
	add(&holder, "kind", e.Holder.Kind)
	add(&holder, "namespace", e.Holder.Namespace)
	add(&holder, "name", e.Holder.Name)
	fields = append(fields, d.F("holder", d.Object(holder...)))
	add(&fields, "blockDevice", e.Device.Name)
	add(&fields, "node", e.Identity.Node)
	add(&fields, "wwn", e.Identity.WWN)
	add(&fields, "serial", e.Identity.Serial)
	if len(e.Identity.Links) > 0 {
		links := make([]d.Node, len(e.Identity.Links))
		for i, link := range e.Identity.Links {
			links[i] = d.Text(link)
		}
		fields = append(fields, d.F("links", d.List(links...)))
	}
	add(&fields, "path", e.Identity.Path)
	if e.Size > 0 {
		fields = append(fields, d.F("size", d.Int(e.Size)))
	}
	add(&fields, "role", e.Role)
	if e.Applied {
		fields = append(fields, d.F("applied", d.Bool(true)))
	}
	return d.Object(fields...)
}

// maxName is the longest name of an object (DNS subdomain, RFC 1123).
const maxName = 253

// Name is the name of the DiskLock of a spec. One that would be too long is cut, and ends in a
// hash of the whole.
func Name(spec krm.ID) string {
	parts := []string{strings.ToLower(spec.Kind), spec.Namespace, spec.Name}
	name := strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ".")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:maxName-len(end)], "-.") + end
}
