package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// unknown reports every field that the definition does not have, and says what
// was probably meant: of inner objects first.
func (p *pass) unknown(s *shape, at *place, meant *[]meaning) {
	switch {
	case s.sort == list && at.node.Kind() == document.Seq:
		item := p.below(at)
		for i := range at.node.Items() {
			*item = at.item(i)
			p.unknown(s.elem, item, meant)
		}
	case s.sort == object && at.node.Kind() == document.Map:
		var own []meaning
		in := p.below(at)
		for i := range at.node.Fields() {
			*in = at.field(&at.node.Fields()[i])
			switch known := s.field(in.key); {
			case known != nil && known.unsupported != "":
				p.report(finding.Finding{
					Rule:    "unsupported",
					Message: "is not supported: " + known.unsupported,
				}, in.path(), in.keyOff)
			case known != nil && known.ignored != "":
				p.report(finding.Finding{
					Severity: finding.Warning,
					Rule:     "ignored",
					Message:  "is ignored: " + known.ignored,
				}, in.path(), in.keyOff)
			case known != nil:
				p.unknown(known.shape, in, meant)
			case s.keys != nil:
				p.unknown(s.elem, in, meant)
			case !s.open:
				if m := p.unknownField(s, at, in); len(m.path) > 0 {
					own = append(own, m)
				}
			}
		}
		*meant = append(*meant, own...)
	}
}

// unknownField reports one field, and returns what was meant.
func (p *pass) unknownField(s *shape, at, in *place) meaning {
	f := finding.Finding{Rule: "unknown-field", Current: in.key}
	m := meaning{}
	near := s.nearestField(in.key)
	home := p.shape.home(in.key, at.path())
	switch {
	case near != "" && (home == nil || distance(fold(in.key), fold(near)) <= 2):
		f.Message = fmt.Sprintf("unknown field %q (did you mean %q?)", in.key, near)
		f.Proposed = near
		m = meaning{at.node, []string{near}}
	case home != nil:
		parent := strings.Join(home, ".")
		f.Message = fmt.Sprintf("unknown field %q here; it belongs in %s", in.key, parent)
		f.Proposed = parent + "." + in.key
		if !strings.Contains(parent, "[]") {
			m = meaning{nil, append(home, in.key)}
		}
	default:
		f.Message = fmt.Sprintf("unknown field %q; known here: %s", in.key, strings.Join(s.names(), ", "))
	}
	p.report(f, in.path(), in.keyOff)
	return m
}

// meaning is a field that was probably meant by an unknown one.
type meaning struct {
	parent *document.Node // nil for the root
	path   []string
}

// stoodIn is the Off of a node that stands in for a value which was written in
// another place or under another name. It counts as bad, so nothing more is said
// about it, and the field is not missed as well.
const stoodIn int32 = -2

// standIns puts a stand-in wherever a field is missing that was meant by an
// unknown one. Inner objects must come first: an object that grows moves its
// fields, and what points into them is then stale.
func standIns(root *document.Node, meant []meaning) {
	for _, m := range meant {
		if m.parent != nil {
			standIn(m.parent, m.path)
		}
	}
	for _, m := range meant {
		if m.parent == nil {
			standIn(root, m.path)
		}
	}
}

// standIn sets the first field that is missing on the way of a path below n: of an object that nobody
// wrote nothing else is missed either.
func standIn(n *document.Node, path []string) {
	for _, key := range path {
		if n.Kind() != document.Map {
			return
		}
		if n.Field(key) == nil {
			n.Set(key, document.Node{Off: stoodIn})
			return
		}
		n = n.Get(key)
	}
}

// home is the path of the object that has a field of that name, or nil. Of
// several it is the one that has most in common with where the name was found,
// then the one nearest to the root.
func (s *shape) home(name, found string) []string {
	var best []string
	bestShared := -1
	var walk func(s *shape, path []string)
	walk = func(s *shape, path []string) {
		for i := range s.fields {
			f := &s.fields[i]
			if f.name == name && f.takes() && len(path) > 0 {
				shared := sharedPrefix(strings.Join(path, "."), found)
				if best == nil || shared > bestShared || shared == bestShared && len(path) < len(best) {
					best, bestShared = slices.Clone(path), shared
				}
			}
			step := f.name
			inner := f.shape
			if inner.sort == list {
				step, inner = step+"[]", inner.elem
			}
			walk(inner, append(path, step))
		}
	}
	walk(s, nil)
	return best
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// names lists the fields that may be written.
func (s *shape) names() []string {
	var names []string
	for i := range s.fields {
		if s.fields[i].takes() {
			names = append(names, s.fields[i].name)
		}
	}
	return names
}

// nearestField is the current name of the field whose current or old name is
// nearest to a name, or "".
func (s *shape) nearestField(name string) string {
	names := s.names()
	for _, a := range s.aliases {
		names = append(names, a.old)
	}
	near := nearest(name, names)
	if a := s.alias(near); a != nil {
		return a.new[0]
	}
	return near
}
