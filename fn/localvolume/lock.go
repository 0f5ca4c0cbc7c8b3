package localvolume

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// lock is what is remembered of a Volume or a VolumeGroup of a person, and of the disks that it is on, as they were known.
type lock struct {
	declared
	disks []device
}

// readLock reads a VolumeLock.
func readLock(o *krm.Object) lock {
	spec := o.Node.Get("spec")
	var l lock
	if spec.Str("kind") == groupKind {
		g := volumeGroup{name: spec.Str("name"), node: spec.Str("nodeName"), vg: cmp.Or(spec.Str("groupName"), spec.Str("name"))}
		g.cascade, _ = spec.Get("cascade").Bool()
		g.readSource(spec.Get("group"), "spec")
		g.readExtent(spec)
		g.tags = spec.StrMap("tags")
		l.group = &g
	} else {
		l.volume = &volume{
			name: spec.Str("name"), node: spec.Str("nodeName"), class: spec.Str("storageClassName"),
			mode: cmp.Or(spec.Str("mode"), filesystem), wipe: cmp.Or(spec.Str("wipe"), wipeFull), adopt: spec.Str("adopt"), reclaim: spec.Str("reclaimPolicy"), template: spec.Get("template"),
			source: readSource(spec.Get("volume"), "spec"),
		}
	}
	for _, n := range spec.Seq("disks") {
		of := device{path: n.Str("path"), wwn: n.Str("wwn"), serial: n.Str("serial"), size: readAmount(&n, "size")}
		for _, link := range n.Seq("links") {
			of.links = append(of.links, link.Value())
		}
		l.disks = append(l.disks, of)
	}
	return l
}

// damage says what of a lock cannot be read, so that it says nothing of what was; or "".
func (l *lock) damage(name string) string {
	written := ""
	switch v, g := l.volume, l.group; {
	case g != nil && g.kind == "", v != nil && v.source.kind == "":
		return "has no source"
	case g != nil:
		written = g.name
	default:
		written = v.name
	}
	if written != name {
		return "is of " + strconv.Quote(written)
	}
	return ""
}

// holds are the disks that the object held when it was rendered: by what they were known,
// and as the object names them where they were not.
func (l *lock) holds() []disk.Hold {
	holds, node := l.declared.holds(), l.node()
	if len(l.disks) == 0 || len(holds) == 0 {
		return holds
	}
	role := holds[0].Role
	holds = nil
	for _, known := range l.disks {
		holds = append(holds, known.hold(node, role))
	}
	return holds
}

// lockOf finds the lock among what was rendered for a spec, or nil.
func lockOf(before []*krm.Object) *krm.Object {
	i := slices.IndexFunc(before, func(o *krm.Object) bool { return o.GroupKind() == lockGroupKind() })
	if i < 0 {
		return nil
	}
	return before[i]
}

// readSound reads the lock of an object; damaged says what of it cannot be read, and what to do, if anything.
func readSound(o *krm.Object, kind, name string) (l *lock, damaged string) {
	read := readLock(o)
	damage := read.damage(name)
	if is := o.Node.Str("spec", "kind"); is != kind {
		damage = "is of a " + strconv.Quote(is)
	}
	if damage != "" {
		damaged = fmt.Sprintf("its lock %s %s, which no render writes; restore the file from Git, or remove it to use the running object", o.At().File, damage)
	}
	return &read, damaged
}

// maxName is the longest name of an object.
//
// Source: Kubernetes, Object Names and IDs (DNS subdomain), RFC 1123.
const maxName = 253

// lockName is the name of the lock of a Volume or a VolumeGroup, of which there may be one
// of each by one name. One that would be too long is cut and ends in a hash of the whole.
func lockName(kind, name string) string {
	return cut(strings.ToLower(kind)+"-"+name, maxName)
}

func cut(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:most-len(end)], "-.") + end
}

