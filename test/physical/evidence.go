package physical

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
)

// evidence joins what a package says of one physical disk, so far as that can be joined at all: by
// names that two statements share. Nobody can know that an object that names a disk by its WWN and a
// report that has only a serial number are of one disk; what no chain joins is no fault of a render.
type evidence struct {
	nodes  map[string]string    // hostname label to the name of the node
	said   map[*Disk][][]string // by reports, objects that hold it, and what is rendered
	told   map[*Disk][][]string // by reports alone
	filled map[*Disk][][]string // said by reports that show content
	looks  map[*Disk][]look     // as reports show it
}

// look is what distinguishes a disk in a report from one that shares a name with it; "" for what it does not contain.
type look struct{ reporter, size, serial string }

func newEvidence(w *World, objects []*krm.Object) *evidence {
	e := &evidence{nodes: map[string]string{}, said: map[*Disk][][]string{}, told: map[*Disk][][]string{}, filled: map[*Disk][][]string{}, looks: map[*Disk][]look{}}
	for _, o := range facts(objects) {
		if o.Kind == "Node" {
			e.nodes[o.Label("kubernetes.io/hostname")] = o.Name
		}
	}
	for _, o := range facts(objects) {
		switch o.Kind {
		case "BlockDevice":
			e.device(w, o)
		case "NodeInventory":
			e.inventory(w, o)
		}
	}
	return e
}

// facts are the objects with those in lists.
func facts(objects []*krm.Object) []*krm.Object {
	var all []*krm.Object
	for _, o := range objects {
		if o.Kind != "Inventory" {
			all = append(all, o)
			continue
		}
		items := o.Node.Seq("items")
		for i := range items {
			all = append(all, o.Item(&items[i]))
		}
	}
	return all
}

// node is one word for the names of a node.
func (e *evidence) node(name string) string {
	if of := e.nodes[name]; of != "" {
		return of
	}
	return name
}

func (e *evidence) device(w *World, o *krm.Object) {
	spec := o.Node.Get("spec")
	node := e.node(o.Label("kubernetes.io/hostname"))
	said := []string{"device:" + o.Namespace + "/" + o.Name}
	for _, b := range w.Devices {
		if b.Name != o.Name {
			continue
		}
		if o.Node.Str("status", "state") == "Active" { // else its path was of an earlier boot
			said = append(said, tokens(node, spec.Str("path"))...)
		}
		for _, group := range spec.Seq("devlinks") {
			for _, link := range group.Seq("links") {
				said = append(said, tokens(node, link.Value())...)
			}
		}
		said = append(said, serialTokens(spec.Str("details", "serial"))...)
		active := o.Node.Str("status", "state") == "Active" // else it may have been wiped elsewhere
		e.looks[b.Disk] = append(e.looks[b.Disk], look{"BlockDevices", spec.Str("capacity", "storage"), serialIn(b.Disk, said)})
		e.add(b.Disk, said, active && spec.Str("filesystem", "fsType") != "")
	}
}

func (e *evidence) inventory(w *World, o *krm.Object) {
	items := o.Node.Seq("status", "disks")
	for i := range items {
		n := &items[i]
		said := append(tokens(o.Name, n.Str("path")), wwnTokens(n.Str("wwn"))...)
		said = append(said, serialTokens(n.Str("serial"))...)
		for _, link := range n.Seq("links") {
			said = append(said, tokens(o.Name, link.Value())...)
		}
		for _, entry := range w.Entries {
			if entry.Host.Name == o.Name && "/dev/"+entry.At.Kernel == n.Str("path") {
				e.looks[entry.Disk] = append(e.looks[entry.Disk], look{o.Name, n.Str("size"), serialIn(entry.Disk, said)})
				e.add(entry.Disk, said, len(n.Seq("content")) > 0)
			}
		}
	}
}

func (e *evidence) add(d *Disk, said []string, filled bool) {
	e.said[d], e.told[d] = append(e.said[d], said), append(e.told[d], said)
	if filled {
		e.filled[d] = append(e.filled[d], said)
	}
}

// serialIn is the serial number of a disk where a report has it, as such or in a link.
func serialIn(d *Disk, said []string) string {
	if d.Serial != "" && slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, d.Serial) }) {
		return d.Serial
	}
	return ""
}

// apart reports whether reports distinguish two disks: one reporter has both, or they differ in what
// both reports have.
func (e *evidence) apart(a, b *Disk) bool {
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	return slices.ContainsFunc(e.looks[a], func(x look) bool {
		return slices.ContainsFunc(e.looks[b], func(y look) bool {
			return x.reporter == y.reporter || differ(x.size, y.size) || differ(x.serial, y.serial)
		})
	})
}

// hold adds what a hold says of its disk.
func (e *evidence) hold(d *Disk, h *Hold, at []Place) []string {
	var said []string
	node := e.node(h.Node)
	if h.Device != "" {
		said = append(said, "device:"+h.Device)
	}
	if h.Path != "" {
		said = append(said, tokens(node, whole(h.Path))...)
	}
	said = append(append(said, wwnTokens(h.WWN)...), serialTokens(h.Serial)...)
	for _, link := range h.Links {
		said = append(said, tokens(node, link)...)
	}
	if h.PCI != "" {
		said = append(said, "pci:"+node+":"+h.PCI)
	}
	if h.Handle != "" {
		said = append(said, "handle:"+h.Driver+":"+handleToken(h.Driver, h.Handle))
	}
	for _, p := range at {
		if h.All || h.Filter != nil && h.matches(d, p) {
			said = append(said, e.matched(d, p, node, h)...)
		}
	}
	e.said[d] = append(e.said[d], said)
	return said
}

