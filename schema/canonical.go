package schema

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// canonical gives a document the form that the definitions describe: old names
// become the current ones, empty keys go, amounts and numerals are text and counts numbers.
// It copies what it changes, and the copy keeps the offsets of the original.
func (p *pass) canonical(s *shape, at *place) document.Node {
	n := at.node
	out := *n
	switch s.sort {
	case object:
		switch {
		case n.Kind() == document.Map:
			p.canonicalObject(s, at, &out)
		case n.Kind() == document.Scalar && s.short != "":
			p.canonicalShort(s, at, &out)
		}
	case list:
		switch {
		case n.Kind() == document.Map && s.single:
			p.canonicalSingle(s, at, &out)
		case n.Kind() == document.Map && s.mapform:
			p.canonicalMapForm(at, &out)
		case n.Kind() == document.Seq:
			out.SetItems(make([]document.Node, len(n.Items())))
			for i := range n.Items() {
				item := at.item(i)
				out.Items()[i] = p.canonical(s.elem, &item)
			}
		}
	case whole, number:
		p.canonicalNumber(s, at, &out)
	case text:
		if _, isInt := n.Int(); isInt && s.numeral {
			out.Quoted = true
		}
	case amount:
		if _, isBool := n.Bool(); n.Kind() == document.Scalar && !isBool {
			out.Quoted = true
		}
	}
	return out
}

func (p *pass) canonicalObject(s *shape, at *place, out *document.Node) {
	out.SetFields(make([]document.Field, 0, len(at.node.Fields())))
	var old []document.Field
	for i := range at.node.Fields() {
		f := at.node.Fields()[i]
		if f.Value.Kind() == document.Null {
			continue // a key without a value is as good as no key
		}
		if s.alias(f.Key) != nil {
			old = append(old, f)
			continue
		}
		p.canonicalField(s, at.field(&f), f.Key, out)
	}
	for i := range old {
		p.canonicalAlias(s, at, out, &old[i])
	}
}

// canonicalField appends the field at a place to out, under its current name
// and in its canonical form.
func (p *pass) canonicalField(s *shape, in place, key string, out *document.Node) {
	known := s.field(key)
	fs := s.elem
	if known != nil {
		fs = known.shape
	}
	// A form of which no line is filled in is as good as none, unless to be
	// there is all that it has to say.
	if in.node.Kind() == document.Map && isBlank(in.node) && (fs == nil || !fs.presence) && (known == nil || !known.required) {
		return
	}
	if fs == nil {
		out.SetFields(append(out.Fields(), document.Field{Key: key, Off: in.keyOff, Value: *in.node}))
		return
	}
	v := p.canonical(fs, &in)
	out.SetFields(append(out.Fields(), document.Field{Key: key, Off: in.keyOff, Value: v}))
}

// isBlank reports whether a value consists of keys without values.
func isBlank(n *document.Node) bool {
	if n.Kind() != document.Map {
		return n.Kind() == document.Null
	}
	for i := range n.Fields() {
		if !isBlank(&n.Fields()[i].Value) {
			return false
		}
	}
	return len(n.Fields()) > 0
}

// canonicalAlias moves a field with an old name to where it belongs.
func (p *pass) canonicalAlias(s *shape, at *place, out *document.Node, f *document.Field) {
	a := s.alias(f.Key)
	oldPath := at.child(f.Key)
	target := strings.Join(a.new, ".")
	into, shape := out, s
	for _, key := range a.new[:len(a.new)-1] {
		next := into.Field(key)
		if next == nil {
			into.SetFields(append(into.Fields(), document.Field{Key: key, Off: f.Off,
				Value: document.Object().At(f.Off)}))
			next = into.Field(key)
		}
		into, shape = &next.Value, shape.field(key).shape
	}
	last := a.new[len(a.new)-1]
	if into.Kind() != document.Map {
		return // reported as what it is
	}
	if into.Field(last) != nil {
		p.report(finding.Finding{
			Rule:     "alias",
			Message:  fmt.Sprintf("is the old name of %s, which is there too; remove one of them", target),
			Proposed: target,
		}, oldPath, f.Off)
		return
	}
	before := len(into.Fields())
	p.canonicalField(shape, at.field(f), last, into)
	if len(into.Fields()) == before {
		return
	}
	newPath := at.path()
	for _, key := range a.new {
		newPath += step(key, newPath == "")
	}
	p.report(finding.Finding{
		Severity: finding.Info,
		Rule:     "alias",
		Message:  fmt.Sprintf("is the old name of %s; it is accepted, write %s", target, target),
		Proposed: target,
	}, oldPath, f.Off)
	p.renamed = append(p.renamed, renaming{newPath, oldPath})
}

