package physical

import (
	"fmt"
	"slices"
	"strings"
)

// Device is a BlockDevice: what the node disk manager says of a disk.
type Device struct {
	Name     string
	Disk     *Disk
	Host     *Host
	Node     string // name of the node and hostname label, as they were when it was written
	Label    string
	At       Place
	Inactive bool // the disk is not there any more
	Facts
}

// Entry is a disk of the NodeInventory of a node.
type Entry struct {
	Disk *Disk
	Host *Host
	At   Place // when it was written
	Facts
}

// Facts is which parts of the truth a report has, and in which words.
type Facts struct {
	WWN, Serial int  // 0: nothing
	Links       uint // a bit for each link below by-id
	Path        bool // the link below by-path
	Other       bool // all other links
	Model       bool
	Content     bool
}

// DrawFacts draws what a report says: everything, or any part.
func DrawFacts(r Rand) Facts {
	if r.In(1, 2) {
		return Facts{WWN: 1, Serial: 1, Links: ^uint(0), Path: true, Other: true, Model: true, Content: true}
	}
	return Facts{WWN: r.IntN(5), Serial: Pick(r, []int{0, 1, 1, 2}), Links: uint(r.IntN(64)), Path: r.In(1, 2), Other: r.In(1, 2), Model: r.In(1, 2), Content: r.In(3, 4)}
}

// wwn is the WWN of a disk as one of several tools writes it.
func (f Facts) wwn(d *Disk) string {
	switch {
	case f.WWN == 0:
		return ""
	case d.UUID != "":
		return "uuid." + d.UUID
	case d.WWN == "":
		return ""
	}
	switch f.WWN {
	case 2:
		return "0x" + strings.ToUpper(d.WWN)
	case 3:
		return d.WWN
	case 4:
		if d.Bus == NVMe {
			return "eui." + d.WWN
		}
		return "naa." + d.WWN
	}
	return "0x" + d.WWN
}

// serial is the serial number, or the digits of the WWN, which some tools take for one.
func (f Facts) serial(d *Disk) string {
	switch {
	case f.Serial == 0:
		return ""
	case f.Serial == 2 && d.WWN != "":
		return d.WWN
	}
	return d.Serial
}

func (f Facts) ids(d *Disk) []string {
	var links []string
	for i, id := range append(d.IDLinks(), d.ContentLinks...) {
		if f.Links&(1<<i) != 0 {
			links = append(links, byID+id)
		}
	}
	return links
}

// Report lets the agents of a machine report what they see now: each disk by a BlockDevice, a NodeInventory, both or
// neither. A report that is there is brought up to date, with the same facts.
func (w *World) Report(r Rand, h *Host) {
	for _, d := range w.Disks {
		at, here := d.On(h)
		if !here {
			continue
		}
		device := w.device(d, h)
		switch {
		case device != nil:
			device.Inactive, device.At, device.Node, device.Label = false, at, h.Name, h.Label
		case w.seen(d, h):
		case r.In(3, 4):
			b := &Device{Name: fmt.Sprintf("blockdevice-%s-%d", d.ID, w.next()), Disk: d, Host: h, Node: h.Name, Label: h.Label, At: at, Facts: DrawFacts(r)}
			w.Devices, w.Names[b.Name] = append(w.Devices, b), d
		}
		entry := w.entry(d, h)
		switch {
		case entry != nil:
			entry.At = at
		case w.seen(d, h) && (device != nil || r.In(1, 2)):
		case r.In(5, 6):
			w.Entries = append(w.Entries, &Entry{Disk: d, Host: h, At: at, Facts: DrawFacts(r)})
		}
	}
	for _, b := range w.Devices {
		if b.Host == h {
			_, here := b.Disk.On(h)
			b.Inactive = !here
		}
	}
	w.Entries = slices.DeleteFunc(w.Entries, func(e *Entry) bool {
		_, here := e.Disk.On(e.Host)
		return e.Host == h && !here
	})
}

// seen reports whether anything reports a disk of a machine.
func (w *World) seen(d *Disk, h *Host) bool { return w.device(d, h) != nil || w.entry(d, h) != nil }

