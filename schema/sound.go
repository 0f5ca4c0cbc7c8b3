package schema

import (
	"encoding/json"

	"cuelang.org/go/cue"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Reading is what became of a document that a person wrote.
type Reading struct {
	// Completed is the document as JSON in canonical form, see Complete; nil where a finding is an error.
	Completed []byte
	// Sound is what an error leaves of it, for checks of the other fields: a value that was found wrong, and a
	// default that depends on one, is absent, and an item of a list is null. It is nil where there is no error.
	Sound    []byte
	Findings []finding.Finding
}

// sound is what is right of the value at n, which is nil where nothing is written.
func (p *pass) sound(s *shape, n *document.Node, value cue.Value) (any, bool) {
	switch {
	case n != nil && (n.Off == stoodIn || p.bad[n]):
		return nil, false
	case s.sort == object && (n == nil && value.Exists() || n != nil && n.Kind() == document.Map):
		return p.soundObject(s, n, value), true
	case s.sort == list && n != nil && n.Kind() == document.Seq:
		items := make([]any, len(n.Items()))
		for i := range n.Items() {
			items[i], _ = p.sound(s.elem, &n.Items()[i], value.LookupPath(cue.MakePath(cue.Index(i))))
		}
		return items, true
	}
	text, err := value.MarshalJSON()
	return json.RawMessage(text), err == nil
}

func (p *pass) soundObject(s *shape, n *document.Node, value cue.Value) map[string]any {
	fields := map[string]any{}
	add := func(name string, s *shape) {
		var written *document.Node
		if n != nil {
			written = n.Get(name)
		}
		in := value.LookupPath(cue.MakePath(cue.Str(name)))
		if written == nil && !in.Exists() {
			return
		}
		if v, ok := p.sound(s, written, in); ok {
			fields[name] = v
		}
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.takes() {
			add(f.name, f.shape)
		}
	}
	if s.keys != nil && n != nil {
		for i := range n.Fields() {
			if name := n.Fields()[i].Key; s.field(name) == nil {
				add(name, s.elem)
			}
		}
	}
	return fields
}
