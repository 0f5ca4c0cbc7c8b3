package disk

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
)

// Use is what an object that has a disk makes of it, and what it remembers.
type Use struct {
	Path    string   // by which the object names the disk, "" for none
	Size    int64    // bytes that it had, 0 where that is not known
	Content []string // what the object puts on the disk, as reports call it
	Own     bool     // whatever is on the disk is the object's
}

// Recheck says what has become of a disk that an object has, so that it may be the wrong one
// or lose its data: content that the object did not make, fewer bytes, and a link that names
// another disk now. A disk that is missing is said to be so elsewhere.
func (l *Ledger) Recheck(d *Disk, use Use) []string {
	if d == nil || d.Missing() {
		return nil
	}
	want := Want{
		Mine: func(Holder) bool { return true }, Volumes: func(*inventory.Volume) bool { return true },
		MinCapacity: use.Size, Own: use.Own || d.hasOnly(use.Content),
	}
	verdict := l.Verdict(d, want)
	var reasons []string
	for _, rule := range []Rule{ForeignData, Partitioned, Mounted, TooSmall} {
		if reason := verdict.Of(rule); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if renamed := l.Renamed(d, []string{use.Path}); renamed != "" {
		reasons = append(reasons, renamed)
	}
	return reasons
}

// Renamed says which of the links by which a disk was known names another disk now, or "".
func (l *Ledger) Renamed(d *Disk, links []string) string {
	for _, link := range links {
		if other := l.namedInstead(d, link); other != nil {
			return link + " names another disk now, " + other.called()
		}
	}
	return ""
}

// hasOnly reports whether a disk has some content, and none but this.
func (d *Disk) hasOnly(content []string) bool {
	var have []string
	if d.Device != nil && d.Device.Filesystem != "" {
		have = append(have, d.Device.Filesystem)
	}
	if d.Entry != nil {
		have = append(have, d.Entry.Content...)
	}
	return len(have) > 0 && !slices.ContainsFunc(have, func(c string) bool { return !slices.Contains(content, c) })
}

// namedInstead finds the disk that has a link which one is named by, and which that has lost;
// nil for none.
func (l *Ledger) namedInstead(d *Disk, path string) *Disk {
	if path == "" || d.HasLink(path) {
		return nil
	}
	i := slices.IndexFunc(l.disks, func(o *Disk) bool {
		here := strings.Contains(path, "/by-id/") || l.NodeOf(o) == l.NodeOf(d)
		return here && !o.Inactive() && o.HasLink(path) && !slices.Contains(d.Others(), o)
	})
	if i < 0 {
		return nil
	}
	return l.disks[i]
}

// HasLink reports whether a report of the disk has a path or a link now.
func (d *Disk) HasLink(link string) bool {
	return d.HasPath(func(path string) bool { return path == link }) || d.Entry != nil && slices.Contains(d.Entry.Links, link)
}
