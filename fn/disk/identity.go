package disk

import (
	"slices"
	"strings"
)

// Identity is what a disk is known by, wherever it is plugged in: its WWN, its serial
// number, and its links below /dev/disk/by-id. What has none of them is known by its node
// and path, with less trust.
type Identity struct {
	WWN    string   // 0x and lower case hexadecimal digits, or ""
	Serial string   // as the disk says it, without spaces around it, or ""
	Links  []string // below /dev/disk/by-id, of the whole disk, sorted
	Node   string   // the name of its node
	Path   string   // a by-path link, or else a kernel name such as /dev/sdb
}

// WWN reads a world wide name as tools write it (0x5000c5..., naa.5000C5..., wwn-0x5000...,
// eui.0025...), for comparison.
func WWN(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, prefix := range []string{"wwn-", "nvme-", "scsi-3", "naa.", "eui.", "0x"} {
		text = strings.TrimPrefix(text, prefix)
	}
	if text == "" {
		return ""
	}
	return "0x" + text
}

// keys are the names that no two disks share, the most trusted first; empty where a disk
// has none.
func (id Identity) keys() []string {
	var keys []string
	if id.WWN != "" {
		keys = append(keys, "WWN "+id.WWN)
	}
	if id.Serial != "" {
		keys = append(keys, "serial number "+id.Serial)
	}
	for _, link := range slices.Sorted(slices.Values(id.Links)) {
		keys = append(keys, "link "+link)
	}
	return keys
}

// place is the name of last resort.
func (id Identity) place() string {
	if id.Node == "" || id.Path == "" {
		return ""
	}
	return id.Node + " " + id.Path
}

// String is the most trusted name, for sorting and for people.
func (id Identity) String() string {
	switch {
	case id.WWN != "":
		return id.WWN
	case id.Serial != "":
		return id.Serial
	case len(id.Links) > 0:
		return slices.Min(id.Links)
	}
	return id.Path
}
