package disk

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
)

// volumeIndex finds PersistentVolumes by what they say of their disks.
type volumeIndex struct {
	numbers map[string][]*inventory.Volume // as in Identity.keys
	names   map[string][]placed            // the end of a link
	paths   map[string][]*inventory.Volume // of whole disks
	luns    map[string][]*inventory.Volume // see lunOf
}

// placed is a volume that is meant on one node alone; "" for any.
type placed struct {
	*inventory.Volume
	host string
}

// enterVolumes finds the disk that each PersistentVolume is. That of a local volume that no
// report shows is entered, too: it is one of its node.
func (l *Ledger) enterVolumes() {
	volumes := l.facts.Volumes()
	if len(volumes) == 0 {
		return
	}
	index := newVolumeIndex(l.facts, volumes)
	shown := map[*inventory.Volume]bool{}
	for _, d := range l.disks {
		d.volumes = index.of(l, d)
		for _, v := range d.volumes {
			shown[v] = true
		}
	}
	for _, v := range volumes {
		if shown[v] || !strings.HasPrefix(v.Path, "/dev/") || ContentLink(v.Path) {
			continue
		}
		for _, host := range v.Hosts {
			id := ByPath(host, wholeDisk(v.Path))
			if d := (&Disk{Identity: id}); !id.Empty() || d.hasKernelName() || strings.Contains(v.Path, "/by-path/") {
				l.miss(d).volumes = []*inventory.Volume{v}
			}
		}
	}
}

func newVolumeIndex(facts *inventory.Facts, volumes []*inventory.Volume) *volumeIndex {
	x := &volumeIndex{
		numbers: map[string][]*inventory.Volume{}, names: map[string][]placed{},
		paths: map[string][]*inventory.Volume{}, luns: map[string][]*inventory.Volume{},
	}
	for _, v := range volumes {
		for _, name := range facts.LinkNames(v) {
			x.names[name.Name] = append(x.names[name.Name], placed{v, name.Host})
			x.number(Identity{Serial: name.Serial}, v)
		}
		if v.Path != "" {
			whole := wholeDisk(v.Path)
			x.paths[whole] = append(x.paths[whole], v)
			x.number(ByPath("", whole), v)
		}
		if fc := v.FC; fc != nil {
			for _, wwid := range fc.WWIDs {
				x.number(Identity{Links: []string{byID + "scsi-" + wwid}}, v)
			}
			for _, port := range fc.WWNs {
				x.lun(fmt.Sprintf("fc-0x%s-lun-%d", port, fc.LUN), v)
			}
		}
		if v.ISCSI != nil {
			x.lun(fmt.Sprintf("iscsi-%s-lun-%d", v.ISCSI.IQN, v.ISCSI.LUN), v)
		}
	}
	return x
}

func (x *volumeIndex) number(id Identity, v *inventory.Volume) {
	for _, key := range id.keys(nil) {
		if !slices.Contains(x.numbers[key], v) {
			x.numbers[key] = append(x.numbers[key], v)
		}
	}
}

func (x *volumeIndex) lun(name string, v *inventory.Volume) { x.luns[name] = append(x.luns[name], v) }

// of lists the volumes that a reported disk is, by name.
func (x *volumeIndex) of(l *Ledger, d *Disk) []*inventory.Volume {
	var found []*inventory.Volume
	add := func(volumes ...*inventory.Volume) {
		for _, v := range volumes {
			if !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
	}
	var room [8]string
	id := d.Known()
	for _, key := range id.keys(room[:0]) {
		add(x.numbers[key]...)
	}
	on := func(host string) bool {
		hosts := l.hosts(host)
		return slices.ContainsFunc(d.sites, func(s *site) bool { return slices.Contains(hosts, s.host) })
	}
	for p := range d.paths() {
		for _, v := range x.paths[p] {
			if !v.Pinned || strings.Contains(p, byID) || slices.ContainsFunc(v.Hosts, on) {
				add(v)
			}
		}
		for _, name := range ends(p) {
			for _, v := range x.names[name] {
				if v.host == "" || on(v.host) {
					add(v.Volume)
				}
			}
		}
		if lun := lunOf(p); lun != "" {
			add(x.luns[lun]...)
		}
	}
	slices.SortFunc(found, func(a, b *inventory.Volume) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// ends lists the ends of a link that may name a volume: its last component, and for Azure the last
// three and four.
func ends(link string) []string {
	names := []string{path.Base(link)}
	if at := strings.Index(link, "/azure/"); at >= 0 {
		names = append(names, link[at+1:])
	}
	return names
}

// lunOf is the part of a by-path link that names a LUN of a target, or "".
func lunOf(link string) string {
	if !strings.HasPrefix(link, "/dev/disk/by-path/") {
		return ""
	}
	for _, bus := range [...]string{"-iscsi-", "-fc-0x"} {
		if at := strings.Index(link, bus); at >= 0 {
			return strings.ToLower(wholeDisk(link)[at+1:])
		}
	}
	return ""
}

// Volumes lists the PersistentVolumes that the disk is, whoever reports it.
func (d *Disk) Volumes() []*inventory.Volume {
	same := d.same()
	if len(same) == 1 {
		return d.volumes
	}
	var all []*inventory.Volume
	for _, o := range same {
		for _, v := range o.volumes {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	return all
}

// VolumesOn lists the PersistentVolumes that a BlockDevice of the facts is.
func VolumesOn(facts *inventory.Facts, device *inventory.BlockDevice) []*inventory.Volume {
	type reported struct{}
	return inventory.Once(facts, reported{}, NewLedger).Of(device).Volumes()
}
