package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
)

// shows reports whether the facts show that a disk is the one of the object: by the mark on it,
// by the filesystem or the partition that carries the UID of the object, as MetalK8s makes them,
// or by the path of its PersistentVolume.
func (n *namedDisk) shows(there *disk.Disk) bool {
	if entry := there.Entry; entry != nil && entry.Owner != "" {
		shared := n.isOf(partition) && slices.Contains(n.all.sharing(there, n.node()), owned(entry.Owner, volumeKind))
		return shared || entry.Owner == ownerOf(n.Object.Kind, n.Object.Name)
	}
	if n.was.live == nil {
		return false
	}
	var paths []string
	if uid := n.was.live.Node.Str("metadata", "uid"); uid != "" {
		paths = append(paths, "/dev/disk/by-uuid/"+uid, "/dev/disk/by-partuuid/"+uid)
	}
	if pv := persistentOf(n.Facts, n.Object.Name).object; pv != nil && n.volume != nil {
		path := device{path: pv.Node.Str("spec", "local", "path")}
		if path.path != "" && !path.kernelName() {
			paths = append(paths, path.path)
		}
	}
	has := func(path string) bool { return slices.Contains(paths, path) }
	return there.HasPath(has) || there.Entry != nil && slices.ContainsFunc(there.Entry.Links, has)
}

// behind finds the disk of an object that was there before under a kernel name, which may be
// the name of another disk now. at are the disks that have the name now. known is false where
// nothing shows which disk it is.
func (n *namedDisk) behind(at []*disk.Disk) (there []*disk.Disk, known bool) {
	was := slices.ContainsFunc(n.was.disks(), func(was device) bool { return was.path == n.of.path })
	if !n.of.kernelName() || !was || n.isOf(raid) || slices.ContainsFunc(at, n.shows) {
		return at, true
	}
	for _, d := range n.Disks.Disks() {
		if !d.Inactive() && n.host().has(d) && n.shows(d) {
			there = append(there, d)
		}
	}
	if len(n.named()) == 1 && len(there) == 1 {
		return there, true
	}
	return nil, false
}

// reportUnshown reports that nothing shows which disk the object is on.
func (n *namedDisk) reportUnshown() {
	n.report(finding.Warning, "kernel-name", "is a kernel name, which may be that of another disk than when the %s was made, and nothing in the inventory shows the disk of the %[1]s; find it on node %s, and write its link below /dev/disk/by-id", n.Object.Kind, n.node())
}

// isBehind reports whether a disk is the one that an object had under a kernel name. Where
// nothing shows that, a person who writes what it is decides; but an empty disk is not that of
// an object that was made.
func (e edit) isBehind(is []*disk.Disk, was device) bool {
	n := e.disk(was)
	at, _ := e.host().resolve(was)
	there, known := n.behind(at)
	same := func(d *disk.Disk) bool { return slices.Contains(is, d) }
	if known {
		return slices.ContainsFunc(there, same)
	}
	made := wasMade(e.Facts, e.was.live)
	return slices.ContainsFunc(at, func(d *disk.Disk) bool { return same(d) && !(made && d.NotEmpty() == "") })
}
