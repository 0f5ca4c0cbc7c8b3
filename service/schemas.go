package service

import (
	"encoding/json"
	"path"
	"reflect"
	"strings"
)

// schemas are those of Go types, as encoding/json writes them.
type schemas struct {
	named object
	names map[reflect.Type]string
}

// of is the schema of the type of a value.
func (s *schemas) of(value any) object { return s.schema(reflect.TypeOf(value)) }

func (s *schemas) schema(t reflect.Type) object {
	if t == reflect.TypeFor[json.RawMessage]() || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return object{} // any value
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.schema(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": s.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.schema(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Struct:
		return s.structure(t)
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

// structure names a struct, so that a type may contain itself.
func (s *schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return s.fields(t)
	}
	name, known := s.names[t]
	if !known {
		name = capital(strings.TrimPrefix(t.Name(), "machine"))
		if s.named[name] != nil { // two packages have a type of this name
			name = capital(path.Base(t.PkgPath())) + name
		}
		s.names[t], s.named[name] = name, object{}
		s.named[name] = s.fields(t)
	}
	return reference(name)
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (s *schemas) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	s.add(t, properties, &required)
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func (s *schemas) add(t reflect.Type, properties object, required *[]string) {
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
			properties[name] = object{"anyOf": []object{s.schema(f.Type), {"type": "null"}}}
		}
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}
