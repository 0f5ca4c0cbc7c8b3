package localvolume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// namedDisk is a disk that an object names, or a partition of one that somebody else made.
type namedDisk struct {
	*entry
	of    device     // as it is named
	part  string     // the number of the partition, or ""
	there *disk.Disk // as it is reported; nil where it is not on the node
}

func (e *entry) disk(of device) *namedDisk {
	_, part := disk.Partition(of.path)
	return &namedDisk{entry: e, of: of, part: part}
}

// check looks for the disk, and judges it. Of a path that leads elsewhere now, it is the disk that
// the lock remembers, or that the facts show to be that of the object.
func (n *namedDisk) check() {
	meant, failed := n.of, len(n.Findings)
	known, remembered := n.was.known(n.of)
	if remembered = remembered && known.lasts(); remembered {
		meant = known
	}
	here, elsewhere := n.host().resolve(meant)
	if !remembered {
		there, known := n.behind(here)
		if !known && len(here) > 0 {
			n.reportUnshown()
			return
		}
		here = there
	}
	var now []*disk.Disk
	if n.of.path != "" {
		now, _ = n.host().resolve(n.of)
	}
	if len(here) == 0 {
		n.checkNamedTwice()
		n.checkHeldUnreported(elsewhere)
		if remembered && len(elsewhere) == 0 && len(now) > 0 {
			n.report(finding.Warning, "path-moved", "leads to another disk now, %s; the disk of the object, %s, is missing from the inventory, and stays reserved for it", now[0].Identity, meant.identity(n.node()))
			return
		}
		n.reportMissing(elsewhere)
		return
	}
	n.there = here[0]
	if len(now) > 0 && !slices.Contains(now, n.there) {
		write := ""
		if link := n.link(); link != "" {
			write = " (write devicePath: " + link + ")"
		}
		n.report(finding.Warning, "path-moved", "leads to another disk now, %s; the object is on %s%s, and stays there", now[0].Identity, n.there.Identity, write)
	}
	switch difference := n.of.differs(n.there, n.was.exists()); {
	case difference != "":
		n.report(finding.Error, "identity", "is not the disk %s of node %s: %s; write what the disk says of itself, or name another one", n.there.Path, n.node(), difference)
	case n.isOf(raid):
		n.drive().checkShown()
	default:
		n.checkPath()
		n.checkUse()
		if doubts := n.Disks.Recheck(n.there, disk.Use{Own: true, Size: known.size.bytes}); len(doubts) > 0 {
			n.report(finding.Warning, "disk-doubtful", "is the disk of the %s, but %s; look at the disk", n.Object.Kind, strings.Join(doubts, "; "))
		}
	}
	n.explain(n.there.Ref(), failed)
}

// checkNamedTwice refuses a disk that nobody reports and that another object of the package
// names, too.
func (n *namedDisk) checkNamedTwice() {
	for _, o := range n.all.sorted {
		for _, other := range o.named() {
			_, part := disk.Partition(other.path)
			together := n.volume != nil && o.volume != nil && (n.isOf(partition) && o.isOf(partition) || part != n.part && part != "" && n.part != "")
			if o != n.entry && o.node() == n.node() && n.of.shares(other) && !together {
				n.report(finding.Error, string(disk.Held), "may not be used: it is taken by %s", o.Object.Ref)
				return
			}
		}
	}
}

// checkHeldUnreported refuses a disk that nobody reports and that something else holds, which
// the ledger knows by its identity.
func (n *namedDisk) checkHeldUnreported(elsewhere []*disk.Disk) {
	if len(elsewhere) > 0 || len(n.Findings) > 0 && slices.ContainsFunc(n.Findings, func(f finding.Finding) bool { return f.Rule == string(disk.Held) }) {
		return
	}
	for _, there := range n.Disks.Named(n.of.hold(n.node(), "")) {
		for _, h := range there.Holders() {
			if !n.isMine(*h) {
				n.report(n.was.severity(), string(disk.Held), "may not be used: it is taken by %s", h)
				return
			}
		}
	}
}

