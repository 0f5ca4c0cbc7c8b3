package localvolume

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// typeNames are the sources of a Volume in the words of people.
//
// Source: MetalK8s, Volume types, 124.0.
func typeNames() map[string]string {
	return map[string]string{lvm: "LVM LV", sparse: "Sparse file", raw: "Whole disk", partition: "Partition", raid: "RAID"}
}

// Stock implements system.Stocker. Of a spec with errors in itself there is what it says.
func (r *rendering) Stock() stock.Stock {
	var s stock.Stock
	seen := map[krm.ID]bool{}
	add := func(o *krm.Object, e *entry, spec bool) {
		if seen[o.ID()] {
			return
		}
		seen[o.ID()] = true
		d := readDeclared(o)
		if d.group != nil {
			g := r.stockGroup(d, e)
			g.Spec = spec
			s.Groups = append(s.Groups, g)
			return
		}
		v := r.stockVolume(d, e)
		v.Spec = spec
		s.Volumes = append(s.Volumes, v)
	}
	for _, e := range r.sorted {
		add(e.Object, e, true)
	}
	for _, o := range r.Unsound {
		if o.Group() == group && (o.Kind == volumeKind || o.Kind == groupKind) {
			add(o, nil, true)
		}
	}
	for _, kind := range []string{volumeKind, groupKind} {
		for _, o := range r.Facts.Objects(group, kind) {
			add(o, nil, false)
		}
	}
	return s
}

// stateIn is the state of an object in the cluster.
func (r *rendering) stateIn(id krm.ID) stock.State {
	s := stateOf(r.Facts, r.Facts.Object(id))
	message := s.message
	if s.phase != health.OK {
		message = "is " + s.what
		if s.message != "" {
			message += ": " + s.message
		}
	}
	return stock.State{Phase: s.phase, Reason: s.reason, Message: message}
}

// stockVolume is a Volume for people; e is nil for one that is not rendered.
func (r *rendering) stockVolume(d declared, e *entry) stock.Volume {
	v := d.volume
	row := stock.Volume{
		Object: v.object.Ref, Node: v.node, Source: v.source.kind, Type: typeNames()[v.source.kind], Group: v.source.vg, Class: v.class,
		Size: stock.Unknown, Claim: boundTo(r.Facts, v.name), State: r.stateIn(v.object.ID()),
	}
	if v.source.size.bytes > 0 {
		row.Size = v.source.size.bytes
	}
	if persistentOf(r.Facts, v.name).object != nil {
		row.PV = v.name
	}
	if of := v.source.device(); !of.empty() {
		row.Device = of.path
		here, _ := host{v.node, r.Facts, r.Disks}.resolve(of)
		if len(here) > 0 {
			row.Device = here[0].Path
			if v.source.kind == raw && here[0].Size() > 0 {
				row.Size = here[0].Size()
			}
		}
	}
	if live := r.Facts.Object(v.object.ID()); live != nil && row.Size == stock.Unknown {
		if size, told := live.Node.Get("status", "size").Int(); told {
			row.Size = size
		}
	}
	if e != nil && e.template != nil {
		row.Owner = e.template.owner
	}
	row.Removal = r.removal(d)
	return row
}

// stockGroup is a VolumeGroup for people; e is nil for one that is not rendered.
func (r *rendering) stockGroup(d declared, e *entry) stock.Group {
	g := d.group
	at := site{g.node, g.vg}
	row := stock.Group{
		Object: g.object.Ref, LVM: g.vg, Node: g.node, Source: g.kind, Size: stock.Unknown, Free: stock.Unknown,
		Volumes: r.namesIn(at), State: r.stateIn(g.object.ID()),
	}
	for i, of := range g.disks {
		path := of.path
		if e != nil && i < len(e.disks) && e.disks[i] != nil {
			path = e.disks[i].Path
		}
		row.Devices = append(row.Devices, cmp.Or(path, of.serial, of.wwn))
	}
	switch g.kind {
	case sparseGroup:
		row.Devices = []string{"sparse file"}
	case volumeRef:
		row.Devices = []string{volumeKind + " " + g.volume}
	}
	if named := reportsOf(r.Facts)[g.node].named(g.vg); len(named) == 1 {
		row.Size, row.Devices = named[0].size, named[0].devices
	} else if e != nil {
		if size, known := r.capacity(e); known {
			row.Size = size
		}
	}
	if e != nil {
		row.Free = r.freeIn(at)
		if e.template != nil {
			row.Owner = e.template.owner
		}
	}
	row.Removal = r.removal(d)
	return row
}

// namesIn are the Volumes in a group, of the package and in the cluster, by name.
func (r *rendering) namesIn(at site) []string {
	names := []string{}
	for _, e := range r.entries {
		if e.isOf(lvm) && e.volume.node == at.node && e.volume.source.vg == at.vg {
			names = append(names, e.volume.name)
		}
	}
	for _, v := range livingOf(r.Facts).inside[at] {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// freeIn is how much a new Volume may have of a group, in bytes: what the others want and have not got is taken.
func (r *rendering) freeIn(at site) int64 {
	var inside []*entry
	for _, e := range r.sorted {
		if e.isOf(lvm) && e.volume.node == at.node && e.volume.source.vg == at.vg {
			inside = append(inside, e)
		}
	}
	g := r.groupAt(at, nil)
	if g == nil || g.unknown {
		return stock.Unknown
	}
	free := g.free
	for _, e := range inside {
		free -= max(0, roundUp(e.volume.source.size.bytes, g.extent)-g.has(e))
	}
	return roundDown(max(0, free), g.extent)
}

// removal is what taking an object out of the package comes to. The Volumes of a group are taken out with it.
func (r *rendering) removal(d declared) stock.Removal {
	rest := *r
	rest.entries = slices.DeleteFunc(slices.Clone(r.entries), func(e *entry) bool {
		if g := d.group; g != nil {
			return e.group != nil && e.group.name == g.name || e.isOf(lvm) && e.volume.node == g.node && e.volume.source.vg == g.vg
		}
		return e.volume != nil && e.volume.name == d.volume.name
	})
	judge := func(cascade bool) *leaving {
		l := &leaving{rendering: &rest, lock: lock{declared: d}, how: "is to go", undo: "keep it"}
		if d.group != nil {
			g := *d.group
			g.cascade = g.cascade || cascade
			l.lock.group, l.object, l.gone = &g, g.object, system.Gone{ID: g.id()}
		} else {
			l.object, l.gone = d.volume.object, system.Gone{ID: volumeID(d.volume.name)}
		}
		l.judge()
		return l
	}
	l := judge(false)
	var gone stock.Removal
	if gone.Refused = firstError(l.findings); gone.Refused != "" && d.group != nil {
		if with := judge(true); firstError(with.findings) == "" {
			gone.Cascade = annotationCascade
		}
	}
	if note := strings.TrimPrefix(l.note, "; "); note != "" {
		gone.Data = strings.ToUpper(note[:1]) + note[1:] + "."
	}
	for _, f := range l.findings {
		if f.Severity == finding.Warning && gone.Data == "" {
			gone.Data = f.Object.String() + " " + f.Message + "."
		}
	}
	return gone
}

// firstError is the message of the first error, or "".
func firstError(fs []finding.Finding) string {
	for _, f := range fs {
		if f.Severity == finding.Error {
			return f.Message
		}
	}
	return ""
}
