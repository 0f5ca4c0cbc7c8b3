package localvolume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Leave implements system.Leaver: whether a Volume or a VolumeGroup that a person took out
// may go.
func (r *rendering) Leave(gone system.Gone) []finding.Finding {
	if gone.Kind == templateKind {
		return r.leaveTemplate(gone)
	}
	l := &leaving{rendering: r, gone: gone, how: "was taken out", undo: "put it back"}
	if l.object = lockOf(gone.Before); l.object == nil {
		return nil
	}
	read, damaged := readSound(l.object, gone.Kind, gone.Name)
	if damaged != "" {
		l.report(finding.Error, "lock-damaged", "%s", damaged)
		return l.findings
	}
	l.lock = *read
	l.consent = slices.ContainsFunc(gone.Before, func(o *krm.Object) bool {
		return system.NewConsent(o.AnnotationList(krm.AnnotationAllowRemoval)).Covers(gone.Kind, gone.Name)
	})
	l.judge()
	if !finding.Failed(l.findings) {
		l.report(finding.Info, "removed", "is no longer in the package, and so its lock is no longer rendered%s", l.note)
	}
	return l.findings
}

// judge says what speaks against it that the object goes.
func (l *leaving) judge() {
	if l.lock.group != nil {
		l.leaveGroup(l.lock.group)
	} else {
		l.leaveVolume(l.lock.volume)
	}
}

// leaveTemplate judges a template that was taken out: all that it rendered goes with consent,
// as far as no claim has it.
func (r *rendering) leaveTemplate(gone system.Gone) []finding.Finding {
	var findings []finding.Finding
	consent := slices.ContainsFunc(gone.Before, func(o *krm.Object) bool {
		return system.NewConsent(o.AnnotationList(krm.AnnotationAllowRemoval)).Covers(templateKind, gone.Name)
	})
	report := func(o *krm.Object, rule, format string, args ...any) {
		findings = append(findings, finding.Finding{Severity: finding.Error, Rule: rule, Object: o.Ref, Pos: o.At(), Message: fmt.Sprintf(format, args...)})
	}
	if !consent {
		report(gone.Before[0], "orphan", "its spec %s/%s is gone; put the spec back, delete this output too, or annotate it with %s: %s/%s",
			templateKind, gone.Name, krm.AnnotationAllowRemoval, templateKind, gone.Name)
		return findings
	}
	for _, o := range gone.Before {
		if o.Group() != group {
			if user := class.UserOf(r.Facts, o.Name); user != "" {
				report(o, "class-used", "its spec %s/%s is gone, and it is used: %s; put the spec back until nothing uses it", templateKind, gone.Name, user)
			}
			continue
		}
		l := &leaving{rendering: r, gone: system.Gone{ID: o.ID()}, object: o, lock: lockOfObject(o), consent: true, how: "was taken out", undo: "put it back"}
		l.judge()
		findings = append(findings, l.findings...)
	}
	return findings
}

// leaving is one object that goes: a person took it out, or its template wants it no longer.
type leaving struct {
	*rendering
	gone     system.Gone
	object   *krm.Object // the lock
	lock     lock
	consent  bool   // to what the facts do not list
	how      string // in which it goes
	undo     string // what a person does to keep it
	note     string // what becomes of it
	findings []finding.Finding
}

func (l *leaving) report(severity finding.Severity, rule, format string, args ...any) {
	l.findings = append(l.findings, finding.Finding{
		Severity: severity, Rule: rule, Pos: l.object.At(), Message: fmt.Sprintf(format, args...),
		Object: finding.Ref{APIVersion: group + "/" + version, Kind: l.gone.Kind, Name: l.gone.Name},
	})
}

// leaveVolume judges a Volume that was taken out: what a claim has stays, and so does what a
// group is on.
func (l *leaving) leaveVolume(v *volume) {
	for _, e := range l.entries {
		if e.group != nil && e.group.volume == v.name {
			l.report(finding.Error, "under-group", "%s, and VolumeGroup %s is on its device; take out the group first, and this when the group is gone, or %s", l.how, e.group.name, l.undo)
			return
		}
	}
	for _, g := range groupsOf(l.Facts) {
		if g.volume == v.name {
			l.report(finding.Error, "under-group", "%s, and the live VolumeGroup %s is on its device; %s until the group is gone", l.how, g.name, l.undo)
			return
		}
	}
	if !l.releases(v.name) {
		return
	}
	switch pv := persistentOf(l.Facts, v.name); {
	case l.keeps(v):
		l.note = "; once it is deleted its data stays on node " + v.node + ", as its reclaim policy says"
	case pv.phase == "Released":
		l.report(finding.Warning, "data-goes", "was taken out, and its reclaim policy is Delete: what the claim %s has left on it is destroyed when it is deleted", cmp.Or(pv.claim, "before"))
	default:
		l.note = "; once it is deleted what is on it is destroyed, as its reclaim policy says"
	}
}

