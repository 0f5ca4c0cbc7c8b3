package localvolume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkNode looks for the node among the facts.
func (e *entry) checkNode() {
	if len(e.Facts.Nodes) == 0 || e.Facts.Node(e.node()) != nil {
		return
	}
	var names []string
	for _, n := range e.Facts.Nodes {
		names = append(names, n.Name)
	}
	if e.exists() {
		e.Report(finding.Warning, "node-missing", "spec.nodeName", "node %s is missing from the inventory; what is on it is held", e.node())
		return
	}
	e.Report(finding.Error, "node-unknown", "spec.nodeName", "%q is not among the nodes of the inventory, which are %s%s; write one of them, or take the snapshot anew",
		e.node(), finding.Names(names), schema.DidYouMean(e.node(), names))
}

// exists reports whether the object was rendered before, or lives.
func (e *entry) exists() bool { return e.before != nil || e.live != nil }

// checkDisks looks for the disks that the object names, and asks whether they may be used.
func (e *entry) checkDisks() {
	devices := named(e.volume, e.group)
	for i, of := range devices {
		there := e.checkDisk(of)
		at := slices.IndexFunc(devices[:i], of.shares)
		if at < 0 && there != nil {
			at = slices.Index(e.disks, there)
		}
		if at >= 0 {
			e.reportDevice(finding.Error, "disk-repeated", of, "is in the list already, as %s; remove one of the two", devices[at])
		}
		e.disks = append(e.disks, there)
	}
}

// checkDisk finds a disk; nil if nobody reports it.
func (e *entry) checkDisk(of device) *disk.Disk {
	meant, failed := of, len(e.Findings)
	known, remembered := e.remembered(of)
	if remembered {
		meant = known
	}
	here, elsewhere := e.resolve(meant)
	if len(here) == 0 {
		e.checkNamedTwice(of)
		e.reportMissing(of, elsewhere)
		return nil
	}
	there := here[0]
	if now, _ := e.resolve(of); remembered && of.path != "" && len(now) > 0 && !slices.Contains(now, there) {
		e.reportDevice(finding.Warning, "path-moved", of, "leads to another disk now, %s; the object is on %s%s, and stays there", now[0].Identity, there.Identity, writeLink(of, there))
	}
	switch difference := of.differs(there); {
	case difference != "":
		e.reportDevice(finding.Error, "identity", of, "is not the disk %s of node %s: %s; write what the disk says of itself, or name another one", there.Path, e.node(), difference)
	case e.volume != nil && e.volume.source.kind == raid:
		e.checkDrive(of, there)
	default:
		e.checkPath(of, there)
		e.checkUse(of, there)
	}
	e.explain(there, failed)
	return there
}

// checkNamedTwice refuses a disk that nobody reports and that another object of the package
// names, too.
func (e *entry) checkNamedTwice(of device) {
	_, number := disk.Partition(of.path)
	for _, o := range e.all.sorted {
		for _, other := range named(o.volume, o.group) {
			_, n := disk.Partition(other.path)
			together := e.volume != nil && o.volume != nil && (e.volume.source.kind == partition && o.volume.source.kind == partition || n != number && n != "" && number != "")
			if o != e && o.node() == e.node() && of.shares(other) && !together {
				e.reportDevice(finding.Error, string(disk.Held), of, "may not be used: it is taken by %s", o.Object.Ref)
				return
			}
		}
	}
}

// explainSource says what became of what the object is made of, where that is no disk: a group, a Volume, or
// the node that has a sparse file.
func (e *entry) explainSource() {
	switch v, g := e.volume, e.group; {
	case v != nil && v.source.kind == lvm:
		ref := finding.Ref{Kind: reportedGroupKind, Name: v.source.vg}
		at := site{v.node, v.source.vg}
		if own := e.all.groupOf(at); own != nil {
			ref = own.Object.Ref
		} else if lives := livingOf(e.Facts).group[at]; lives != nil {
			ref = lives.object.Ref
		}
		e.explainRef(ref, 0)
	case g != nil && g.kind == volumeRef:
		e.explainRef(finding.Ref{APIVersion: group + "/" + version, Kind: volumeKind, Name: g.volume}, 0)
	case v != nil && v.source.kind == sparse, g != nil && g.kind == sparseGroup:
		e.explainRef(system.NodeRef(e.node()), 0)
	}
}