// report reports on the disk as it is named.
func (n *namedDisk) report(severity finding.Severity, rule, format string, args ...any) {
	f := n.Finding(severity, rule, n.of.field, "")
	if items, rest, found := strings.Cut(n.of.field, "["); found { // an item of a list
		list := n.Object.Node.Get(strings.Split(items, ".")...)
		for i := range n.group.disks {
			if n.group.disks[i].field == n.of.field && list != nil && i < len(list.Items()) {
				at := &list.Items()[i]
				if _, key, found := strings.Cut(rest, "."); found && at.Get(key) != nil {
					at = at.Get(key)
				}
				f.Pos = n.Object.Position(at.Off)
			}
		}
	}
	f.Message = n.of.String() + " " + fmt.Sprintf(format, args...)
	n.Collect(f)
}

// reportMissing reports that nobody reports a disk on the node: an error where the node has
// aware of which disks it has, unless the object is there already.
func (n *namedDisk) reportMissing(elsewhere []*disk.Disk) {
	if n.host().missing() {
		return // the node is said to be missing
	}
	if n.isOf(raid) && len(elsewhere) == 0 {
		n.drive().checkFree() // one without a block device is what is wanted
		return
	}
	severity := n.was.severity()
	switch {
	case len(elsewhere) > 0:
		remedy := "write that node, or a disk of "
		if n.Disks.NodeOf(elsewhere[0]) == "" {
			remedy = "run poolwright inventory, or write a disk of "
		}
		n.report(severity, "other-node", "is on %s, and not on %s; %s", placeOf(n.Disks, elsewhere[0]), n.node(), remedy+n.node())
	case n.host().report() != nil:
		n.report(severity, diskMissing, "is not among the disks that node %s reports; its NodeInventory lists them", n.node())
	default:
		n.report(finding.Warning, diskUnknown, "is not checked: there is no NodeInventory of node %s; run the node agent there, or nodeagent inspect -o yaml, and put that into the inventory", n.node())
	}
	n.checkPath()
}

// checkPath refuses a new name that another disk may have tomorrow.
func (n *namedDisk) checkPath() {
	if !n.of.kernelName() {
		n.checkContentLink()
		return
	}
	link := n.link()
	lives := slices.ContainsFunc(n.was.disks(), func(was device) bool { return was.path == n.of.path })
	switch {
	case link == "":
		n.report(finding.Warning, "kernel-name", "is what the kernel calls a disk now, and tomorrow that may be another one; no link below /dev/disk/by-id is known, write one if there is any")
	case lives:
		n.report(finding.Warning, "kernel-name", "is what the kernel calls the disk now, and tomorrow that may be another one; write devicePath: %s, which is the same disk", link)
	default:
		n.report(finding.Error, "kernel-name", "is what the kernel calls the disk now, and tomorrow that may be another one; write devicePath: %s", link)
	}
}

// checkContentLink refuses a new name that is that of what is on the disk, where the disk has
// another one. What device-mapper or md made has none.
func (n *namedDisk) checkContentLink() {
	if link := n.link(); disk.ContentLink(n.of.path) && link != "" {
		n.report(n.was.severity(), "content-link", "names what is on the disk, and not the disk; write devicePath: %s", link)
	}
}

// link is a path that lasts, that of the partition if it is one; "" where none is known.
func (n *namedDisk) link() string {
	if n.there == nil {
		return ""
	}
	link := n.there.ByID()
	if n.part != "" && link != "" {
		link += "-part" + n.part
	}
	return link
}

// checkUse asks the ledger whether a disk may be used.
func (n *namedDisk) checkUse() {
	if n.part != "" {
		n.checkPartitionPath()
		return
	}
	held := func(o disk.Objection) bool {
		return n.was.exists() && (o.Rule == disk.NotActive || o.Rule == disk.NoCapacity)
	}
	want := n.want()
	verdict := n.Disks.Verdict(n.there, want)
	if n.volume != nil && n.volume.adopt != "" && !want.Own {
		want.Own = true
		verdict = n.adopt(verdict, n.Disks.Verdict(n.there, want))
	}
	if i := slices.IndexFunc(verdict, func(o disk.Objection) bool { return !held(o) }); i >= 0 {
		reason := verdict[i].Reason
		if verdict[i].Rule == disk.Ambiguous { // there are two reports, and both are named
			reason = fmt.Sprintf("it is %s on node %s, and %s", n.there.Path, n.node(), reason)
		}
		n.report(finding.Error, string(verdict[i].Rule), "may not be used: %s", reason)
	} else if len(verdict) > 0 {
		n.report(finding.Warning, string(verdict[0].Rule), "is held: %s", verdict[0].Reason)
	}
}