// releases reports whether no claim has a Volume that goes. A bound one stays whatever is
// allowed.
func (l *leaving) releases(name string) bool {
	subject := "its PersistentVolume"
	if name != l.gone.Name {
		subject = "the PersistentVolume of its Volume " + name
	}
	if claim := boundTo(l.Facts, name); claim != "" {
		l.report(finding.Error, "bound", "%s, and %s is bound to %s; %s, and delete the claim first: no consent lifts this", l.how, subject, claim, l.undo)
		return false
	}
	if !l.Facts.Tells("", pvKind, "") && !l.consent {
		l.report(finding.Error, "bound-unknown", "was removed, but the inventory does not show whether %s is bound; put it back, take a snapshot with poolwright inventory, or annotate its lock with %s: %s/%s",
			subject, krm.AnnotationAllowRemoval, l.gone.Kind, l.gone.Name)
		return false
	}
	return true
}

// keeps reports whether the data of a Volume stays when the Volume is deleted.
func (l *leaving) keeps(v *volume) bool { return reclaimPolicy(l.Facts, l.Manifests, v) != "Delete" }

// leaveGroup judges a VolumeGroup that was taken out: nothing may be in it, but for Volumes
// that no claim has and that go with it.
func (l *leaving) leaveGroup(g *volumeGroup) {
	var inside []string
	for _, e := range l.entries {
		if e.volume != nil && e.volume.source.vg == g.vg && e.volume.node == g.node {
			inside = append(inside, e.volume.name)
		}
	}
	if len(inside) > 0 {
		l.report(finding.Error, "group-used", "%s, and %s of the package %s in it: %s; take them out first, or %s", l.how, finding.Count(len(inside), "Volume"), finding.Agree(len(inside), "is", "are"), finding.Names(inside), l.undo)
		return
	}
	cascade, invalid := l.cascade(g)
	if invalid != "" {
		l.report(finding.Error, "cascade", "its annotation %s is %q, and only \"true\" lets its Volumes go with it; write that, or remove it", annotationCascade, invalid)
		return
	}
	if !l.Facts.Tells(group, volumeKind, "") && reportsOf(l.Facts)[g.node] == nil {
		l.report(finding.Warning, "contents-unknown", "%s, but the inventory does not show what is in it; its node deletes it once it is empty: take a snapshot with poolwright inventory to check", l.how)
	}
	live := l.volumesIn(g)
	for _, name := range live {
		if !l.releases(name) {
			return
		}
	}
	if len(live) > 0 && !cascade {
		l.report(finding.Error, "group-used", "%s, and %s %s in it: %s; delete them first, or %s, annotate it with %s: \"true\", render and apply that, and take it out then",
			l.how, finding.Count(len(live), "live Volume"), finding.Agree(len(live), "is", "are"), finding.Names(live), l.undo, annotationCascade)
		return
	}
	if foreign := l.foreignIn(g, live); foreign != "" {
		l.report(finding.Error, "foreign-volumes", "%s, and %s; a group is removed only when it has no unmanaged volumes: delete those first, or %s", l.how, foreign, l.undo)
		return
	}
	if len(live) == 0 {
		return
	}
	l.note = "; its Volumes that no claim has are deleted first: " + finding.Names(live)
	kept := slices.DeleteFunc(live, func(name string) bool {
		o := l.Facts.Object(volumeID(name))
		if o == nil {
			return true
		}
		v := readVolume(o)
		return !l.keeps(&v)
	})
	if len(kept) > 0 {
		l.report(finding.Warning, "group-kept", "takes Volumes along whose reclaim policy is Retain (%s): their logical volumes stay, and the group goes when these were removed", finding.Names(kept))
	}
}

// cascade reports whether the Volumes of a group go with it, as the live group and the lock
// say; invalid is a text that means neither.
func (l *leaving) cascade(g *volumeGroup) (cascade bool, invalid string) {
	cascade = g.cascade
	if live := l.Facts.Object(g.id()); live != nil {
		switch text := live.Annotation(annotationCascade); text {
		case "", "true":
			cascade = cascade || text == "true"
		default:
			return false, text
		}
	}
	return cascade, ""
}

// volumesIn lists the live Volumes in a group, by name.
func (l *leaving) volumesIn(g *volumeGroup) []string {
	var names []string
	for _, v := range livingOf(l.Facts).inside[site{g.node, g.vg}] {
		names = append(names, v.name)
	}
	for _, reported := range reportsOf(l.Facts)[g.node].named(g.vg) {
		for _, lv := range reported.volumes {
			if name := owned(lv.owner, volumeKind); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// foreignIn says what of a group is of nobody that is known, or "".
func (l *leaving) foreignIn(g *volumeGroup, live []string) string {
	for _, reported := range reportsOf(l.Facts)[g.node].named(g.vg) {
		if reported.tells {
			var others []string
			for _, lv := range reported.volumes {
				if lv.owner == "" && !slices.Contains(live, strings.TrimPrefix(lv.name, "pw-")) {
					others = append(others, lv.name)
				}
			}
			if len(others) > 0 {
				return finding.Count(len(others), "unmanaged logical volume") + " " + finding.Agree(len(others), "is", "are") + " in it: " + finding.Names(others)
			}
			continue
		}
		explained := int64(0)
		extent := cmp.Or(reported.extent, g.extent.bytes)
		for _, name := range live {
			if o := l.Facts.Object(volumeID(name)); o != nil {
				v := readVolume(o)
				explained += roundUp(v.source.size.bytes, extent)
			}
		}
		if used := reported.size - reported.free; used > explained {
			return quantity.Size(used-explained) + " of it " + "are used, and no Volume explains by what"
		}
	}
	return ""
}
