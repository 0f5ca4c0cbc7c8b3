package localvolume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// mebi is the alignment of partitions, and what LVM keeps at the start of a disk, in bytes.
//
// Source: LVM2, default_data_alignment, lvm.conf(5).
const mebi = 1 << 20

// site is where logical volumes are: a group of a node, by its LVM name.
type site struct{ node, vg string }

// demand is what a Volume wants of a group or a disk beyond what it has, in bytes.
type demand struct {
	*entry
	bytes int64
}

// checkGroups holds what the Volumes of the package want of each group against the room in it.
func (r *rendering) checkGroups() {
	in := map[site][]*entry{}
	for _, e := range r.sorted {
		if e.isOf(lvm) {
			at := site{e.volume.node, e.volume.source.vg}
			in[at] = append(in[at], e)
		}
	}
	for at, entries := range in {
		checkLogicalNames(entries)
		g := r.groupAt(at, entries)
		if g == nil {
			continue
		}
		g.checkForeignVolumes(entries)
		if !g.unknown {
			g.fit(entries)
		}
	}
}

// room is a group as far as its size is known.
type room struct {
	site
	free     int64 // bytes
	extent   int64 // bytes
	unknown  bool  // there is a group, and nobody knows how large it is
	reported *reportedGroup
}

// groupAt finds a group: as its node reports it, as the package makes it, or as it is in the cluster. Of
// one that is not there each of the Volumes says so.
func (r *rendering) groupAt(at site, entries []*entry) *room {
	reports := reportsOf(r.Facts)
	own := r.groupOf(at)
	g := &room{site: at, extent: extentSize}
	if own != nil {
		g.extent = own.group.extent.bytes
	}
	switch named := reports[at.node].named(at.vg); len(named) {
	case 0:
	case 1:
		g.reported = named[0]
		g.free, g.extent = g.reported.free, cmp.Or(g.reported.extent, g.extent)
		if missing := len(g.reported.missing); missing > 0 {
			for _, e := range entries {
				e.Report(e.was.severity(), "group-partial", vgField, "group %s of node %s misses %s; nothing is made in it until it has them again", at.vg, at.node, finding.Count(missing, "physical volume"))
			}
			return nil
		}
		if own != nil {
			g.free += own.growth(g.reported)
		}
		return g
	default:
		for _, e := range entries {
			e.Report(finding.Error, "group-twice", vgField, "node %s reports %d groups named %s, %s and %s; rename one of them by its UUID: vgrename", at.node, len(named), at.vg, named[0].uuid, named[1].uuid)
		}
		return nil
	}
	if own != nil {
		var known bool
		g.free, known = r.capacity(own)
		g.unknown = !known
		return g
	}
	if lives := livingOf(r.Facts).group[at]; lives != nil {
		free, told := lives.object.Node.Get("status", "free").Int()
		g.free, g.unknown = free, !told
		return g
	}
	r.reportNoGroup(at, entries)
	return nil
}

const vgField = "spec." + lvm + ".vgName"

// reportNoGroup says of each Volume in a group that nobody knows it.
func (r *rendering) reportNoGroup(at site, entries []*entry) {
	if r.MayMake(groupKind, templateKind) {
		return
	}
	var elsewhere []string
	for _, e := range r.sorted {
		if e.group != nil && e.group.vg == at.vg {
			elsewhere = append(elsewhere, e.group.name+" on "+e.group.node)
		}
	}
	for _, e := range entries {
		switch {
		case len(elsewhere) > 0:
			e.Report(finding.Error, "group-elsewhere", vgField, "group %s is of another node: VolumeGroup %s; a Volume is on the node of its group", at.vg, finding.Names(elsewhere))
		case len(r.Facts.Nodes) > 0 && r.Facts.Node(at.node) == nil: // the node is said to be missing
		case reportsOf(r.Facts)[at.node] != nil:
			e.Report(e.was.severity(), "group-missing", vgField, "node %s has no volume group %s, and no VolumeGroup of the package makes one; write the name of a group of that node, or a VolumeGroup", at.node, at.vg)
		default:
			e.Report(finding.Warning, "group-unknown", vgField, "whether node %s has a volume group %s is not known: there is no NodeInventory of it, and no VolumeGroup of the package", at.node, at.vg)
		}
	}
}

