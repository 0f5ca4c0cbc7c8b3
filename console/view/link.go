package view

import (
	"cmp"
	"net/url"

	"github.com/poolwright/poolwright/schema/finding"
)

// Path joins the parts of the path of a page, each of which may be any text.
func Path(parts ...string) string {
	path := ""
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// SpecLink is the page of a spec.
func SpecLink(ref finding.Ref) string {
	return Path("specs", ref.Kind, cmp.Or(ref.Namespace, "-"), ref.Name)
}

// DiskLink is the page of a disk.
func DiskLink(d *Disk) string { return Path("disks", string(d.Node), d.Name()) }
