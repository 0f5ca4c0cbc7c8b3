package localvolume

import (
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// Plain implements system.Rememberer: a Volume or a VolumeGroup with its defaults, and nothing
// that only the cluster or an engine needs.
func (System) Plain(o *krm.Object) *krm.Object {
	var l lock
	switch o.GroupKind() {
	case lockGroupKind():
		l = readLock(o)
	case volumeGroupKind(), groupGroupKind():
		l = lockOfObject(o)
	default:
		return nil
	}
	spec := d.Object()
	add := func(key, value string) {
		if value != "" {
			spec.Set(key, d.Text(value))
		}
	}
	add("nodeName", l.node())
	kind, name := volumeKind, ""
	if g := l.group; g != nil {
		kind, name = groupKind, g.name
		add("name", g.vg)
		add("physicalExtentSize", g.extent.text)
		addTags(&spec, g.tags)
		if g.source != nil {
			spec.Set(g.kind, g.source.Made())
		}
	} else {
		v := l.volume
		name = v.name
		add("storageClassName", v.class)
		add("mode", v.mode)
		add("wipe", v.wipeWritten())
		if v.template != nil {
			spec.Set("template", v.template.Made())
		}
		if v.source.node != nil {
			spec.Set(v.source.kind, v.source.node.Made())
		}
	}
	plain := krm.Make(group+"/"+version, kind, "", name, d.F("spec", spec))
	switch {
	case l.group != nil && l.group.cascade:
		plain.SetAnnotation(annotationCascade, "true")
	case l.volume != nil:
		for _, a := range []struct{ key, value string }{{annotationReclaim, l.volume.reclaim}, {annotationAdopt, l.volume.adopt}} {
			if a.value != "" {
				plain.SetAnnotation(a.key, a.value)
			}
		}
	}
	return plain
}

// Along implements system.Rememberer: the Volumes that go with their group, where that says so.
//
// Source: Kubernetes, Persistent Volumes (Reclaiming), 1.36.
func (System) Along(facts *inventory.Facts, manifests []*krm.Object, gone *krm.Object) []*change.Change {
	if gone.GroupKind() != groupGroupKind() {
		return nil
	}
	g := readGroup(gone)
	l := leaving{rendering: &rendering{}}
	l.Facts = facts
	if cascade, _ := l.cascade(&g); !cascade {
		return nil
	}
	var all []*change.Change
	for _, name := range l.volumesIn(&g) {
		live := facts.Object(volumeID(name))
		if live == nil {
			continue
		}
		c := &change.Change{Ref: live.Ref, Action: change.Remove, Old: live}
		v := readVolume(live)
		risk, text := change.Destructive, "goes before "+groupKind+" "+g.name+", which takes its Volumes along"
		switch reclaimPolicy(facts, manifests, &v) {
		case "Delete":
			text += ", and its data with them"
		case "Retain":
			risk = change.Disruptive
			text += "; its logical volume stays, as its reclaim policy says, and the group goes when that was removed"
		default:
			text += "; what becomes of its data is not known: its class is not among the facts"
		}
		c.Judge(risk, "", text)
		all = append(all, c)
	}
	return all
}
