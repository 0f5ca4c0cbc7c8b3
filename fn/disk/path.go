package disk

import "strings"

// ByPath is the identity of the disk on a node, given by name or hostname label, that an
// object names by a path: a link below /dev/disk, a kernel name, or a partition.
func ByPath(node, path string) Identity {
	id := Identity{Node: node, Path: path}
	if strings.HasPrefix(path, byID) && !ContentLink(path) {
		id.Links = []string{wholeDisk(path)}
		id.WWN = wwnOf(id.Links)
	}
	return id
}

// HasLinks reports whether any link of the disk in a folder below /dev/disk, such as by-path, is known.
func (d *Disk) HasLinks(folder string) bool {
	return d.HasPath(func(path string) bool { return strings.HasPrefix(path, "/dev/disk/"+folder+"/") })
}

// HasPath reports whether one of the paths by which the disk is known on its node is one
// that is meant: kernel names and links.
func (d *Disk) HasPath(means func(path string) bool) bool {
	for path := range d.paths() {
		if means(path) {
			return true
		}
	}
	return false
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
