package view

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// Disk is a disk that a node reports.
type Disk struct {
	ID     string   `json:"id"` // its most trusted name: WWN, serial number, link or path
	Node   Text     `json:"node"`
	Path   Text     `json:"path"`
	Links  []string `json:"links"` // below /dev/disk
	Size   Bytes    `json:"size"`
	Kind   Text     `json:"kind"` // HDD, SSD, NVMe
	Serial Text     `json:"serial"`
	WWN    Text     `json:"wwn"`
	Usable bool     `json:"usable"`
	Reason Text     `json:"reason"` // why not
	HeldBy Text     `json:"heldBy"`

	disk *disk.Disk
	ref  finding.Ref
}

// Name is what the page of the disk is called: its serial number, or else the most trusted name that it has.
func (d *Disk) Name() string { return cmp.Or(string(d.Serial), d.ID) }

// State is one word.
func (d *Disk) State() string {
	switch {
	case d.Usable:
		return "Free"
	case d.HeldBy != "":
		return "In use"
	}
	return "Refused"
}

// Why is why the disk may not be used, in the words of explain.
func (d *Disk) Why() string { return string(d.Reason) }

// Disks are all that are reported, by node and path.
func (v *View) Disks() []Disk { return v.disks() }

func (v *View) readDisks() []Disk {
	ledger := v.ledger()
	var all []Disk
	for _, d := range ledger.Disks() {
		all = append(all, newDisk(ledger, d))
	}
	slices.SortStableFunc(all, func(a, b Disk) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func newDisk(ledger *disk.Ledger, d *disk.Disk) Disk {
	known, verdict := d.Known(), ledger.Verdict(d, disk.Want{})
	row := Disk{
		ID: known.String(), Node: Text(cmp.Or(ledger.NodeOf(d), d.Node)), Path: Text(d.Path), Links: []string{}, Size: -1,
		Serial: Text(known.Serial), WWN: Text(known.WWN), Usable: len(verdict) == 0, Reason: Text(verdict.Reason()), disk: d, ref: d.Ref(),
	}
	if size := d.Size(); size > 0 {
		row.Size = Bytes(size)
	}
	links := known.Links
	if d.Device != nil {
		links = slices.Concat(links, d.Device.Links)
		if row.Kind = Text(d.Device.DriveType); row.Kind == "Unknown" {
			row.Kind = ""
		}
	}
	if e := d.Entry; e != nil {
		links = slices.Concat(links, e.Links)
		if row.Kind = "SSD"; e.Rotational {
			row.Kind = "HDD"
		}
		if e.Transport == "nvme" {
			row.Kind = "NVMe"
		}
	}
	if strings.HasPrefix(d.Path, "/dev/nvme") {
		row.Kind = "NVMe"
	}
	slices.Sort(links)
	row.Links = append(row.Links, slices.Compact(links)...)
	if holders := d.Holders(); len(holders) > 0 {
		row.HeldBy = Text(holders[0].Object.String())
	} else if volumes := d.Volumes(); len(volumes) > 0 {
		row.HeldBy = Text("PersistentVolume " + volumes[0].Name)
	}
	return row
}

// DiskNamed finds a disk of a node by any of its names; otherwise near is the most similar name on the node.
func (v *View) DiskNamed(node, name string) (found *Disk, near string) {
	var names []string
	for i := range v.disks() {
		d := &v.disks()[i]
		if string(d.Node) != node {
			continue
		}
		if d.disk.IsCalled(name) || d.ID == name {
			return d, ""
		}
		names = append(names, d.Name())
	}
	return nil, nearest(name, names)
}

// nearest is the most similar of some names, or "".
func nearest(name string, names []string) string {
	near := strings.TrimPrefix(schema.DidYouMean(name, names), ` (did you mean "`)
	return strings.TrimSuffix(near, `"?)`)
}

// Holders are the objects that hold the disk.
func (d *Disk) Holders() []string {
	var names []string
	for _, h := range d.disk.Holders() {
		names = append(names, h.String())
	}
	for _, volume := range d.disk.Volumes() {
		names = append(names, "PersistentVolume "+volume.Name)
	}
	return names
}

// Objections is everything that speaks against a use of the disk.
func (v *View) Objections(d *Disk) []string {
	var all []string
	for _, o := range v.ledger().Verdict(d.disk, disk.Want{}) {
		all = append(all, o.Reason)
	}
	return all
}

// Chain is what hangs on the disk, up to the claims.
func (v *View) Chain(d *Disk) []*health.Tree {
	return v.function.Tree(v.facts(), krm.ID{Group: d.ref.Group(), Kind: d.ref.Kind, Namespace: d.ref.Namespace, Name: d.ref.Name})
}

// Short is the last part of the path, for headings.
func (d *Disk) Short() string { return path.Base(string(d.Path)) }

// BehindRAID reports whether a RAID controller has the disk.
func (d *Disk) BehindRAID() bool { return d.disk.Entry != nil && d.disk.Entry.RAID != nil }

// Identity is by what the disk is known.
func (d *Disk) Identity() disk.Identity { return d.disk.Known() }
