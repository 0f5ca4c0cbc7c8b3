package krm

import (
	"strconv"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// appendResults writes findings as results of the function specification. Line,
// column and rule are tags, because the specification has no fields for them.
func (rl *ResourceList) appendResults(dst []byte, fs []finding.Finding) []byte {
	if len(fs) == 0 {
		return dst
	}
	items := make(map[finding.Ref]*Object, len(rl.read))
	for _, o := range rl.read {
		if items[o.Ref] == nil {
			items[o.Ref] = o
		}
	}
	dst = append(dst, "results:\n"...)
	for i := range fs {
		list := document.List(resultNode(&fs[i], items[fs[i].Object]))
		dst = document.Append(dst, &list, 0)
	}
	return dst
}

// resultNode makes a result. item is the item that it is about, or nil.
func resultNode(f *finding.Finding, item *Object) document.Node {
	n := document.Object(document.F("message", document.Text(f.Message)))
	set(&n, "severity", string(f.Severity))
	if f.Object != (finding.Ref{}) {
		ref := document.Object()
		set(&ref, "apiVersion", f.Object.APIVersion)
		set(&ref, "kind", f.Object.Kind)
		set(&ref, "namespace", f.Object.Namespace)
		set(&ref, "name", f.Object.Name)
		n.Set("resourceRef", ref)
		if f.Field != "" {
			field := document.Object(document.F("path", document.Text(f.Field)))
			set(&field, "currentValue", f.Current)
			set(&field, "proposedValue", f.Proposed)
			n.Set("field", field)
		}
	}
	path := f.Pos.File
	if path == "" && item != nil {
		path = item.Path
	}
	if path != "" {
		file := document.Object(document.F("path", document.Text(path)))
		if item != nil && item.Path == path {
			file.Set("index", document.Int(int64(item.Index)))
		}
		n.Set("file", file)
	}
	tags := document.Object()
	if f.Pos.Line > 0 {
		set(&tags, "line", strconv.Itoa(f.Pos.Line))
	}
	if f.Pos.Column > 0 {
		set(&tags, "column", strconv.Itoa(f.Pos.Column))
	}
	set(&tags, "rule", f.Rule)
	if len(tags.Fields()) > 0 {
		n.Set("tags", tags)
	}
	return n
}

// set sets a text unless it is empty.
func set(n *document.Node, key, value string) {
	if value != "" {
		n.Set(key, document.Text(value))
	}
}

// readResults reads the findings that appendResults wrote. One without a line has no position: the file
// that it names may be only that of its object.
func readResults(results []document.Node) []finding.Finding {
	fs := make([]finding.Finding, len(results))
	for i := range results {
		n := &results[i]
		ref, field := n.Get("resourceRef"), n.Get("field")
		number := func(tag string) int {
			value, _ := strconv.Atoi(n.Str("tags", tag))
			return value
		}
		fs[i] = finding.Finding{
			Severity: finding.Severity(n.Str("severity")), Message: n.Str("message"), Rule: n.Str("tags", "rule"),
			Object: finding.Ref{APIVersion: ref.Str("apiVersion"), Kind: ref.Str("kind"), Namespace: ref.Str("namespace"), Name: ref.Str("name")},
			Field:  field.Str("path"), Current: field.Str("currentValue"), Proposed: field.Str("proposedValue"),
		}
		if line := number("line"); line > 0 {
			fs[i].Pos = document.Position{File: n.Str("file", "path"), Line: line, Column: number("column")}
		}
	}
	return fs
}
