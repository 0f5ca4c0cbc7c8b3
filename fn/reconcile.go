package fn

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// reconciler compares what is wanted with what was rendered before: nothing is lost
// without consent, and nothing is touched that is not ours (ARCHITECTURE.md, rules 3
// and 4).
type reconciler struct {
	pkg      *classified
	facts    *inventory.Facts
	wanted   map[krm.ID]wanted
	findings []finding.Finding
}

type wanted struct {
	Rendered
	spec    *krm.Object
	changed bool
	copied  bool // it stands for what a person wrote
}

// newReconciler begins with nothing wanted; about so many objects will be.
func newReconciler(pkg *classified, facts *inventory.Facts, objects int) *reconciler {
	return &reconciler{pkg: pkg, facts: facts, wanted: make(map[krm.ID]wanted, objects)}
}

// reconcile takes over the output of one spec.
func (r *reconciler) reconcile(spec *system.Spec, out *system.Output, declared *system.Declaration) {
	before := make(map[krm.ID]*krm.Object, len(spec.Before))
	for _, o := range spec.Before {
		before[o.ID()] = o
	}
	for _, o := range out.Objects {
		id := o.ID()
		if twin, found := r.wanted[id]; found {
			r.report(spec.Object, "names-meet", "%s would be rendered for both %s and %s; rename one of them", o.Ref, twin.spec.Ref, spec.Object.Ref)
			continue
		}
		w := wanted{Rendered: Rendered{Path: folder(spec.Object) + "/" + o.File, Object: o.Object, Stage: o.Stage, Needs: o.Needs}, spec: spec.Object, copied: o.Copy}
		old := before[id]
		if other := r.pkg.others[id]; other != nil && !o.Copy {
			r.report(other, "collision", "is in the way: %s renders an object of this name, and this one is not Poolwright's; rename or remove it", spec.Object.Ref)
			continue
		}
		switch {
		case old != nil && sameContent(old, o.Object):
			w.Object = old
		case old != nil:
			o.Path, o.Index = old.Path, old.Index
			w.changed = true
		case o.Partial:
			w.changed = true // it takes nothing over
		default:
			r.checkCollision(spec.Object, o.Object)
			w.changed = true
		}
		r.wanted[id] = w
	}
	var gone []string
	for _, o := range spec.Before {
		_, found := r.wanted[o.ID()]
		switch {
		case found || lock(declared, o):
		case !destroys(declared, out, o):
			gone = append(gone, o.Kind+" "+o.Name)
		default:
			kind, _ := declared.Kind(o.GroupKind())
			release := cmp.Or(kind.Release, fmt.Sprintf("annotate the config with %s: %s/%s", krm.AnnotationAllowRemoval, o.Kind, o.Name))
			r.report(spec.Object, "would-destroy", "%s is no longer wanted, and removing it would lose data; keep the setting that made it, or %s", o.Ref, release)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		f := spec.Finding(finding.Info, "removed", "", "no longer rendered, since nothing is lost with it or the loss is allowed: "+finding.Names(gone))
		r.findings = append(r.findings, f)
	}
}

// destroys reports whether data is lost where an object is no longer rendered, and nobody allows that.
func destroys(declared *system.Declaration, out *system.Output, o *krm.Object) bool {
	return declared.Stateful(o) && !out.Released[o.ID()]
}

// lock reports whether an object is part of Poolwright's own memory, and nothing else.
func lock(declared *system.Declaration, o *krm.Object) bool {
	kind, _ := declared.Kind(o.GroupKind())
	return kind.Role == system.RoleLock && !kind.Stateful
}

// checkCollision looks for somebody else's live object of the same name.
func (r *reconciler) checkCollision(spec, o *krm.Object) {
	live := r.facts.Object(o.ID())
	if live == nil {
		return
	}
	switch owner := live.Owner(); owner {
	case spec.OwnerKey():
	case "":
		f := finding.Finding{Severity: finding.Info, Rule: "adopted", Object: spec.Ref, Pos: spec.At(), Message: fmt.Sprintf("adopts the live %s, which has no owner", o.Ref)}
		r.findings = append(r.findings, f)
	default:
		r.report(spec, "collision", "cannot adopt the live %s: its owner is %s; rename the config", o.Ref, owner)
	}
}

// keepAll leaves the output of a spec that is not to be rendered now.
func (r *reconciler) keepAll(spec *krm.Object, before []*krm.Object) {
	for _, o := range before {
		if twin, found := r.wanted[o.ID()]; found {
			r.report(spec, "names-meet", "%s would be rendered for both %s and %s; rename one of them", o.Ref, twin.spec.Ref, spec.Ref)
			continue
		}
		r.wanted[o.ID()] = wanted{Rendered: Rendered{Path: keptPath(spec, o), Object: o}, spec: spec}
	}
}

// keptPath is where an object of the output stays: in its level, if it has one.
func keptPath(spec, o *krm.Object) string {
	if file := strings.TrimPrefix(o.Path, RenderedFolder+"/"); path.Dir(path.Dir(file)) == folder(spec) {
		return file
	}
	return folder(spec) + "/" + strings.ToLower(o.Kind) + ".yaml"
}

// checkOrphans looks for output whose spec is gone. With one spec as
// functionConfig the specs of the rest are not here to see, and it is left alone. What a
// system says of a spec that leaves is said already.
func (r *reconciler) checkOrphans(leave departures) {
	for _, owner := range r.pkg.ownersWithoutSpec() {
		objects := r.pkg.lock[owner]
		id, valid := krm.ParseOwner(owner)
		if r.pkg.partial && valid {
			spec := &krm.Object{Ref: finding.Ref{APIVersion: id.Group + "/", Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}}
			r.keepAll(spec, objects)
			continue
		}
		if _, judged := leave[owner]; judged {
			continue
		}
		consent, removal := "", ""
		if kind, found := r.pkg.kinds.Find(id.GroupKind()); found && kind.Role == system.RoleSpec {
			consent, removal = kind.Whole+"/"+id.Name, kind.Removal
			if r.pkg.lapses(owner) {
				r.lapse(owner, id, objects)
				continue
			}
		}
		if r.pkg.consented(owner) != nil {
			continue
		}
		remedy := "put the spec back, or delete this output too"
		if consent != "" {
			remedy = fmt.Sprintf("put the spec back, delete this output too, or annotate it with %s: %s", krm.AnnotationAllowRemoval, consent)
		}
		if removal != "" {
			remedy += "; " + removal
		}
		r.report(objects[0], "orphan", "its spec %s is gone; %s", owner, remedy)
	}
}

// lapses reports whether the output of a spec may go after it without consent.
func (c *classified) lapses(owner string) bool {
	id, _ := krm.ParseOwner(owner)
	kind, found := c.kinds.Find(id.GroupKind())
	return found && kind.Lapses && !slices.ContainsFunc(c.lock[owner], c.kinds.Stateful)
}

// usedClass is the first class among objects that is used, and by what; nil for none.
func usedClass(facts *inventory.Facts, objects []*krm.Object) (o *krm.Object, user string) {
	for _, o := range objects {
		if o.GroupKind() == class.Kind() {
			if user = class.UserOf(facts, o.Name); user != "" {
				return o, user
			}
		}
	}
	return nil, ""
}

// lapse lets the output of a spec that is gone go, too, of which nothing holds data. While
// one of its classes is used, all of it stays.
func (r *reconciler) lapse(owner string, id krm.ID, objects []*krm.Object) {
	o, user := usedClass(r.facts, objects)
	f := finding.Finding{Severity: finding.Info, Rule: "removed", Object: objects[0].Ref, Pos: objects[0].At()}
	f.Message = fmt.Sprintf("its spec %s is gone, and so it is no longer rendered, nor what was rendered with it; nothing is lost with them", owner)
	if o != nil {
		r.keepAll(&krm.Object{Ref: finding.Ref{APIVersion: id.Group + "/", Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}}, objects)
		f = finding.Finding{Severity: finding.Warning, Rule: "class-used", Object: o.Ref, Pos: o.At()}
		f.Message = fmt.Sprintf("its spec %s is gone; it is kept, with what was rendered with it, while it is used: %s", owner, user)
	}
	r.findings = append(r.findings, f)
}

// encode writes and checks what is new or changed.
func (r *reconciler) encode(schemas *schema.Schemas) {
	var written []wanted
	for _, w := range r.wanted {
		if w.changed {
			written = append(written, w)
		}
	}
	r.findings = append(r.findings, encode(schemas, written)...)
}

// rendered lists everything that is wanted, in the order of the output.
func (r *reconciler) rendered() []Rendered {
	all := make([]Rendered, 0, len(r.wanted))
	for _, w := range r.wanted {
		all = append(all, w.Rendered)
	}
	SortRendered(all)
	return all
}

func (r *reconciler) report(o *krm.Object, rule, format string, args ...any) {
	r.findings = append(r.findings, finding.Finding{
		Severity: finding.Error, Rule: rule, Object: o.Ref, Pos: o.At(), Message: fmt.Sprintf(format, args...),
	})
}

// sameContent compares without the annotations by which tools remember where an
// item came from.
func sameContent(old, wanted *krm.Object) bool {
	meta := old.Node.Get("metadata", "annotations")
	if meta == nil || !slices.ContainsFunc(meta.Fields(), func(f document.Field) bool { return krm.ToolAnnotation(f.Key) }) {
		return document.Equal(old.Node, wanted.Node)
	}
	node := clone(*old.Node, "metadata", "annotations")
	stripped := node.Get("metadata", "annotations")
	stripped.SetFields(slices.DeleteFunc(stripped.Fields(), func(f document.Field) bool { return krm.ToolAnnotation(f.Key) }))
	return document.Equal(&node, wanted.Node)
}

// clone copies the maps along a path, so that they can be changed.
func clone(n document.Node, path ...string) document.Node {
	n = n.Copy()
	if len(path) > 0 {
		if f := n.Field(path[0]); f != nil {
			f.Value = clone(f.Value, path[1:]...)
		}
	}
	return n
}
