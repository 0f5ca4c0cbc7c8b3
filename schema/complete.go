package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Locate turns the offset of a node into its place in the file; nil where there
// is none, as for a made object.
type Locate func(off int32) document.Position

// Complete checks a document that a person wrote, and fills in its defaults. It
// returns the document as JSON in canonical form: current field names, amounts
// as text, no status and nothing of what only an API server writes. Findings
// stand where the document stands; where one is an error, the JSON is nil. A kind whose
// definition has #means is completed as the document of another kind that this is.
//
// A fact of files is only checked: it has nothing to complete.
func (s *Schemas) Complete(where Locate, ref finding.Ref, n *document.Node) ([]byte, []finding.Finding) {
	r := s.Read(where, ref, n)
	return r.Completed, r.Findings
}

// Read does the same, and says what an error leaves of the document.
func (s *Schemas) Read(where Locate, ref finding.Ref, n *document.Node) Reading {
	d := s.find(ref, n)
	if d == nil {
		return Reading{Findings: []finding.Finding{s.unknownKind(where, ref, n)}}
	}
	p := &pass{where: where, ref: ref, shape: d.shape}
	if n == nil {
		n = new(document.Object())
	}
	at := rootPlace(n)
	root := p.canonical(d.shape, &at)
	// The passes: fields that should not be there, then fields that should, and
	// values. Each sees the whole document, so no mistake hides another.
	at = rootPlace(&root)
	var meant []meaning
	p.unknown(d.shape, &at, &meant)
	standIns(&root, meant)
	p.check(d.shape, &at)
	var r Reading
	if d.Role != Fact || !d.File {
		r = s.evaluate(d, p, &root)
	}
	r.Findings = finding.Sort(p.findings)
	return r
}

// Check checks an object that is about to be written, or that was written by an earlier
// run. It looks at each value by itself, and is fast; what its values must keep together
// was made sure of when they were chosen.
func (s *Schemas) Check(where Locate, ref finding.Ref, n *document.Node) []finding.Finding {
	d := s.find(ref, n)
	if d == nil {
		return []finding.Finding{s.unknownKind(where, ref, n)}
	}
	p := &pass{where: where, ref: ref, shape: d.shape}
	at := rootPlace(n)
	p.unknown(d.shape, &at, new([]meaning))
	p.check(d.shape, &at)
	return p.findings
}

// Unknown reports only the fields of an object that its definition does not have, whoever wrote it. Those
// of its metadata are Kubernetes' own.
func (s *Schemas) Unknown(where Locate, ref finding.Ref, n *document.Node) []finding.Finding {
	d := s.find(ref, n)
	if d == nil {
		return nil
	}
	p := &pass{where: where, ref: ref, shape: d.shape}
	at := rootPlace(n)
	p.unknown(d.shape, &at, new([]meaning))
	return slices.DeleteFunc(p.findings, func(f finding.Finding) bool {
		return f.Rule != "unknown-field" || strings.HasPrefix(f.Field, "metadata.")
	})
}

// unknownKind reports an object whose kind has no definition, or of which the
// group does not say which of several kinds it is.
func (s *Schemas) unknownKind(where Locate, ref finding.Ref, n *document.Node) finding.Finding {
	kinds := s.Names()
	f := finding.Finding{
		Severity: finding.Error,
		Object:   ref,
		Field:    "kind",
		Message:  fmt.Sprintf("%s has no definition; the kinds that have one are %s", shown(ref.Kind), strings.Join(kinds, ", ")),
		Rule:     "kind",
		Current:  ref.Kind,
		Proposed: nearest(ref.Kind, kinds),
	}
	var versions []string
	for _, k := range s.Kinds() {
		if k.Kind == ref.Kind {
			versions = append(versions, k.APIVersion())
		}
	}
	if len(versions) > 0 {
		f.Field, f.Rule, f.Current, f.Proposed = "apiVersion", "api-version", ref.APIVersion, ""
		f.Message = fmt.Sprintf("%s has no kind %s; write %s", shown(ref.APIVersion), ref.Kind, strings.Join(versions, " or "))
	}
	if field := n.Get(f.Field); field != nil && where != nil {
		f.Pos = where(field.Off)
	}
	return f
}

// evaluate unifies a document with its definition: CUE fills in the defaults and
// judges the rules.
func (s *Schemas) evaluate(d *definition, p *pass, root *document.Node) Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := d.value.Unify(s.compiled.ctx.BuildExpr(p.expr(d.shape, root)))
	at := rootPlace(root)
	p.judge(d.shape, &at, value)
	if finding.Failed(p.findings) {
		what, _ := p.sound(d.shape, root, value)
		sound, err := json.Marshal(what)
		if err != nil {
			return Reading{}
		}
		return Reading{Sound: sound}
	}
	if means := value.LookupPath(cue.MakePath(cue.Def("means"))); means.Exists() {
		value = means
	}
	err := value.Validate(cue.Concrete(true), cue.Final())
	var completed []byte
	if err == nil {
		completed, err = value.MarshalJSON()
	}
	if err != nil {
		// The walk and the definition do not agree: fail closed, and say so.
		p.report(finding.Finding{
			Rule:    "schema",
			Message: fmt.Sprintf("cannot be completed: %v; this is a mistake in Poolwright, please report it", err),
		}, "", at.keyOff)
		return Reading{}
	}
	return Reading{Completed: completed}
}

