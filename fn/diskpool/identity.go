package diskpool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
)

// mark is what a pool remembers of its disk (annotation poolwright.io/disk).
type mark struct{ wwn, serial, size string }

// markOf is the mark of a disk; size is in bytes.
func markOf(d *disk.Disk) mark {
	id := d.Known()
	m := mark{wwn: id.WWN, serial: id.Serial}
	if size := d.Size(); size > 0 {
		m.size = strconv.FormatInt(size, 10)
	}
	return m
}

// String leaves out what is not known.
func (m mark) String() string {
	var parts []string
	for _, p := range []struct{ key, value string }{{"wwn", m.wwn}, {"serial", m.serial}, {"size", m.size}} {
		if p.value != "" {
			parts = append(parts, p.key+"="+p.value)
		}
	}
	return strings.Join(parts, ",")
}

// readMark reads an annotation; a serial number may have commas.
func readMark(text string) mark {
	var m mark
	if rest, found := strings.CutPrefix(text, "wwn="); found {
		wwn, rest, _ := strings.Cut(rest, ",")
		m.wwn, text = disk.WWN(wwn), rest
	}
	if i := strings.LastIndex(text, "size="); i == 0 || i > 0 && text[i-1] == ',' {
		m.size, text = text[i+len("size="):], strings.TrimSuffix(text[:i], ",")
	}
	m.serial = strings.TrimPrefix(text, "serial=")
	return m
}

// stableID is by what the name of a pool knows its disk: its WWN, else its serial number,
// else its by-id link, else its place in its node.
func stableID(d *disk.Disk, node, byPath string) string {
	id := d.Known()
	return cmp.Or(id.WWN, id.Serial, d.ByID(), node+" "+byPath)
}

// linkOf is the link by which a new pool is to name a disk, or why there is none.
func (in *input) linkOf(d *disk.Disk) (link, reason string) {
	if link = d.ByID(); link != "" {
		return link, ""
	}
	allowed := in.cfg.Spec.AllowByPath
	switch byPath, shared := in.Disks.ByPath(d); {
	case allowed && byPath != "":
		return byPath, ""
	case byPath != "":
		return "", d.NoByID() + "; allowByPath: true takes it by the place where it is plugged in"
	case shared != nil:
		return "", d.NoByID() + ", and " + shared.Ref().String() + " has the same links below /dev/disk/by-path"
	case allowed:
		return "", d.NoByID() + " and none below /dev/disk/by-path, and its kernel name may be that of another disk tomorrow"
	}
	return "", d.NoByID() + ", and its kernel name may be that of another disk tomorrow"
}

// maxName is the longest name of a pool: Mayastor uses it where labels go.
//
// Source: Kubernetes, Labels and Selectors, 1.36.
const maxName = 63

// poolName derives the name of a new pool. One that would be too long is cut and ends in
// a hash of the whole.
func poolName(set, node, id string) string {
	name := set + "-" + node + "-" + hash(id)
	if len(name) <= maxName {
		return name
	}
	sum := hash(name)
	return strings.TrimRight(name[:maxName-len(sum)-1], "-.") + "-" + sum
}

// hash is the first four bytes of a SHA-256 sum, in hexadecimal digits.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
