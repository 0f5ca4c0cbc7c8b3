package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/poolwright/poolwright/schema/pattern"
)

// shapeReader reads shapes. What several fields refer to is read once.
//
// It asks CUE as little as it can: to take a value apart evaluates the package again
// that it imports.
type shapeReader struct {
	*compiled
	shapes map[definitionName]*shape
}

// read reads a field or a definition. It panics where that says something that
// shapes have no word for.
func (r shapeReader) read(v cue.Value) *shape {
	root, path := v.ReferencePath()
	if sels := path.Selectors(); len(sels) != 1 || !sels[0].IsDefinition() {
		return r.readValue(v)
	}
	name := definitionName{packageOf(root), path.String()}
	if r.shapes[name] == nil {
		r.shapes[name] = r.readValue(r.definition(name))
	}
	s := *r.shapes[name]
	// What stands at the field itself is nearer than what stands at the definition.
	own := &shape{doc: docOf(v)}
	own.readAttributes(v.Attributes(cue.ValueAttr))
	s.doc = cmp.Or(own.doc, s.doc)
	s.want = cmp.Or(own.want, s.want)
	s.nonempty = cmp.Or(own.nonempty, s.nonempty)
	s.within = cmp.Or(own.within, s.within)
	s.most = cmp.Or(own.most, s.most)
	s.presence = own.presence || s.presence
	return &s
}

// packageOf is the folder of a package.
func packageOf(root cue.Value) string {
	inst := root.BuildInstance()
	if inst == nil {
		panic(fmt.Sprintf("schema: %v is not a package", root.Path()))
	}
	return strings.TrimPrefix(inst.ImportPath, module+"/")
}

func (r shapeReader) readValue(v cue.Value) *shape {
	s := &shape{doc: docOf(v)}
	attrs := v.Attributes(cue.ValueAttr)
	for _, ref := range r.references(v, 0) {
		attrs = append(attrs, ref.Attributes(cue.ValueAttr)...)
	}
	s.readAttributes(attrs)
	kind := v.IncompleteKind()
	switch {
	case s.sort == amount:
	case kind == cue.StructKind:
		s.sort = object
		r.readObject(s, v)
		return s
	case kind == cue.ListKind:
		s.sort = list
		if elem := items(v); elem.Exists() {
			s.elem = r.read(elem)
		} else {
			s.elem = &shape{}
		}
		return s
	case kind == cue.StringKind:
		s.sort = text
	case kind == cue.IntKind:
		s.sort = whole
	case kind == cue.NumberKind, kind == cue.FloatKind:
		s.sort = number
	case kind == cue.BoolKind:
		s.sort = truth
	case kind == cue.TopKind:
		return s
	default:
		panic(fmt.Sprintf("schema: %v: a shape cannot be a %v", v.Path(), kind))
	}
	if d, ok := v.Default(); ok && (isChoice(v) || d.IsConcrete() && !v.IsConcrete()) {
		if b, err := d.MarshalJSON(); err == nil {
			s.deflt = string(b)
		}
	}
	if s.sort != amount {
		s.readConstraints(v.Eval())
	}
	for word, value := range s.synonyms {
		if !slices.Contains(s.enum, value) {
			panic(fmt.Sprintf("schema: %v: %q stands for %q, which is not a value", v.Path(), word, value))
		}
	}
	return s
}

// items is what the items of a list may be, also of one that has a default.
func items(v cue.Value) cue.Value {
	item := cue.MakePath(cue.AnyIndex)
	if op, args := v.Expr(); op == cue.OrOp {
		for _, alternative := range args {
			if elem := alternative.LookupPath(item); elem.Exists() {
				return elem
			}
		}
	}
	return v.LookupPath(item)
}

func (r shapeReader) readObject(s *shape, v cue.Value) {
	fields, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		panic(fmt.Sprintf("schema: %v: %v", v.Path(), err))
	}
	for fields.Next() {
		sel := fields.Selector()
		if sel.ConstraintType() == cue.PatternConstraint {
			s.keys = r.read(sel.Pattern())
			s.elem = r.read(fields.Value())
			continue
		}
		f := field{
			name:     sel.Unquoted(),
			required: sel.ConstraintType() == cue.RequiredConstraint,
			optional: sel.ConstraintType() == cue.OptionalConstraint,
			shape:    r.read(fields.Value()),
		}
		if why := fields.Value().Attribute("unsupported"); why.Err() == nil {
			f.unsupported, _ = why.String(0)
		}
		if why := fields.Value().Attribute("ignored"); why.Err() == nil {
			f.ignored, _ = why.String(0)
		}
		s.fields = append(s.fields, f)
	}
	s.open = s.keys == nil && v.Allows(cue.AnyString)
	if s.open && len(s.fields) == 0 {
		s.sort = anything
	}
	rules := v.LookupPath(cue.ParsePath("#rules"))
	if !rules.Exists() {
		return
	}
	each, err := rules.Fields()
	if err != nil {
		panic(fmt.Sprintf("schema: %v: %v", rules.Path(), err))
	}
	for each.Next() {
		name := each.Selector().Unquoted()
		if ast.IsValidIdent(name) {
			// A field of that name could not be read from within the rule.
			panic(fmt.Sprintf("schema: %v: the name of a rule needs a hyphen", each.Value().Path()))
		}
		s.rules = append(s.rules, rule{
			name:  name,
			path:  cue.MakePath(cue.Def("rules"), each.Selector()),
			names: namesIn(each.Value().Source()),
			value: each.Value(),
		})
	}
}