// groupOf finds the VolumeGroup of the package that makes a group.
func (r *rendering) groupOf(at site) *entry {
	i := slices.IndexFunc(r.entries, func(e *entry) bool { return e.group != nil && e.group.node == at.node && e.group.vg == at.vg })
	if i < 0 {
		return nil
	}
	return r.entries[i]
}

// capacity is how much a new group will hold: of each disk what is left after the first MiB, in
// whole extents. It reports false where the size of a disk is not known.
func (r *rendering) capacity(e *entry) (int64, bool) {
	extent := e.group.extent.bytes
	switch e.group.kind {
	case sparseGroup:
		return roundDown(e.group.size.bytes-mebi, extent), true
	case volumeRef:
		i := slices.IndexFunc(r.entries, func(o *entry) bool { return o.volume != nil && o.volume.name == e.group.volume })
		if i < 0 {
			return 0, false
		}
		size := r.entries[i].size()
		return roundDown(size-mebi, extent), size > 0
	}
	total := int64(0)
	for i, of := range e.group.disks {
		size := of.size.bytes
		if there := e.disks[i]; there != nil {
			size = there.Size()
		}
		if size <= 0 {
			return 0, false
		}
		total += roundDown(size-mebi, extent)
	}
	return total, true
}

// size is how large the device of a Volume is, in bytes; 0 where that is not known.
func (e *entry) size() int64 {
	if len(e.disks) > 0 && e.disks[0] != nil && e.isOf(raw) {
		return e.disks[0].Size()
	}
	return e.bytes()
}

// growth is what a group gains by disks that it has not yet.
func (e *entry) growth(reported *reportedGroup) int64 {
	total := int64(0)
	for _, there := range e.disks {
		if there == nil || slices.ContainsFunc(reported.devices, func(path string) bool {
			return there.HasPath(func(known string) bool { return known == path })
		}) {
			continue
		}
		total += roundDown(there.Size()-mebi, cmp.Or(reported.extent, e.group.extent.bytes))
	}
	return total
}

// has is how large the logical volume of a Volume is already, in bytes.
func (g *room) has(e *entry) int64 {
	if g.reported != nil {
		for _, lv := range g.reported.volumes {
			if lv.owner == ownerOf(volumeKind, e.volume.name) {
				return lv.size
			}
		}
		if g.reported.tells {
			return 0
		}
	}
	if e.was.live == nil || !wasMade(e.Facts, e.was.live) {
		return 0
	}
	if size, told := e.was.live.Node.Get("status", "size").Int(); told {
		return size
	}
	lives := readVolume(e.was.live)
	return roundUp(lives.source.size.bytes, g.extent)
}

// fit lets the Volumes have of a group what they want, in the order of their names. The first
// that does not fit is an error.
func (g *room) fit(entries []*entry) {
	var wanted []demand
	for _, e := range entries {
		wanted = append(wanted, demand{e, max(0, roundUp(e.volume.source.size.bytes, g.extent)-g.has(e))})
	}
	d, left, others := firstWithout(wanted, g.free)
	if d == nil {
		return
	}
	with := ""
	if len(others) > 0 {
		with = "; it is shared with " + finding.Names(others)
	}
	want, has := apart(d.bytes, left)
	d.Report(finding.Error, "group-full", "spec.lvmLogicalVolume.size", "wants %s%s of group %s on node %s, which has %s left of %s%s; lower it, or give the group another disk",
		want, d.more(), g.vg, g.node, has, quantity.Size(g.free), with)
}

// more says that a Volume wants to grow only.
func (d *demand) more() string {
	if d.bytes < d.volume.source.size.bytes {
		return " more"
	}
	return ""
}

// apart writes two sizes so that they can be distinguished: in bytes where rounding makes them
// one.
func apart(a, b int64) (string, string) {
	if first, second := quantity.Size(a), quantity.Size(b); first != second || a == b {
		return first, second
	}
	return fmt.Sprintf("%d bytes", a), fmt.Sprintf("%d", b)
}