func (w *World) device(d *Disk, h *Host) *Device {
	for _, b := range w.Devices {
		if b.Disk == d && b.Host == h {
			return b
		}
	}
	return nil
}

func (w *World) entry(d *Disk, h *Host) *Entry {
	for _, e := range w.Entries {
		if e.Disk == d && e.Host == h {
			return e
		}
	}
	return nil
}

// text is the BlockDevice, a fact a line.
func (b *Device) text(claim string) string {
	d := b.Disk
	drive, state, claimed := "SSD", "Active", "Unclaimed"
	if d.Spins {
		drive = "HDD"
	}
	if b.Inactive {
		state = "Inactive"
	}
	var t strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&t, format+"\n", args...) }
	line("apiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata:\n  name: %s\n  namespace: openebs\n  labels: {kubernetes.io/hostname: %s}", b.Name, b.Label)
	line("spec:\n  path: /dev/%s\n  nodeAttributes: {nodeName: %s}\n  capacity: {storage: %d}", b.At.Kernel, b.Node, d.Size)
	line("  details:\n    deviceType: disk\n    driveType: %s", drive)
	if serial := b.serial(d); serial != "" {
		line("    serial: %q", serial)
	}
	if b.Model {
		line("    model: %s\n    vendor: %s", d.Model, d.Vendor)
	}
	ids := b.ids(d)
	if len(ids) > 0 || b.Path {
		line("  devlinks:")
	}
	if len(ids) > 0 {
		line("  - kind: by-id\n    links:")
		for _, link := range ids {
			line("    - %s", link)
		}
	}
	if b.Path {
		line("  - kind: by-path\n    links:\n    - %s", byPath+b.At.Path)
	}
	if d.Content != "" && b.Content {
		line("  filesystem: {fsType: %s}", d.Content)
	}
	if claim != "" {
		claimed = "Claimed"
		line("  claimRef: {name: %s}", claim)
	}
	line("  partitioned: \"No\"\nstatus: {claimState: %s, state: %s}", claimed, state)
	return t.String()
}

// text is the item of status.disks, a fact a line.
func (e *Entry) text() string {
	d := e.Disk
	var t strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&t, format+"\n", args...) }
	line("  - path: /dev/%s\n    size: %d\n    rotational: %t", e.At.Kernel, d.Size, d.Spins)
	if wwn := e.wwn(d); wwn != "" {
		line("    wwn: %q", wwn)
	}
	if serial := e.serial(d); serial != "" {
		line("    serial: %q", serial)
	}
	if e.Model {
		line("    model: %s", d.Model)
	}
	links := e.ids(d)
	if e.Path {
		links = append(links, byPath+e.At.Path)
	}
	if e.Other {
		for _, link := range d.Links(e.At) {
			if !strings.Contains(link, "/by-id/") && !strings.Contains(link, "/by-path/") {
				links = append(links, link)
			}
		}
	}
	if len(links) > 0 {
		line("    links:")
		for _, link := range links {
			line("    - %s", link)
		}
	}
	if d.Content == "" || !e.Content {
		line("    usable: true")
		return t.String()
	}
	line("    content: [%s]", d.Content)
	if d.Mark != "" {
		line("    owner: %s", d.Mark)
	}
	line("    usable: false\n    reason: it has content")
	return t.String()
}

// inventories are the NodeInventories of the machines that have a node.
func (w *World) inventories() []Chunk {
	var chunks []Chunk
	for _, h := range w.Hosts {
		text := ""
		for _, e := range w.Entries {
			if e.Host == h {
				text += e.text()
			}
		}
		if h.Name != "" && text != "" {
			chunks = append(chunks, Chunk{"inventory/nodeinventories.yaml", "apiVersion: poolwright.io/v1alpha1\nkind: NodeInventory\nmetadata:\n  name: " + h.Name + "\nstatus:\n  disks:\n" + text})
		}
	}
	return chunks
}

func (h *Host) text() string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n  uid: %s\n  creationTimestamp: \"2025-01-01T00:00:00Z\"\n  labels: {kubernetes.io/hostname: %s, openebs.io/engine: mayastor, group: %s}\n",
		h.Name, h.UID, h.Label, h.Groups)
}