// explain says what became of a disk that the object names: failed is how many findings there
// were before.
func (e *entry) explain(there *disk.Disk, before int) { e.explainRef(there.Ref(), before) }

// explainRef does the same for what has the name.
func (e *entry) explainRef(ref finding.Ref, before int) {
	verdict, reason := place.Chosen, "the "+e.Object.Kind+" names it"
	if e.exists() {
		verdict = place.Kept
	}
	for _, f := range e.Findings[before:] {
		if f.Severity == finding.Error {
			verdict, reason = place.Refused, f.Message
			break
		}
	}
	e.Decide(ref, e.node(), "", verdict, reason)
}

// reportDevice reports on a disk as it is named.
func (e *entry) reportDevice(severity finding.Severity, rule string, of device, format string, args ...any) {
	f := e.Finding(severity, rule, of.field, "")
	if items, rest, found := strings.Cut(of.field, "["); found { // an item of a list
		list := e.Object.Node.Get(strings.Split(items, ".")...)
		for i := range e.group.disks {
			if e.group.disks[i].field == of.field && list != nil && i < len(list.Items()) {
				at := &list.Items()[i]
				if _, key, found := strings.Cut(rest, "."); found && at.Get(key) != nil {
					at = at.Get(key)
				}
				f.Pos = e.Object.Position(at.Off)
			}
		}
	}
	f.Message = of.String() + " " + fmt.Sprintf(format, args...)
	e.Collect(f)
}

// reportMissing reports that nobody reports a disk on the node: an error where the node has
// told which disks it has, unless the object is there already.
func (e *entry) reportMissing(of device, elsewhere []*disk.Disk) {
	if len(e.Facts.Nodes) > 0 && e.Facts.Node(e.node()) == nil {
		return // the node is said to be missing
	}
	if e.volume != nil && e.volume.source.kind == raid && len(elsewhere) == 0 {
		e.checkFreeDrive(of) // one without a block device is what is wanted
		return
	}
	severity := e.gone()
	told := reportsOf(e.Facts)[e.node()] != nil
	switch {
	case len(elsewhere) > 0:
		e.reportDevice(severity, "other-node", of, "is on node %s, and not on %s; write that node, or a disk of %s", e.Disks.NodeOf(elsewhere[0]), e.node(), e.node())
	case told:
		e.reportDevice(severity, "disk-missing", of, "is not among the disks that node %s reports; its NodeInventory lists them", e.node())
	default:
		e.reportDevice(finding.Warning, "disk-unknown", of, "is not checked: there is no NodeInventory of node %s; run the node agent there, or nodeagent inspect -o yaml, and put that into the inventory", e.node())
	}
	e.checkPath(of, nil)
}

// checkPath refuses a new name that the kernel may give to another disk tomorrow.
func (e *entry) checkPath(of device, there *disk.Disk) {
	if !of.kernelName() {
		return
	}
	link := ""
	if there != nil {
		link = linkOf(of, there)
	}
	lives := slices.ContainsFunc(e.former(), func(was device) bool { return was.path == of.path })
	switch {
	case link == "":
		e.reportDevice(finding.Warning, "kernel-name", of, "is what the kernel calls a disk now, and tomorrow that may be another one; no link below /dev/disk/by-id is known, write one if there is any")
	case lives:
		e.reportDevice(finding.Warning, "kernel-name", of, "is what the kernel calls the disk now, and tomorrow that may be another one; write devicePath: %s, which is the same disk", link)
	default:
		e.reportDevice(finding.Error, "kernel-name", of, "is what the kernel calls the disk now, and tomorrow that may be another one; write devicePath: %s", link)
	}
}

// linkOf is the link for a path: that of the partition, if it is of one.
func linkOf(of device, there *disk.Disk) string {
	link := there.ByID()
	if _, number := disk.Partition(of.path); number != "" && link != "" {
		link += "-part" + number
	}
	return link
}

func writeLink(of device, there *disk.Disk) string {
	if link := linkOf(of, there); link != "" {
		return " (write devicePath: " + link + ")"
	}
	return ""
}