// makeLock writes the lock of a spec. disks are those that were found, a nil for one that
// was not.
func makeLock(now declared, disks []*disk.Disk, was *past) *krm.Object {
	spec := d.Object()
	add := func(key, value string) {
		if value != "" {
			spec.Set(key, d.Text(value))
		}
	}
	name := ""
	switch v, g := now.volume, now.group; {
	case v != nil:
		name = lockName(volumeKind, v.name)
		add("kind", volumeKind)
		add("name", v.name)
		add("nodeName", v.node)
		add("storageClassName", v.class)
		add("mode", v.mode)
		add("wipe", v.wipeWritten())
		add("reclaimPolicy", v.reclaim)
		add("adopt", v.adopt)
		if v.template != nil {
			spec.Set("template", v.template.Made())
		}
		spec.Set("volume", d.Object(d.F(v.source.kind, v.source.node.Made())))
	default:
		name = lockName(groupKind, g.name)
		add("kind", groupKind)
		add("name", g.name)
		add("nodeName", g.node)
		add("groupName", g.vg)
		spec.Set("physicalExtentSize", d.Text(g.extent.text))
		addTags(&spec, g.tags)
		if g.cascade {
			spec.Set("cascade", d.Bool(true))
		}
		spec.Set("group", d.Object(d.F(g.kind, g.source.Made())))
	}
	if named := now.named(); len(named) > 0 {
		items := d.List()
		for i, of := range named {
			var there *disk.Disk
			if i < len(disks) {
				there = disks[i]
			}
			items.Add(remember(of, there, was))
		}
		spec.Set("disks", items)
	}
	return krm.Make(ownGroup+"/"+ownVersion, lockKind, "", name, d.F("spec", spec))
}

// addTags writes the tags of a group, by their keys.
func addTags(spec *d.Node, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	n := d.Object()
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		n.Set(key, d.Text(tags[key]))
	}
	spec.Set("tags", n)
}

// remember writes by what a disk is known. What was remembered of it and is not known now is
// kept.
func remember(of device, there *disk.Disk, was *past) d.Node {
	known := device{path: of.path, wwn: of.wwn, serial: of.serial, size: amount{bytes: of.size.bytes}}
	if there != nil && !there.Missing() {
		id := there.Known()
		known.wwn, known.serial, known.links = cmp.Or(id.WWN, of.wwn), cmp.Or(strings.TrimSpace(id.Serial), of.serial), id.Links
		known.size.bytes = there.Size()
	} else if strings.Contains(of.path, "/by-id/") {
		known.links = of.identity("").Links
	}
	for _, before := range was.remembered(of, known) {
		known.wwn, known.serial = cmp.Or(known.wwn, before.wwn), cmp.Or(known.serial, before.serial)
		if len(known.links) == 0 {
			known.links = before.links
		}
		known.size.bytes = max(known.size.bytes, before.size.bytes) // a disk that shrinks is said to
	}
	n := d.Object()
	for _, f := range []struct{ key, value string }{{"wwn", known.wwn}, {"serial", known.serial}} {
		if f.value != "" {
			n.Set(f.key, d.Text(f.value))
		}
	}
	if known.size.bytes > 0 {
		n.Set("size", d.Int(known.size.bytes))
	}
	if len(known.links) > 0 {
		links := d.List()
		for _, link := range known.links {
			links.Add(d.Text(link))
		}
		n.Set("links", links)
	}
	if known.wwn == "" && known.serial == "" && len(known.links) == 0 {
		n.Set("path", d.Text(known.path))
	}
	return n
}

// shares reports whether two descriptions have a name of a disk in common.
func (d device) shares(other device) bool {
	return d.wwn != "" && d.wwn == other.wwn || d.serial != "" && d.serial == other.serial ||
		d.path != "" && d.path == other.path ||
		slices.ContainsFunc(d.links, func(link string) bool { return slices.Contains(other.links, link) })
}
