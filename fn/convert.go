package fn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Conversion is what specs say of what was made without any.
type Conversion struct {
	Specs    []Converted // sorted by kind, namespace and name
	Findings []finding.Finding
	// Rendered is what the specs give: what they stand for, taken over, and what goes along.
	// It is there only if the facts list nodes, and no finding is an error.
	Rendered []Rendered
}

// Converted is a spec that was made.
type Converted struct {
	*krm.Object
	Text []byte // with the defaults of what it says as comments
}

// Convert makes specs of the objects of a package that nobody owns: of what is in the cluster, and of
// what people wrote, which goes before an object of its name in the cluster. What a spec leaves to the
// defaults, it does not say. With an inventory the specs are rendered, and what would
// then be otherwise than it is, is an error.
func (f *Function) Convert(p Package) Conversion {
	pkg := classify(p, f.kinds, f.schemas.Kinds())
	facts := inventory.New(pkg.facts)
	result := Conversion{Findings: pkg.findings}
	var from []*system.Conversion
	objects := f.convertible(pkg)
	var refused []finding.Finding
	for _, o := range objects {
		refused = append(refused, f.refused(o, facts.Object(o.ID()) == o)...)
	}
	result.Findings = append(result.Findings, refused...)
	for i := range f.systems {
		s := &f.systems[i]
		converter, converts := s.System.(system.Converter)
		if !converts {
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool {
			_, declared := s.Kind(o.GroupKind())
			return !declared
		})
		for _, c := range converter.Convert(facts, mine) {
			result.Findings = append(result.Findings, withoutRefused(c.Findings, refused)...)
			if c.Spec == nil {
				continue
			}
			c.Spec.SetAnnotation(krm.AnnotationLocalConfig, "true")
			text, findings := f.shorten(c.Spec)
			result.Findings = append(result.Findings, findings...)
			result.Specs = append(result.Specs, Converted{c.Spec, text})
			from = append(from, &c)
		}
	}
	if len(result.Specs) > 0 && len(facts.Nodes) > 0 && !finding.Failed(result.Findings) {
		f.try(&result, pkg, from)
	}
	slices.SortFunc(result.Specs, func(a, b Converted) int { return a.ID().Compare(b.ID()) })
	result.Findings = finding.Sort(result.Findings)
	return result
}

// convertible lists the objects of a package that have no owner and are of a kind that
// some system declares, sorted.
func (f *Function) convertible(pkg *classified) []*krm.Object {
	seen := map[krm.ID]bool{}
	for _, owner := range pkg.owners {
		for _, o := range pkg.lock[owner] {
			seen[o.ID()] = true // a spec renders it already
		}
	}
	var objects []*krm.Object
	add := func(o *krm.Object) {
		kind, known := f.kinds.Find(o.GroupKind())
		if known && (kind.Role >= system.RoleRendered || kind.Converts) && o.Owner() == "" && !seen[o.ID()] {
			seen[o.ID()] = true
			objects = append(objects, o)
		}
	}
	for _, o := range pkg.others {
		add(o)
	}
	for _, o := range pkg.specs {
		add(o)
	}
	for _, o := range pkg.facts {
		add(o)
	}
	slices.SortFunc(objects, func(a, b *krm.Object) int { return a.ID().Compare(b.ID()) })
	return objects
}

