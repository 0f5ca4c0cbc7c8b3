package disk

import (
	"cmp"
	"slices"
	"strings"
)

// ByPath is the identity of the disk on a node, given by name or hostname label, that an
// object names by a path: a link below /dev/disk, a kernel name, or a partition.
func ByPath(node, path string) Identity {
	id := Identity{Node: node, Path: path}
	if strings.Contains(path, "/by-id/") {
		id.Links = []string{wholeDisk(path)}
		id.WWN = wwnOf(id.Links)
	}
	return id
}

// HasPath reports whether one of the paths by which the disk is known on its node is one
// that is meant: kernel names and links.
func (d *Disk) HasPath(means func(path string) bool) bool {
	if d.Path != "" && means(d.Path) || slices.ContainsFunc(d.Links, means) {
		return true
	}
	return d.Device != nil && (means(d.Device.Path) || slices.ContainsFunc(d.Device.Links, means))
}

// ByID is the by-id link by which an object is to name the disk, or "". A link that was
// made of a world wide name is the same in any node and on any bus.
func (d *Disk) ByID() string {
	links := d.Known().Links
	rank := func(link string) int {
		name := link[strings.LastIndexByte(link, '/')+1:]
		for i, prefix := range []string{"nvme-eui.", "wwn-", "scsi-3"} {
			if strings.HasPrefix(name, prefix) {
				return i
			}
		}
		return 3
	}
	if len(links) == 0 {
		return ""
	}
	return slices.MinFunc(links, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
}

// ByPathLinks lists the links of the whole disk that say where it is plugged in, sorted.
func (d *Disk) ByPathLinks() []string {
	var all, links []string
	if d.Device != nil {
		all = append(all, d.Device.Links...)
	}
	if d.Entry != nil {
		all = append(all, d.Entry.Links...)
	}
	for _, link := range all {
		if strings.Contains(link, "/by-path/") && wholeDisk(link) == link {
			links = append(links, link)
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// Partition takes the path of a partition apart: the whole disk that it lies on, and its
// number, "" for a path that is of no partition.
func Partition(path string) (whole, number string) {
	whole = wholeDisk(path)
	if whole == path {
		return path, ""
	}
	return whole, path[len(strings.TrimRight(path, "0123456789")):]
}
