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
	// It is there only if the facts tell of nodes, and no finding is an error.
	Rendered []Rendered
}

// Converted is a spec that was made.
type Converted struct {
	*krm.Object
	Text []byte // with the defaults of what it says as comments
}

// Convert makes specs of the objects of a package that nobody owns: of what lives, and of
// what people wrote, which goes before what lives of its name. What a spec leaves to the
// defaults, it does not say. With an inventory the specs are rendered, and what would
// then be otherwise than it is, is an error.
func (f *Function) Convert(p Package) Conversion {
	pkg := classify(p, f.kinds, f.schemas.Kinds())
	facts := inventory.New(pkg.facts)
	result := Conversion{Findings: pkg.findings}
	var from []*system.Conversion
	objects := f.convertible(pkg)
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
			result.Findings = append(result.Findings, c.Findings...)
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
		f.try(&result, pkg.facts, from)
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

// shorten leaves out of a spec what is the default, and returns its text.
func (f *Function) shorten(spec *krm.Object) ([]byte, []finding.Finding) {
	complete := func(n document.Node) (*document.Node, []finding.Finding) {
		root := spec.Node.Copy()
		root.Set("spec", n)
		completed, findings := f.schemas.Complete(nil, spec.Ref, &root)
		docs, err := document.Parse(&document.Source{Data: completed})
		if finding.Failed(findings) || err != nil || len(docs) != 1 {
			return nil, findings
		}
		return &docs[0].Node, findings
	}
	long := spec.Node.Get("spec")
	wanted, findings := complete(*long)
	if wanted == nil {
		return document.Append(nil, spec.Node, 0), findings
	}
	s := shortening{spec: distinct(*long), left: map[string][]document.Field{}, notes: map[string]string{}}
	s.complete = func() *document.Node {
		completed, _ := complete(s.spec)
		return completed
	}
	s.wanted = s.complete()
	s.fields(&s.spec, "spec")
	short := s.whole(s.spec, *long, "spec")
	if completed, _ := complete(short); completed == nil || !document.Equal(completed, wanted) {
		return document.Append(nil, spec.Node, 0), findings // a default depends on what was left out
	}
	spec.Node.Set("spec", short)
	return document.AppendNoted(nil, spec.Node, s.notes), findings
}

// shortening asks the schemas of each field what becomes of a spec without it. What a
// default depends on stands before what has the default. The first field of an item of a
// list names it: items that are alike but for that are asked about once.
type shortening struct {
	spec     document.Node // with one of the items that are alike
	complete func() *document.Node
	wanted   *document.Node              // what it is, completed
	left     map[string][]document.Field // of items, by the path of their list and what they were
	notes    map[string]string
}

// likeness is what an item of a list has in common with others, "" for one that is not asked
// about.
func likeness(item *document.Node) string {
	if len(item.Fields()) < 2 {
		return ""
	}
	rest := document.Object(item.Fields()[1:]...)
	return string(document.AppendJSON(nil, &rest))
}

// distinct copies a tree, with the first of the items of a list that are alike.
func distinct(n document.Node) document.Node {
	n = n.Copy()
	for i := range n.Fields() {
		n.Fields()[i].Value = distinct(n.Fields()[i].Value)
	}
	seen := map[string]bool{}
	var items []document.Node
	for _, item := range n.Items() {
		if text := likeness(&item); text == "" || !seen[text] {
			seen[text] = true
			items = append(items, distinct(item))
		}
	}
	if n.Kind() == document.Seq {
		n.SetItems(items)
	}
	return n
}

// drops takes out a field without which the spec is the same. If not, it returns the spec
// without it, nil where that is not valid.
func (s *shortening) drops(n *document.Node, key string) (done bool, without *document.Node) {
	all := slices.Clone(n.Fields())
	n.Delete(key)
	without = s.complete()
	if without != nil && document.Equal(without, s.wanted) {
		return true, without
	}
	n.SetFields(all)
	return false, without
}

func (s *shortening) fields(n *document.Node, path string) {
	for _, field := range slices.Clone(n.Fields()) {
		at := path + "." + field.Key
		done, without := s.drops(n, field.Key)
		if done {
			continue
		}
		switch value := n.Get(field.Key); value.Kind() {
		case document.Map:
			s.fields(value, at)
		case document.Seq:
			for i := range value.Items() {
				s.item(&value.Items()[i], at)
			}
		default:
			if standard := without.Str(strings.Split(at, ".")...); standard != "" {
				s.notes[at] = "default " + standard
			}
		}
	}
}

// item shortens an item of a list.
func (s *shortening) item(n *document.Node, path string) {
	text := likeness(n)
	if text == "" {
		return
	}
	for _, field := range slices.Clone(n.Fields()[1:]) {
		s.drops(n, field.Key)
	}
	s.left[path+text] = slices.Clone(n.Fields()[1:])
}

// whole is what is left of a tree, with all items of its lists.
func (s *shortening) whole(left, all document.Node, path string) document.Node {
	for i := range left.Fields() {
		f := &left.Fields()[i]
		f.Value = s.whole(f.Value, *all.Get(f.Key), path+"."+f.Key)
	}
	if left.Kind() != document.Seq {
		return left
	}
	items := slices.Clone(all.Items())
	for i := range items {
		if fields, asked := s.left[path+likeness(&items[i])]; asked {
			items[i] = document.Object(append(items[i].Fields()[:1:1], fields...)...)
		}
	}
	left.SetItems(items)
	return left
}

// try renders specs with what they stand for as what was rendered before, and reports what
// would then be otherwise.
func (f *Function) try(result *Conversion, facts []*krm.Object, from []*system.Conversion) {
	var p Package
	for _, c := range from {
		p.Objects = append(p.Objects, c.Spec)
		for _, o := range c.From {
			p.Output = append(p.Output, asOutput(o, c.Spec))
		}
	}
	pkg := f.prepare(p)
	pkg.facts = facts
	rendered := pkg.render()
	result.Findings = append(result.Findings, slices.DeleteFunc(rendered.Findings, func(f finding.Finding) bool { return f.Severity == finding.Info })...)
	if finding.Failed(rendered.Findings) {
		return
	}
	become := make(map[krm.ID]*krm.Object, len(rendered.Objects))
	more := map[string][]string{} // what is rendered beside what is there, by owner
	for _, r := range rendered.Objects {
		become[r.Object.ID()] = r.Object
		was := slices.ContainsFunc(p.Output, func(o *krm.Object) bool { return o.ID() == r.Object.ID() }) || rendered.Facts.Object(r.Object.ID()) != nil
		if !was && r.Object.Annotation(krm.AnnotationLocalConfig) == "" {
			more[r.Object.Owner()] = append(more[r.Object.Owner()], r.Object.Ref.String())
		}
	}
	for _, c := range from {
		if names := more[c.Spec.OwnerKey()]; len(names) > 0 && len(c.From) > 0 {
			result.Findings = append(result.Findings, finding.Finding{
				Severity: finding.Warning, Rule: "renders-more", Object: c.Spec.Ref, Message: "renders what is not there, too: " + finding.Names(names),
			})
		}
		for _, o := range c.From {
			result.Findings = append(result.Findings, f.otherwise(p, rendered.Facts, o, become[o.ID()], c.Spec)...)
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

// otherwise reports what an object would be otherwise than it is, but for what says only
// whose it is.
func (f *Function) otherwise(p Package, facts *inventory.Facts, o, now, spec *krm.Object) []finding.Finding {
	report := func(off int32, field, format string, args ...any) finding.Finding {
		return finding.Finding{Severity: finding.Error, Rule: "not-same", Object: o.Ref, Field: field, Pos: o.Position(off), Message: fmt.Sprintf(format, args...)}
	}
	if now == nil {
		return []finding.Finding{report(o.Node.Off, "", "would not be rendered by %s, which was made of it; keep it as a manifest of your own", spec.Ref)}
	}
	c := &change.Change{Ref: o.Ref, Action: change.Modify, Old: o, New: now, Fields: change.Fields(o.Node, now.Node)}
	c.Fields = slices.DeleteFunc(c.Fields, func(f change.Field) bool {
		stays := f.New == nil && (isEmpty(f.Old) || !strings.Contains(f.Shape, "[]")) // a system tells of what it does not say
		return f.Under("metadata") || f.Under("status") || f.Under("apiVersion") || stays
	})
	if len(c.Fields) == 0 {
		return nil
	}
	f.Assess(p, facts, []*change.Change{c})
	var findings []finding.Finding
	for _, field := range c.Fields {
		switch {
		case field.Old == nil:
			findings = append(findings, report(o.Node.Off, field.Path, "is not set, and %s would render it as %s; set it first, or keep this %s as a manifest of your own", spec.Ref, shown(field.New), o.Kind))
		default:
			findings = append(findings, report(cmp.Or(field.Old.Off, o.Node.Off), field.Path, "is %s, and %s would render it as %s; change it first, or keep this %s as a manifest of your own", shown(field.Old), spec.Ref, shown(field.New), o.Kind))
		}
	}
	return findings
}

// isEmpty reports whether a value says nothing.
func isEmpty(n *document.Node) bool {
	return n.Kind() == document.Null || n.Kind() == document.Scalar && n.Value() == "" || n.Kind() != document.Scalar && len(n.Fields())+len(n.Items()) == 0
}

// shown is a value in a message.
func shown(n *document.Node) string {
	if n == nil {
		return "nothing"
	}
	return strings.TrimSpace(string(document.AppendJSON(nil, n)))
}
