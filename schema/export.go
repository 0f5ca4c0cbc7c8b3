package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// Format is what a definition can be exported as.
type Format string

// The formats.
const (
	CUE        Format = "cue"        // the definition itself, with everything that it refers to
	JSONSchema Format = "jsonschema" // draft 2020-12, for editors
	OpenAPI    Format = "openapi"    // OpenAPI 3.0, components only
	CRD        Format = "crd"        // a CustomResourceDefinition
)

// Formats lists their names.
func Formats() []string {
	return []string{string(CUE), string(JSONSchema), string(OpenAPI), string(CRD)}
}

// Export writes the definition of a kind, named Kind or Kind.group, for another
// tool. It gives the same bytes each time. Rules between fields are in the CUE export, and as CEL in the
// CustomResourceDefinition: the other formats have no words for them.
func (s *Schemas) Export(kind string, f Format) ([]byte, error) {
	d := s.lookup(kind)
	if d == nil {
		return nil, fmt.Errorf("no definition of kind %q; the kinds are %s", kind, strings.Join(s.Names(), ", "))
	}
	switch f {
	case CUE:
		return s.exportCUE(d)
	case JSONSchema:
		return indented(d.jsonSchema())
	case OpenAPI:
		return indented(d.openAPI())
	case CRD:
		if d.Foreign {
			return nil, fmt.Errorf("%s is of another project (%s); take its CustomResourceDefinition from there", kind, d.APIVersion())
		}
		if d.File {
			return nil, fmt.Errorf("%s exists only in files and has no CustomResourceDefinition; export it as %s", kind, JSONSchema)
		}
		crd := s.crd(d)
		return document.Append(nil, &crd, 0), nil
	}
	return nil, fmt.Errorf("no format %q; the formats are %s", f, strings.Join(Formats(), ", "))
}

func indented(n document.Node) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, document.AppendJSON(nil, &n), "", "  "); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// jsonSchema is a whole document for an editor.
func (d *definition) jsonSchema() document.Node {
	w := &schemaWriter{dialect: JSONSchema}
	body := w.schema(d.shape)
	n := document.Object(
		document.F("$schema", document.Text("https://json-schema.org/draft/2020-12/schema")),
		document.F("$id", document.Text("urn:poolwright:schema:"+strings.ToLower(d.Kind.Kind))),
		document.F("title", document.Text(d.Kind.Kind)),
	)
	n.SetFields(append(n.Fields(), body.Fields()...))
	return n
}

// openAPI is a document that holds nothing but the schema.
func (d *definition) openAPI() document.Node {
	w := &schemaWriter{dialect: OpenAPI}
	return document.Object(
		document.F("openapi", document.Text("3.0.3")),
		document.F("info", document.Object(
			document.F("title", document.Text("Poolwright "+d.Kind.Kind)),
			document.F("version", document.Text(d.Version)),
		)),
		document.F("paths", document.Object()),
		document.F("components", document.Object(
			document.F("schemas", document.Object(
				document.F(d.Kind.Kind, w.schema(d.shape)),
			)),
		)),
	)
}