// checkUse asks the ledger whether a disk may be used.
func (e *entry) checkUse(of device, there *disk.Disk) {
	if _, number := disk.Partition(of.path); number != "" {
		e.checkPartitionPath(of, there, number)
		return
	}
	held := func(o disk.Objection) bool {
		return e.exists() && (o.Rule == disk.NotActive || o.Rule == disk.NoCapacity)
	}
	verdict := e.Disks.Verdict(there, e.want(of, there))
	if i := slices.IndexFunc(verdict, func(o disk.Objection) bool { return !held(o) }); i >= 0 {
		reason := verdict[i].Reason
		if verdict[i].Rule == disk.Ambiguous { // there are two reports, and both are named
			reason = fmt.Sprintf("it is %s on node %s, and %s", there.Path, e.node(), reason)
		}
		e.reportDevice(finding.Error, string(verdict[i].Rule), of, "may not be used: %s", reason)
	} else if len(verdict) > 0 {
		e.reportDevice(finding.Warning, string(verdict[0].Rule), of, "is held: %s", verdict[0].Reason)
	}
}

// want is what the object asks of a disk.
func (e *entry) want(of device, there *disk.Disk) disk.Want {
	want := disk.Want{
		Node: e.Facts.Node(e.node()), Owner: ownerOf(e.Object.Kind, e.Object.Name), Own: e.owns(there),
		Mine:    func(h disk.Holder) bool { return e.isMine(h, of) },
		Volumes: func(v *inventory.Volume) bool { return e.volume != nil && v.Name == e.volume.name },
	}
	if there.Device != nil { // a tag keeps a disk from being chosen, and this one is named
		want.AllowedTags = []string{there.Device.Tag}
	}
	if e.volume == nil || e.volume.source.kind != partition {
		return want
	}
	// The disk is that of all who share it.
	sharing := e.sharing(there)
	want.Volumes = func(v *inventory.Volume) bool { return slices.Contains(sharing, v.Name) }
	if entry := there.Entry; entry != nil && slices.Contains(sharing, owned(entry.Owner, volumeKind)) {
		want.Owner = entry.Owner
	}
	want.Own = want.Own || slices.ContainsFunc(sharing, func(name string) bool { return wasMade(e.Facts, e.Facts.Object(volumeID(name))) })
	return want
}

// isMine reports whether a holder is the object itself, or shares the disk with it.
func (e *entry) isMine(h disk.Holder, of device) bool {
	switch {
	case h.Owner == e.ownerKey():
		return true
	case h.Source == disk.Live && h.Object.GroupKind() == e.Object.GroupKind() && h.Object.Name == e.Object.Name:
		return true
	case e.volume == nil:
		return false
	case e.volume.source.kind == partition:
		return h.Role == rolePartition
	}
	_, number := disk.Partition(of.path)
	return number != "" && strings.HasPrefix(h.Role, rolePart) && h.Role != rolePart+number
}

// owns reports whether what is on a disk is the object's own, whatever mark it has: of one
// that is or was Ready, and of data that a person lets it take over.
func (e *entry) owns(there *disk.Disk) bool {
	adopt := e.Object.Annotation(annotationAdopt)
	if r := reportsOf(e.Facts)[e.node()]; adopt != "" && r != nil && r.leftovers[adopt] {
		return true
	}
	return wasMade(e.Facts, e.live) && e.had(there)
}

// checkPartitionPath judges a partition that somebody else made: the facts tell of the whole
// disk, so that it is the agent that sees what is on it.
func (e *entry) checkPartitionPath(of device, there *disk.Disk, number string) {
	for _, h := range there.Holders() {
		if !e.isMine(h, of) {
			e.reportDevice(finding.Error, string(disk.Held), of, "may not be used: its disk is taken by %s", h)
			return
		}
	}
	if there.Entry == nil {
		return
	}
	if !slices.ContainsFunc(there.Entry.Partitions, func(path string) bool {
		_, n := disk.Partition(path)
		return n == number
	}) {
		e.reportDevice(finding.Error, "disk-missing", of, "may not be used: node %s reports no partition %s of %s", e.node(), number, there.Path)
		return
	}
	if len(there.Entry.Mounts) > 0 && !e.owns(there) {
		e.reportDevice(finding.Warning, string(disk.Mounted), of, "is on a disk of which something is mounted (%s), and the facts do not tell of which partition; the node agent refuses it if it is this one", strings.Join(there.Entry.Mounts, ", "))
	}
}