// try renders specs with what they stand for as what was rendered before, and reports what
// would then be otherwise.
func (f *Function) try(result *Conversion, given *classified, from []*system.Conversion) {
	var p Package
	for _, c := range from {
		p.Objects = append(p.Objects, c.Spec)
		for _, o := range c.From {
			p.Output = append(p.Output, asOutput(o, c.Spec))
		}
	}
	pkg := f.prepare(p)
	pkg.facts = given.facts
	rendered := pkg.render()
	result.Findings = append(result.Findings, slices.DeleteFunc(rendered.Findings, func(f finding.Finding) bool { return f.Severity == finding.Info })...)
	if finding.Failed(rendered.Findings) {
		return
	}
	was := make(map[krm.ID]bool, len(p.Output))
	for _, o := range p.Output {
		was[o.ID()] = true
	}
	become := make(map[krm.ID]*krm.Object, len(rendered.Objects))
	more := map[string][]string{} // what is rendered beside what is there, by owner
	for _, r := range rendered.Objects {
		id := r.Object.ID()
		become[id] = r.Object
		if !was[id] && given.others[id] == nil && rendered.Facts.Object(id) == nil && r.Object.Annotation(krm.AnnotationLocalConfig) == "" {
			more[r.Object.Owner()] = append(more[r.Object.Owner()], r.Object.Ref.String())
		}
	}
	var changes []*change.Change
	specs := map[*krm.Object]*krm.Object{} // by what is changed
	for _, c := range from {
		if names := more[c.Spec.OwnerKey()]; len(names) > 0 && len(c.From) > 0 {
			result.Findings = append(result.Findings, finding.Finding{
				Severity: finding.Warning, Rule: "renders-more", Object: c.Spec.Ref, Message: "renders what is not there, too: " + finding.Names(names),
			})
		}
		for _, o := range c.From {
			now := become[o.ID()]
			if now == nil {
				result.Findings = append(result.Findings, notSame(o, o.Node.Off, "", "would not be rendered by %s, which was made of it; keep it as a manifest of your own", c.Spec.Ref))
				continue
			}
			if fields := otherwise(o, now); len(fields) > 0 {
				specs[o] = c.Spec
				changes = append(changes, &change.Change{Ref: o.Ref, Action: change.Modify, Old: o, New: now, Fields: fields})
			}
		}
	}
	for _, c := range f.Assess(p, rendered.Facts, changes) { // without what only operators fill in
		for _, field := range c.Fields {
			off, is := c.Old.Node.Off, "is not set"
			advice := "set it first"
			if field.Old != nil {
				off, is, advice = cmp.Or(field.Old.Off, off), "is "+shown(field.Old), "change it first"
			}
			result.Findings = append(result.Findings, notSame(c.Old, off, field.Path, "%s, and %s would render it as %s; %s, or keep this %s as a manifest of your own", is, specs[c.Old].Ref, shown(field.New), advice, c.Old.Kind))
		}
	}
	if !finding.Failed(result.Findings) {
		result.Rendered = rendered.Objects
	}
}

// asOutput is an object as the output of a spec: what a render finds when it looks for what
// was rendered before.
func asOutput(o, spec *krm.Object) *krm.Object {
	var fields []document.Field
	for _, f := range o.Node.Fields() {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, f.Key) {
			fields = append(fields, f)
		}
	}
	mine := krm.Make(o.APIVersion, o.Kind, o.Namespace, o.Name, fields...)
	mine.SetLabel(krm.LabelManagedBy, krm.ManagedBy)
	mine.SetAnnotation(krm.AnnotationOwner, spec.OwnerKey())
	return mine
}

// otherwise lists in what an object would be otherwise than it is, but for what says only whose
// it is.
func otherwise(o, now *krm.Object) []change.Field {
	return slices.DeleteFunc(change.Fields(o.Node, now.Node), func(f change.Field) bool {
		stays := f.New == nil && (f.Old.IsEmpty() || !strings.Contains(f.Shape, "[]")) // a system reports what it leaves out itself
		return f.Under("metadata") || f.Under("status") || f.Under("apiVersion") || stays
	})
}

// notSame reports of an object that a spec would render it otherwise.
func notSame(o *krm.Object, off int32, field, format string, args ...any) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: "not-same", Object: o.Ref, Field: field, Pos: o.Position(off), Message: fmt.Sprintf(format, args...)}
}

// shown is a value in a message.
func shown(n *document.Node) string {
	if n == nil {
		return "nothing"
	}
	return strings.TrimSpace(string(document.AppendJSON(nil, n)))
}