// matched are the names of a disk by which a filter finds it, so far as a report has them: what other names
// a filter would match, nobody can know.
func (e *evidence) matched(d *Disk, at Place, node string, h *Hold) []string {
	names := []string{"/dev/" + at.Kernel}
	if !h.Names && !h.All {
		names = append(names, d.Links(at)...)
	}
	var said []string
	for _, name := range names {
		if found := tokens(node, name); len(found) > 0 && (h.All || h.Filter.MatchString(strings.TrimPrefix(name, "/dev/")) || h.Filter.MatchString(name)) && e.named(d, found[:1]) {
			said = append(said, found...)
		}
	}
	return said
}

// joined reports whether a chain of names leads from one statement about a disk to another.
func (e *evidence) joined(d *Disk, from, to []string) bool {
	reached := slices.Clone(from)
	shares := func(said []string) bool {
		return slices.ContainsFunc(said, func(s string) bool { return slices.Contains(reached, s) })
	}
	for grown := true; grown; {
		if shares(to) {
			return true
		}
		grown = false
		for _, said := range e.said[d] {
			if !shares(said) {
				continue
			}
			for _, s := range said {
				if !slices.Contains(reached, s) {
					reached, grown = append(reached, s), true
				}
			}
		}
	}
	return false
}

// named reports whether a report of a disk has one of the names.
func (e *evidence) named(d *Disk, names []string) bool {
	return slices.ContainsFunc(e.told[d], func(said []string) bool {
		return slices.ContainsFunc(said, func(s string) bool { return slices.Contains(names, s) })
	})
}

// shown reports whether a report that is joined to a statement shows content.
func (e *evidence) shown(d *Disk, from []string) bool {
	return slices.ContainsFunc(e.filled[d], func(said []string) bool { return e.joined(d, from, said) })
}

// tokens are what a path on a node says of a disk. A link that names content says nothing.
func tokens(node, path string) []string {
	path = whole(path)
	if link, found := strings.CutPrefix(path, byPath); found {
		said := []string{"path:" + node + ":" + link}
		if address, nvme := strings.CutPrefix(link, "pci-"); nvme && strings.Contains(link, "-nvme-") {
			said = append(said, "pci:"+node+":"+strings.ToLower(address[:strings.Index(address, "-nvme-")]))
		}
		if rest, iscsi := strings.CutPrefix(link, "ip-"); iscsi {
			portal, rest, _ := strings.Cut(rest, "-iscsi-")
			if at := strings.LastIndex(rest, "-lun-"); at >= 0 {
				said = append(said, "handle:iscsi:"+portal+" "+rest[:at]+" "+rest[at+len("-lun-"):])
			}
		}
		return said
	}
	link, found := strings.CutPrefix(path, byID)
	switch {
	case !found && strings.HasPrefix(path, "/dev/disk/by-uuid/"):
		return []string{path}
	case !found:
		return []string{"dev:" + node + ":" + path}
	}
	for _, content := range []string{"lvm-pv-uuid-", "dm-name-", "md-name-", "md-uuid-"} {
		if strings.HasPrefix(link, content) {
			return nil
		}
	}
	said := []string{"link:" + link}
	for _, prefix := range []string{"wwn-0x", "scsi-3", "dm-uuid-mpath-3", "nvme-eui.", "nvme-uuid."} {
		if wwn, found := strings.CutPrefix(link, prefix); found {
			said = append(said, wwnTokens(wwn)...)
		}
	}
	for prefix, driver := range map[string]string{
		"google-": "gce", "scsi-0Google_PersistentDisk_": "gce", "nvme-Amazon_Elastic_Block_Store_": "ebs", "scsi-0QEMU_QEMU_HARDDISK_": "cinder", "virtio-": "cinder",
	} {
		if handle, found := strings.CutPrefix(link, prefix); found {
			said = append(said, "handle:"+driver+":"+handleToken(driver, handle))
		}
	}
	return said
}

// handleToken is a handle as every kind of link has it.
func handleToken(driver, handle string) string {
	switch driver {
	case "ebs":
		return strings.TrimSuffix(strings.Replace(handle, "vol-", "vol", 1), "_1")
	case "cinder":
		return handle[:min(20, len(handle))]
	}
	return handle
}

func wwnTokens(wwn string) []string {
	if wwn == "" {
		return nil
	}
	return []string{"wwn:" + digits(wwn)}
}

func serialTokens(serial string) []string {
	if serial == "" {
		return nil
	}
	said := []string{"serial:" + serial}
	if hex := strings.ToLower(serial); len(hex) >= 16 && strings.Trim(hex, "0123456789abcdef") == "" {
		said = append(said, "wwn:"+hex)
	}
	return said
}
