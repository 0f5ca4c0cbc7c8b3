package schema

import (
	"fmt"
	"strings"
)

// Field is what a person may write at one place of a kind.
type Field struct {
	Name     string   `json:"name"` // the last part of its path
	Type     string   `json:"type"` // string, integer, number, boolean, quantity, object or any; []TYPE or map[string]TYPE of these
	Doc      string   `json:"doc"`
	Required bool     `json:"required"`
	Default  string   `json:"default"` // as JSON; "" if there is none, or if it depends on other fields: then Doc explains it
	Values   []string `json:"values"`  // the only ones; empty for any
	Form     string   `json:"form"`    // what a value must be, such as "a whole number, at least 1"; "" where Type says it all
	Old      []string `json:"old"`     // paths in the same object that are accepted, too
	Fields   []Field  `json:"fields"`  // of an object, or of each item of a list or map; those below them are not filled in

	path []*field // from the kind down to it
}

// Field finds a field of a kind by its path, such as spec, poolConfig, raidType. Lists and maps have no part of the path. The
// error names the nearest field.
func (s *Schemas) Field(kind string, path ...string) (Field, error) {
	d := s.lookup(kind)
	if d == nil {
		return Field{}, fmt.Errorf("unknown kind %q; the kinds are %s", kind, strings.Join(s.Names(), ", "))
	}
	at := &field{name: d.Kind.Kind, shape: d.shape}
	var steps []*field
	for i, name := range path {
		inner := at.items()
		if whole := inner.field(strings.Join(path[i:], ".")); whole != nil && whole.takes() { // names of annotations have dots
			at, steps = whole, append(steps, whole)
			break
		}
		next := inner.field(name)
		if next == nil {
			next = inner.renamed(name)
		}
		switch {
		case next == nil && inner.keys != nil:
			next = &field{name: name, shape: inner.elem}
		case next == nil:
			return Field{}, fmt.Errorf("%s has no field %s%s", kind, strings.Join(path[:i+1], "."), DidYouMean(name, inner.names()))
		case next.unsupported != "":
			return Field{}, fmt.Errorf("%s of %s is not supported: %s", strings.Join(path[:i+1], "."), kind, next.unsupported)
		}
		at = next
		steps = append(steps, at)
	}
	described := at.describe()
	described.path = steps
	inner := at.items()
	for i := range inner.fields {
		f := &inner.fields[i]
		if !f.takes() {
			continue
		}
		below := f.describe()
		for _, a := range inner.aliases {
			if len(a.new) == 1 && a.new[0] == f.name {
				below.Old = append(below.Old, a.old)
			}
		}
		described.Fields = append(described.Fields, below)
	}
	return described, nil
}

// items is the shape of what is in a list, also in a list of lists, or the shape itself.
func (s *shape) items() *shape {
	for s.sort == list {
		s = s.elem
	}
	return s
}

// renamed is the field of which a name is the old one, or nil.
func (s *shape) renamed(name string) *field {
	for _, a := range s.aliases {
		if a.old != name {
			continue
		}
		at := &field{shape: s}
		for _, key := range a.new {
			at = at.field(key)
		}
		return at
	}
	return nil
}

// describe is a field without those below it.
func (f *field) describe() Field {
	d := Field{Name: f.name, Type: f.typeName(), Doc: f.doc, Required: f.required, Values: []string{}, Old: []string{}, Fields: []Field{}}
	if !f.computed {
		d.Default = f.deflt
	}
	inner := f.items()
	d.Values = append(d.Values, inner.enum...)
	if len(d.Values) == 0 && (inner.want != "" || inner.min != nil || inner.max != nil) {
		d.Form = inner.wanted()
	}
	return d
}

// typeName is the type of a value as Go would write it.
func (s *shape) typeName() string {
	switch s.sort {
	case text:
		return "string"
	case whole:
		return "integer"
	case number:
		return "number"
	case truth:
		return "boolean"
	case amount:
		return "quantity"
	case list:
		return "[]" + s.elem.typeName()
	case object:
		if s.keys != nil && len(s.fields) == 0 {
			return "map[string]" + s.elem.typeName()
		}
		return "object"
	}
	return "any"
}

// Example is the field in YAML, below the kind: with its default, else with a value that is allowed, else with a placeholder.
func (f *Field) Example() string {
	var b strings.Builder
	indent := 0
	for i, step := range f.path {
		b.WriteString(strings.Repeat("  ", indent))
		if i > 0 && f.path[i-1].sort == list {
			b.WriteString("- ")
			indent++
		}
		b.WriteString(step.name + ":")
		if i < len(f.path)-1 {
			b.WriteByte('\n')
		}
		if step.sort != list {
			indent++
		}
	}
	if f.Default != "" {
		return b.String() + " " + f.Default + "\n"
	}
	value := f.path[len(f.path)-1].placeholder()
	return b.String() + " " + value + "\n"
}

// placeholder stands for a value in an example.
func (s *shape) placeholder() string {
	switch {
	case s.sort == list:
		return "[" + s.elem.placeholder() + "]"
	case len(s.enum) > 0:
		return s.enum[0]
	}
	switch s.sort {
	case whole, number:
		if s.min != nil {
			return s.min.text
		}
		return "1"
	case truth:
		return "true"
	case amount:
		return "10Gi"
	case object:
		return "{...}"
	}
	return "..."
}
