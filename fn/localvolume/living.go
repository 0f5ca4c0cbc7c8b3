package localvolume

import "github.com/poolwright/poolwright/fn/inventory"

// living are the Volumes and VolumeGroups that live.
type living struct {
	groups []volumeGroup
	group  map[site]*volumeGroup // the first of an LVM name on a node
	inside map[site][]volume     // those in an LVM group, of a VolumeGroup or not
}

// livingKey is the key of what livingOf reads.
type livingKey struct{}

// livingOf reads what is in the cluster, once a run.
func livingOf(facts *inventory.Facts) *living {
	return inventory.Once(facts, livingKey{}, func(facts *inventory.Facts) *living {
		l := &living{group: map[site]*volumeGroup{}, inside: map[site][]volume{}}
		for _, o := range facts.Objects(group, groupKind) {
			l.groups = append(l.groups, readGroup(o))
		}
		for i := range l.groups {
			g := &l.groups[i]
			if at := (site{g.node, g.vg}); l.group[at] == nil {
				l.group[at] = g
			}
		}
		for _, o := range facts.Objects(group, volumeKind) {
			if v := readVolume(o); v.source.kind == lvm {
				at := site{v.node, v.source.vg}
				l.inside[at] = append(l.inside[at], v)
			}
		}
		return l
	})
}

// groupsOf are the VolumeGroups that live.
func groupsOf(facts *inventory.Facts) []volumeGroup { return livingOf(facts).groups }