// adopt judges a disk whose data a Volume is to take over, of which the facts do not show whether it carries
// the UUID: they have those alone that the node agent itself has kept, and none of before it. own is what speaks
// against the disk if it does, and what counts.
func (n *namedDisk) adopt(foreign, own disk.Verdict) disk.Verdict {
	switch {
	case len(foreign) > len(own):
		i := slices.IndexFunc(foreign, func(o disk.Objection) bool { return !slices.Contains(own, o) })
		n.report(finding.Warning, "adopts", "is used only if it carries %s, which %s names, but the inventory does not show that: %s; the node agent checks the disk, and leaves anything else alone",
			n.volume.adopt, annotationAdopt, foreign[i].Reason)
	case n.there.NotEmpty() == "":
		n.Collect(n.AnnotationFinding(finding.Warning, "adopt-unmatched", annotationAdopt, n.volume.adopt, "and disk "+n.there.Path+" of node "+n.node()+" is empty; remove it"))
	}
	return own
}

// want is what the object asks of a disk.
func (n *namedDisk) want() disk.Want {
	want := disk.Want{
		Node: n.host().node(), Owner: ownerOf(n.Object.Kind, n.Object.Name), Own: n.owns(),
		Mine:    n.isMine,
		Volumes: func(v *inventory.Volume) bool { return n.volume != nil && v.Name == n.volume.name },
	}
	if n.there.Device != nil { // a tag keeps a disk from being chosen, and this one is named
		want.AllowedTags = []string{n.there.Device.Tag}
	}
	if !n.isOf(partition) {
		return want
	}
	// The disk is that of all who share it.
	sharing := n.all.sharing(n.there, n.node())
	want.Volumes = func(v *inventory.Volume) bool { return slices.Contains(sharing, v.Name) }
	if entry := n.there.Entry; entry != nil && slices.Contains(sharing, owned(entry.Owner, volumeKind)) {
		want.Owner = entry.Owner
	}
	want.Own = want.Own || slices.ContainsFunc(sharing, func(name string) bool { return wasMade(n.Facts, n.Facts.Object(volumeID(name))) })
	return want
}

// isMine reports whether a holder is the object itself, or shares the disk with it.
func (n *namedDisk) isMine(h disk.Holder) bool {
	switch {
	case h.Owner == n.ownerKey():
		return true
	case h.Source == disk.Live && h.Object.GroupKind() == n.Object.GroupKind() && h.Object.Name == n.Object.Name:
		return true
	case n.volume == nil:
		return false
	case n.isOf(partition):
		return h.Role == rolePartition
	}
	return n.part != "" && strings.HasPrefix(h.Role, rolePart) && h.Role != rolePart+n.part
}

// owns reports whether what is on a disk is the object's own, whatever mark it has: of one
// that is or was Ready, and of data that a person lets it take over.
func (n *namedDisk) owns() bool {
	return n.adopts() || wasMade(n.Facts, n.was.live) && slices.ContainsFunc(n.was.disks(), func(was device) bool {
		here, _ := n.host().resolve(was)
		return slices.Contains(here, n.there)
	})
}

// checkPartitionPath judges a partition that somebody else made: the facts know the whole
// disk, so that it is the agent that sees what is on it.
func (n *namedDisk) checkPartitionPath() {
	for _, h := range n.there.Holders() {
		if !n.isMine(*h) {
			n.report(finding.Error, string(disk.Held), "may not be used: its disk is taken by %s", h)
			return
		}
	}
	if n.there.Entry == nil {
		return
	}
	if !slices.ContainsFunc(n.there.Entry.Partitions, func(path string) bool {
		_, part := disk.Partition(path)
		return part == n.part
	}) {
		n.report(finding.Error, diskMissing, "may not be used: node %s reports no partition %s of %s", n.node(), n.part, n.there.Path)
		return
	}
	if len(n.there.Entry.Mounts) > 0 && !n.owns() {
		n.report(finding.Warning, string(disk.Mounted), "is on a disk with a mount (%s), and the inventory does not show which partition is mounted; the node agent refuses it if it is this one", strings.Join(n.there.Entry.Mounts, ", "))
	}
}