// judge reports every broken rule of the objects in a document.
func (p *pass) judge(s *shape, at *place, value cue.Value) {
	switch {
	case at.node.Off == stoodIn:
	case s.sort == list && at.node.Kind() == document.Seq:
		for i := range at.node.Items() {
			item := at.item(i)
			p.judge(s.elem, &item, value.LookupPath(cue.MakePath(cue.Index(i))))
		}
	case s.sort == object && at.node.Kind() == document.Map:
		for i := range s.rules {
			p.judgeRule(&s.rules[i], at, value)
		}
		for i := range at.node.Fields() {
			in := at.field(&at.node.Fields()[i])
			if f := s.field(in.key); f != nil && f.takes() {
				p.judge(f.shape, &in, value.LookupPath(cue.MakePath(cue.Str(in.key))))
			}
		}
	}
}

func (p *pass) judgeRule(r *rule, at *place, value cue.Value) {
	for i := range at.node.Fields() {
		if f := &at.node.Fields()[i]; p.isBad(&f.Value) && slices.Contains(r.names, f.Key) {
			return
		}
	}
	broken := value.LookupPath(r.path)
	// A rule that cannot be worked out reads something that is bad.
	message, err := broken.LookupPath(cue.ParsePath("message")).String()
	if err != nil {
		return
	}
	field, _ := broken.LookupPath(cue.ParsePath("at")).String()
	severity, _ := broken.LookupPath(cue.ParsePath("severity")).String()
	f := finding.Finding{
		Severity: finding.Severity(cmp.Or(severity, string(finding.Error))),
		Rule:     r.name,
		Message:  message,
	}
	if field == "" {
		p.report(f, at.path(), at.keyOff)
		return
	}
	in := at.node.Field(field)
	switch {
	case in == nil:
		p.report(f, at.child(field), at.keyOff)
	case in.Value.Kind() == document.Scalar:
		f.Current = in.Value.Value()
		p.report(f, at.child(field), in.Value.Off)
	default: // a whole block is shown by its key
		p.report(f, at.child(field), in.Off)
	}
}

// isBad reports whether a value, or anything in it, was found wrong.
func (p *pass) isBad(n *document.Node) bool {
	if n.Off == stoodIn || p.bad[n] {
		return true
	}
	for i := range n.Items() {
		if p.isBad(&n.Items()[i]) {
			return true
		}
	}
	for i := range n.Fields() {
		if p.isBad(&n.Fields()[i].Value) {
			return true
		}
	}
	return false
}

// expr is a document as CUE.
func (p *pass) expr(s *shape, n *document.Node) ast.Expr {
	if n.Off == stoodIn || p.bad[n] {
		return unusable(s)
	}
	switch {
	case s.sort == object && n.Kind() == document.Map:
		return p.structLit(s, n)
	case s.sort == list && n.Kind() == document.Seq:
		items := make([]ast.Expr, len(n.Items()))
		for i := range n.Items() {
			items[i] = p.expr(s.elem, &n.Items()[i])
		}
		return ast.NewList(items...)
	}
	switch s.sort {
	case truth:
		b, _ := n.Bool()
		return ast.NewBool(b)
	case whole, number:
		digits, negative := strings.CutPrefix(strings.TrimPrefix(n.Value(), "+"), "-")
		kind := token.INT
		if strings.ContainsAny(digits, ".eE") {
			kind = token.FLOAT
		}
		lit := ast.NewLit(kind, digits)
		if negative {
			return &ast.UnaryExpr{Op: token.SUB, X: lit}
		}
		return lit
	}
	return ast.NewString(n.Value())
}

// unusable is CUE for a value that was found wrong: it is there, and nothing can
// follow from it. Where there is a default, only an error keeps CUE from taking
// that; elsewhere an error would make the objects around it look absent.
func unusable(s *shape) ast.Expr {
	if s.hasDefault() {
		return &ast.BottomLit{}
	}
	return ast.NewIdent("_")
}

// structLit leaves out what the definition does not have, and what it does not
// look at.
func (p *pass) structLit(s *shape, n *document.Node) ast.Expr {
	lit := &ast.StructLit{}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		fs := s.elem
		if known := s.field(f.Key); known != nil {
			fs = known.shape
		}
		if fs == nil || fs.sort == anything {
			continue
		}
		lit.Elts = append(lit.Elts, &ast.Field{Label: ast.NewString(f.Key), Value: p.expr(fs, &f.Value)})
	}
	return lit
}
