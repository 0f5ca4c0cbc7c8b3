package disk

import (
	"path"
	"slices"
	"strings"
)

// ContentLink reports whether a link below /dev/disk names what is on a disk, and not the disk:
// such a link comes, goes and moves to another disk with the content, and is no identity.
// The names are those of udev's rules 60-persistent-storage, 13-dm-disk and
// 63-md-raid-arrays.
func ContentLink(link string) bool {
	name, found := strings.CutPrefix(link, byID)
	if !found {
		folder, rest, _ := strings.Cut(strings.TrimPrefix(link, "/dev/disk/"), "/")
		if slices.Contains([]string{"by-uuid", "by-label", "by-partuuid", "by-partlabel"}, folder) {
			return true
		}
		name = rest
	}
	if name == "" || strings.IndexByte("dlmr", name[0]) < 0 {
		return false // as most
	}
	if strings.HasPrefix(name, "dm-uuid-") {
		return !strings.HasPrefix(name, "dm-uuid-mpath-") // a multipath disk, named by its WWN
	}
	for _, prefix := range [...]string{"lvm-pv-uuid-", "dm-name-", "md-name-", "md-uuid-", "raid-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// canBeWritten reports whether every definition that names a disk by a link takes this one: it
// has printable ASCII characters alone, and none that separates one field from another.
func canBeWritten(link string) bool {
	name := baseOf(link)
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == ',' || c == '?' {
			return false
		}
	}
	return name != "" && name[0] != '.'
}

// baseOf is the name of a link, without its folder.
func baseOf(link string) string { return link[strings.LastIndexByte(link, '/')+1:] }

// namesDisk reports whether an object may name a disk by a link.
func namesDisk(link string) bool { return canBeWritten(link) && !ContentLink(link) }

// ByID is the by-id link by which an object names the disk, or "". A link that was made of a
// world wide name is the same in any node and on any bus.
func (d *Disk) ByID() string {
	best, trust := "", 0
	for _, link := range d.Known().Links {
		if !namesDisk(link) {
			continue
		}
		rank, name := 0, baseOf(link)
		for _, prefix := range [...]string{"nvme-eui.", "wwn-", "scsi-3"} {
			if strings.HasPrefix(name, prefix) {
				break
			}
			rank++
		}
		if best == "" || rank < trust || rank == trust && link < best {
			best, trust = link, rank
		}
	}
	return best
}

// NoByID says why the disk has no ByID.
func (d *Disk) NoByID() string {
	if len(d.Known().Links) > 0 {
		return "it has no link below /dev/disk/by-id without a space, a comma, a question mark or a special character"
	}
	content := ""
	for link := range d.paths() {
		if strings.HasPrefix(link, byID) && wholeDisk(link) == link && (content == "" || link < content) {
			content = link
		}
	}
	if content != "" {
		return "its only link below /dev/disk/by-id names its content and not the disk: " + path.Base(content)
	}
	return "it has no link below /dev/disk/by-id"
}

// ByPath is the first link of the whole disk that says where it is plugged in and by which an object
// may name it, "" where it has none. Where other reports have each such link, shared is one of them: an
// object that names the link may get either disk.
func (l *Ledger) ByPath(d *Disk) (link string, shared *Disk) {
	for _, link := range slices.Sorted(d.paths()) {
		if !strings.Contains(link, "/by-path/") || wholeDisk(link) != link || !namesDisk(link) {
			continue
		}
		at := l.at(l.NodeOf(d), link)
		i := slices.IndexFunc(at, func(o *Disk) bool { return !o.Inactive() && o.class.whole() != d.class.whole() })
		if i < 0 {
			return link, nil
		}
		shared = at[i]
	}
	return "", shared
}
