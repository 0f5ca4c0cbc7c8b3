package fn

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

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
