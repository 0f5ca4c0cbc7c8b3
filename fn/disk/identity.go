package disk

import (
	"cmp"
	"slices"
	"strings"
)

// Identity is what a report or an object says a disk is known by: its WWN, its serial number, and
// its links below /dev/disk/by-id, which are its own wherever it is plugged in; and the node and
// path where it is, which say less. How two identities compare is in evidence.go.
type Identity struct {
	WWN    string   // 0x and lower case hexadecimal digits, or ""
	Serial string   // as the disk says it, without spaces around it, or ""
	Links  []string // below /dev/disk/by-id, of the whole disk, sorted
	Node   string   // the name of its node, or its hostname label
	Path   string   // a by-path link, or a kernel name such as /dev/sdb
}

// WWN reads a world wide name as tools write it (0x5000c5..., naa.5000C5..., wwn-0x5000...,
// eui.0025...), for comparison.
func WWN(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, prefix := range [...]string{"wwn-", "nvme-", "naa.", "eui."} {
		text = strings.TrimPrefix(text, prefix)
	}
	switch digits, prefixed := strings.CutPrefix(text, "0x"); {
	case digits == "":
		return ""
	case prefixed:
		return text
	}
	return "0x" + text
}

// wwnOf finds the WWN in the links of a disk.
func wwnOf(links []string) string {
	for _, link := range links {
		if kind, value := readLink(link); kind == worldWide {
			if wwn := link[max(0, len(link)-len(value)-2):]; wwn[2:] == value && strings.HasPrefix(wwn, "0x") {
				return wwn // a part of the link needs no memory of its own
			}
			return "0x" + value
		}
	}
	return ""
}

// wholeLinks are the links that identify a whole disk wherever it is, sorted.
func wholeLinks(links []string) []string {
	names := func(link string) bool {
		return strings.HasPrefix(link, byID) && !ContentLink(link) && wholeDisk(link) == link
	}
	if slices.IsSorted(links) && !slices.ContainsFunc(links, func(link string) bool { return !names(link) }) {
		return slices.Clip(links)
	}
	var whole []string
	for _, link := range links {
		if names(link) {
			whole = append(whole, link)
		}
	}
	slices.Sort(whole)
	return whole
}

// wholeDisk takes the number of a partition off a path: /dev/sdb1, /dev/nvme0n1p1 and
// /dev/disk/by-id/x-part1 lie on /dev/sdb, /dev/nvme0n1 and /dev/disk/by-id/x.
func wholeDisk(path string) string {
	end := len(path)
	for end > 0 && path[end-1] >= '0' && path[end-1] <= '9' {
		end--
	}
	bare := path[:end]
	switch {
	case end == len(path):
		return path
	case strings.HasSuffix(bare, "-part"):
		return strings.TrimSuffix(bare, "-part")
	case strings.HasPrefix(path, "/dev/disk/"):
		return path
	case strings.HasPrefix(path, "/dev/nvme"), strings.HasPrefix(path, "/dev/mmcblk"), strings.HasPrefix(path, "/dev/loop"):
		if disk, found := strings.CutSuffix(bare, "p"); found && disk != "/dev/loo" {
			return disk
		}
		return path
	case strings.HasPrefix(path, "/dev/sd"), strings.HasPrefix(path, "/dev/vd"), strings.HasPrefix(path, "/dev/xvd"), strings.HasPrefix(path, "/dev/hd"):
		return bare
	}
	return path
}

// names reports whether two identities name a disk by the same things, wherever it is.
func (id *Identity) names(other *Identity) bool {
	return id.WWN == other.WWN && id.Serial == other.Serial && slices.Equal(id.Links, other.Links)
}

// With is the identity with what another one of the same disk says besides.
func (id Identity) With(also Identity) Identity {
	id.WWN, id.Serial = cmp.Or(id.WWN, also.WWN), cmp.Or(id.Serial, also.Serial)
	id.Links = slices.Concat(id.Links, also.Links)
	slices.Sort(id.Links)
	id.Links = slices.Compact(id.Links)
	return id
}

// Says reports whether an identity says all that distinguishes the disk from others which another one says: a
// link below /dev/disk/by-id that is made of the WWN or of the serial number adds nothing to these.
func (id *Identity) Says(other *Identity) bool {
	var mine, more [8]string
	keys := id.keys(mine[:0])
	for _, key := range other.keys(more[:0]) {
		if !slices.Contains(keys, key) {
			return false
		}
	}
	return true
}

// Empty reports whether nothing distinguishes the disk from others.
func (id Identity) Empty() bool { return id.WWN == "" && id.Serial == "" && len(id.Links) == 0 }

// String is the most trusted name, for sorting and for people.
func (id Identity) String() string {
	switch {
	case id.WWN != "":
		return id.WWN
	case id.Serial != "":
		return id.Serial
	case len(id.Links) > 0:
		return id.Links[0]
	}
	return id.Path
}