// firstWithout is the first that does not get what it wants of so many bytes, what is left
// then, and the others that want of it; nil if all do.
func firstWithout(wanted []demand, free int64) (first *demand, left int64, others []string) {
	left = max(free, 0)
	for i := range wanted {
		if wanted[i].bytes > left {
			for j := range wanted {
				if j != i && wanted[j].bytes > 0 {
					others = append(others, wanted[j].volume.name+" ("+quantity.Size(wanted[j].bytes)+")")
				}
			}
			return &wanted[i], left, others
		}
		left -= wanted[i].bytes
	}
	return nil, left, nil
}

// partitionRoom is how much partitions may take of a disk, in bytes: what is left without a MiB
// at either end, in whole MiB.
func partitionRoom(there *disk.Disk) int64 { return roundDown(there.Size()-2*mebi, mebi) }

// checkPartitions holds the partitions of each disk against its size.
func (r *rendering) checkPartitions() {
	on := map[*disk.Disk][]demand{}
	var order []*disk.Disk
	for _, e := range r.sorted {
		if !e.isOf(partition) || len(e.disks) == 0 || e.disks[0] == nil {
			continue
		}
		there := e.disks[0]
		if on[there] == nil {
			order = append(order, there)
		}
		on[there] = append(on[there], demand{e, roundUp(e.volume.source.size.bytes, mebi)})
	}
	for _, there := range order {
		wanted := on[there]
		wanted[0].checkForeignPartitions(there)
		room := partitionRoom(there)
		d, left, others := firstWithout(wanted, room)
		if d == nil || there.Size() <= 0 {
			continue
		}
		with := ""
		if len(others) > 0 {
			with = "; it is shared with " + finding.Names(others)
		}
		want, has := apart(d.bytes, left)
		d.Report(finding.Error, "disk-full", "spec.partition.size", "wants %s of disk %s on node %s, which has %s left of %s for partitions%s; lower it, or write another disk",
			want, there.Path, d.node(), has, quantity.Size(room), with)
	}
}

// checkForeignPartitions refuses a disk of partitions of which not all are of Volumes.
func (e *entry) checkForeignPartitions(there *disk.Disk) {
	if there.Entry == nil || len(there.Entry.Partitions) == 0 {
		return
	}
	made := 0
	sharing := e.all.sharing(there, e.node())
	for _, name := range sharing {
		if wasMade(e.Facts, e.Facts.Object(volumeID(name))) {
			made++
		}
	}
	if owner := owned(there.Entry.Owner, volumeKind); slices.Contains(sharing, owner) && made == 0 {
		made = len(sharing) // a cluster that was rebuilt: the mark is on the disk, and nothing exists yet
	}
	if made > 0 && len(there.Entry.Partitions) > made {
		e.Report(finding.Error, "foreign-partitions", e.volume.source.disk.field, "has %s on node %s (%s), and the Volumes on it have %d; a disk with unmanaged partitions is not shared",
			finding.Count(len(there.Entry.Partitions), "partition"), e.node(), strings.Join(there.Entry.Partitions, ", "), made)
	}
}

// sharer is a Volume of source partition on a disk, of the package or alive.
type sharer struct {
	name, node string
	lives      bool
}

// findPartitions lists the Volumes of source partition on each disk.
func (r *rendering) findPartitions() map[*disk.Disk][]sharer {
	on := map[*disk.Disk][]sharer{}
	for _, e := range r.entries {
		if !e.isOf(partition) {
			continue
		}
		here, _ := e.host().resolve(e.volume.source.disk)
		for _, there := range here {
			on[there] = append(on[there], sharer{name: e.volume.name, node: e.volume.node})
		}
	}
	for _, o := range r.Facts.Objects(group, volumeKind) {
		v := readVolume(o)
		if v.source.kind != partition {
			continue
		}
		for _, there := range r.Disks.Named(v.source.disk.hold(v.node, "")) {
			on[there] = append(on[there], sharer{v.name, v.node, true})
		}
	}
	return on
}

// sharing lists the Volumes of source partition on a disk of a node, of the package and live, by name.
func (r *rendering) sharing(there *disk.Disk, node string) []string {
	var names []string
	for _, s := range r.partitions[there] {
		if !s.lives || s.node == node {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
