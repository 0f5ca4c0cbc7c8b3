// Package web has what the HTTP servers of Poolwright share: what a client accepts, and how an OpenAPI document
// describes Go types.
package web

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
)

// Object is an Object of an OpenAPI document.
type Object = map[string]any

// Schemas are those of Go types, as encoding/json writes them.
type Schemas struct {
	Named Object // by the names that Reference takes
	names map[reflect.Type]string
}

// NewSchemas begins with some that have names.
func NewSchemas(named Object) Schemas { return Schemas{named, map[reflect.Type]string{}} }

// Reference is the schema of a name.
func Reference(name string) Object {
	return Object{"$ref": fmt.Sprintf("#/components/schemas/%s", name)}
}

// Of is the schema of the type of a value.
func (s *Schemas) Of(value any) Object { return s.schema(reflect.TypeOf(value)) }

func (s *Schemas) schema(t reflect.Type) Object {
	if t == reflect.TypeFor[json.RawMessage]() || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return Object{} // any value
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.schema(t.Elem())
	case reflect.Slice:
		return Object{"type": "array", "items": s.schema(t.Elem())}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": s.schema(t.Elem())}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.Struct:
		return s.structure(t)
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number"}
	}
	return Object{"type": "integer"}
}

// structure names a struct, so that a type may contain itself.
func (s *Schemas) structure(t reflect.Type) Object {
	if t.Name() == "" {
		return s.fields(t)
	}
	name, known := s.names[t]
	if !known {
		name = capital(strings.TrimPrefix(t.Name(), "machine"))
		if s.Named[name] != nil { // two packages have a type of this name
			name = capital(path.Base(t.PkgPath())) + name
		}
		s.names[t], s.Named[name] = name, Object{}
		s.Named[name] = s.fields(t)
	}
	return Reference(name)
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (s *Schemas) fields(t reflect.Type) Object {
	properties, required := Object{}, []string{}
	s.add(t, properties, &required)
	schema := Object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func (s *Schemas) add(t reflect.Type, properties Object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous && name == "":
			s.add(f.Type, properties, required)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = s.schema(f.Type)
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			properties[name] = Object{"anyOf": []Object{s.schema(f.Type), {"type": "null"}}}
		}
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}