// namesIn lists the identifiers of a rule.
func namesIn(n ast.Node) []string {
	var names []string
	if n == nil {
		return nil
	}
	ast.Walk(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
		return true
	}, nil)
	return names
}

// readConstraints reads what a scalar must keep.
func (s *shape) readConstraints(v cue.Value) {
	if v.IsConcrete() && s.deflt == "" {
		s.enum = append(s.enum, scalarText(v))
		return
	}
	op, args := v.Expr()
	switch op {
	case cue.NoOp: // a type, or a default beside a constraint
		if len(args) == 1 && s.deflt != "" {
			if op, _ := args[0].Expr(); op != cue.NoOp {
				s.readConstraints(args[0])
			}
		}
	case cue.AndOp:
		for _, a := range args {
			s.readConstraints(a)
		}
	case cue.OrOp:
		s.readAlternatives(args)
	case cue.RegexMatchOp:
		expr, _ := args[0].String()
		if s.pattern != nil && s.pattern.String() != expr {
			panic(fmt.Sprintf("schema: %v: a shape has one pattern", v.Path()))
		}
		s.pattern = pattern.MustCompile(expr)
	case cue.GreaterThanEqualOp, cue.GreaterThanOp:
		s.min = &bound{floatOf(args[0]), scalarText(args[0]), op == cue.GreaterThanOp}
	case cue.LessThanEqualOp, cue.LessThanOp:
		s.max = &bound{floatOf(args[0]), scalarText(args[0]), op == cue.LessThanOp}
	case cue.CallOp:
		if name := fmt.Sprint(args[0]); name != "strings.MaxRunes" {
			panic(fmt.Sprintf("schema: %v: a shape has no word for %s", v.Path(), name))
		}
		n, _ := args[1].Int64()
		if s.maxLen == 0 || int(n) < s.maxLen {
			s.maxLen = int(n)
		}
	default:
		panic(fmt.Sprintf("schema: %v: a shape has no word for %v in %v", v.Path(), op, v))
	}
}

// readAlternatives reads a disjunction: values to choose from, or a default and
// what other values must be.
func (s *shape) readAlternatives(args []cue.Value) {
	for _, a := range args {
		if !a.IsConcrete() {
			s.enum = nil
			if op, _ := a.Expr(); op != cue.NoOp {
				s.readConstraints(a)
			}
			return
		}
		if t := scalarText(a); !slices.Contains(s.enum, t) {
			s.enum = append(s.enum, t)
		}
	}
}

// readAttributes reads attributes; of two that say the same, the first wins.
func (s *shape) readAttributes(attrs []cue.Attribute) {
	first := func(to *string, a cue.Attribute) {
		if *to == "" {
			*to, _ = a.String(0)
		}
	}
	for _, a := range attrs {
		switch a.Name() {
		case "want":
			first(&s.want, a)
		case "synonym":
			for i := range a.NumArgs() {
				word, value := a.Arg(i)
				s.addSynonym(word, value)
			}
		case "nonempty":
			first(&s.nonempty, a)
		case "within":
			first(&s.within, a)
		case "presence":
			s.presence = true
		case "mapform":
			s.mapform = true
		case "single":
			s.single = true
		case "short":
			first(&s.short, a)
		case "most":
			if n, err := a.Int(0); err == nil && s.most == 0 {
				s.most = int(n)
			}
		case "mapkey":
			first(&s.mapkey, a)
		case "time":
			s.time = true
		case "live":
			first(&s.live, a)
		case "computed":
			s.computed = true
		case "numeral":
			s.numeral = true
		case "quantity":
			s.sort = amount
		case "capacity":
			s.sort, s.positive = amount, true
			s.rounded, _ = a.Flag(0, "rounded")
		case "alias":
			old, _, _ := a.Lookup(0, "old")
			path, _, _ := a.Lookup(0, "new")
			if s.alias(old) == nil {
				s.aliases = append(s.aliases, alias{old, strings.Split(path, ".")})
			}
		case "kind", "rendered", "column", "selectable", "unsupported", "ignored":
		default:
			panic(fmt.Sprintf("schema: attribute %v is not known", a))
		}
	}
}

// addSynonym adds a word that people use for one of the values.
func (s *shape) addSynonym(word, value string) {
	if s.synonyms == nil {
		s.synonyms = map[string]string{}
	}
	s.synonyms[fold(word)] = value
}

func scalarText(v cue.Value) string {
	if t, err := v.String(); err == nil {
		return t
	}
	b, err := v.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("schema: %v: %v", v.Path(), err))
	}
	return string(b)
}

func floatOf(v cue.Value) float64 {
	f, err := strconv.ParseFloat(scalarText(v), 64)
	if err != nil {
		panic(fmt.Sprintf("schema: %v: %v", v.Path(), err))
	}
	return f
}
