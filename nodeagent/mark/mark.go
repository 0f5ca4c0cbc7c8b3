// Package mark is by which the data of an object is known again, also in a cluster that
// was rebuilt: UUIDs that follow from what is declared, and tags of LVM. The UID of an
// object is no mark, because it is another one after a rebuild.
package mark

import (
	"strings"

	"github.com/google/uuid"
)

// space is the namespace of all UUIDs of Poolwright (RFC 9562, version 5). It must never
// change: with another one no data would be known again.
var space = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("poolwright.io"))

// Cluster makes the marks of one cluster, whose name a person declares. It survives a
// rebuild of the cluster, and two clusters of one name would take each other's data.
type Cluster string

// Of is the mark of an object: the UUID of its filesystem or of its partition, and a tag
// of its logical volume. It is lower case.
func (c Cluster) Of(kind, name, node string) string { return c.uuid(kind, name, node) }

// Table is the GUID of the partition table on a disk, which several Volumes may share.
func (c Cluster) Table(node, wwn, serial string) string { return c.uuid("disk", wwn, serial, node) }

// uuid joins its parts with a byte that none of them has, so that no two lists are alike.
func (c Cluster) uuid(parts ...string) string {
	return uuid.NewSHA1(space, []byte(string(c)+"\x00"+strings.Join(parts, "\x00"))).String()
}

// Tags of LVM. Those of a person must not begin with Prefix.
const (
	Prefix = "poolwright.io_"
	// New is on a logical volume that is not finished, and on none that ever held data.
	New = Prefix + "new"
	// Released is on a logical volume whose Volume was deleted and whose data was kept.
	Released = Prefix + "released"
)

// Tag carries the mark.
func Tag(uuid string) string { return Prefix + "uuid=" + uuid }

// FromTags finds the mark among the tags of a group or a logical volume, or "". More than
// one mark is none: somebody has copied tags.
func FromTags(tags []string) string {
	found := ""
	for _, tag := range tags {
		value, ok := strings.CutPrefix(tag, Prefix+"uuid=")
		switch {
		case !ok:
		case found != "" && found != value:
			return ""
		default:
			found = value
		}
	}
	return found
}

// Short is a mark as the name of a virtual drive of a RAID controller, which has at most 15
// characters: a hash, and not a name that is cut.
func Short(uuid string) string { return "pw-" + strings.ReplaceAll(uuid, "-", "")[20:] }

// Is reports whether text is the mark of a UUID: the UUID itself, or the name of a virtual drive.
func Is(uuid, text string) bool { return text == uuid || text == Short(uuid) }