// canonicalMapForm turns path: value into {key: path, operator: In, values: [value]}.
func (p *pass) canonicalMapForm(at *place, out *document.Node) {
	out.SetItems(nil)
	for i := range at.node.Fields() {
		f := &at.node.Fields()[i]
		if f.Value.Kind() == document.Null {
			continue
		}
		values := document.List(f.Value).At(f.Value.Off)
		if f.Value.Kind() == document.Seq {
			values = f.Value
		}
		key := document.Text(f.Key)
		key.Off = f.Off
		item := document.Object(
			document.Field{Key: "key", Off: f.Off, Value: key},
			document.Field{Key: "operator", Off: f.Off, Value: document.Text("In")},
			document.Field{Key: "values", Off: f.Off, Value: values},
		)
		item.Off = f.Off
		path := at.path()
		made := fmt.Sprintf("%s[%d]", path, len(out.Items()))
		written := path + step(f.Key, path == "")
		p.renamed = append(p.renamed, renaming{made, written}, renaming{made + ".key", written})
		if f.Value.Kind() != document.Seq {
			p.renamed = append(p.renamed, renaming{made + ".values[0]", written})
		}
		out.Add(item)
	}
}

// canonicalShort turns the text in the place of an object into the field that it stands
// for.
func (p *pass) canonicalShort(s *shape, at *place, out *document.Node) {
	whole := document.Object(document.Field{Key: s.short, Off: at.node.Off, Value: *at.node})
	whole.Off = at.node.Off
	p.renamed = append(p.renamed, renaming{at.child(s.short), at.path()})
	in := *at
	in.node = &whole
	*out = whole
	p.canonicalObject(s, &in, out)
}

// canonicalSingle turns one item into a list of it.
func (p *pass) canonicalSingle(s *shape, at *place, out *document.Node) {
	list := document.List(*at.node)
	list.Off = at.node.Off
	path := at.path()
	p.report(finding.Finding{
		Severity: finding.Info,
		Rule:     "single",
		Message:  `is one entry where a list is meant; it is read as a list of one, begin it with "- "`,
	}, path, at.keyOff)
	p.renamed = append(p.renamed, renaming{path + "[0]", path})
	in := *at
	in.node = &list
	item := in.item(0)
	*out = list
	out.SetItems([]document.Node{p.canonical(s.elem, &item)})
}

// canonicalNumber reads a number that was written as text.
func (p *pass) canonicalNumber(s *shape, at *place, out *document.Node) {
	if out.Kind() != document.Scalar || !out.Quoted {
		return
	}
	plain := *out
	plain.Quoted = false
	_, isInt := plain.Int()
	_, isFloat := plain.Float()
	if !isInt && (s.sort == whole || !isFloat) {
		return
	}
	*out = plain
	p.report(finding.Finding{
		Severity: finding.Info,
		Rule:     "number",
		Message:  fmt.Sprintf("%q is text; it is read as the number, write it without quotes", plain.Value()),
		Current:  plain.Value(),
		Proposed: plain.Value(),
	}, at.path(), plain.Off)
}

// alias returns the alias of that name, or nil.
func (s *shape) alias(old string) *alias {
	for i := range s.aliases {
		if s.aliases[i].old == old {
			return &s.aliases[i]
		}
	}
	return nil
}
