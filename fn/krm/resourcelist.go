package krm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// ResourceList is the input and the output of a KRM function.
//
// What passes through keeps its bytes: an item and the functionConfig are cut
// out of the text as whole lines, with the comments above and inside them, and
// are written back so. That needs block style, which kustomize and kpt write; a
// ResourceList in JSON, or with aliases, is encoded again.
type ResourceList struct {
	Items          []*Object // in order; those in their first place keep their Raw
	FunctionConfig *Object   // nil if there is none

	apiVersion string
	source     *document.Source
	read       []*Object // the items as they were read
	dash       int       // the column of the "- " of the items
}

// The versions of the function specification.
const (
	kindResourceList = "ResourceList"
	resourceListV1   = "config.kubernetes.io/v1"
	resourceListBeta = "config.kubernetes.io/v1beta1"
)

// ReadResourceList reads the input of a function. The error is a
// *document.SyntaxError. Results of functions that ran before are left out.
//
// Raw of an item is its lines as they stand in the list, indentation and "- "
// among them; nil where it has no lines of its own.
func ReadResourceList(src *document.Source) (*ResourceList, error) {
	rl, _, err := readList(src)
	return rl, err
}

// ReadAnswer reads the output of a function, with its results. The error is a *document.SyntaxError.
func ReadAnswer(src *document.Source) (*ResourceList, []finding.Finding, error) {
	rl, root, err := readList(src)
	if err != nil {
		return nil, nil, err
	}
	return rl, readResults(root.Seq("results")), nil
}

func readList(src *document.Source) (*ResourceList, *document.Node, error) {
	docs, err := document.Parse(src)
	if err != nil {
		return nil, nil, err
	}
	fail := func(off int32, format string, args ...any) (*ResourceList, *document.Node, error) {
		return nil, nil, &document.SyntaxError{Pos: src.Position(off), Msg: fmt.Sprintf(format, args...)}
	}
	switch len(docs) {
	case 0:
		return fail(0, "there is no ResourceList: the input is empty")
	case 1:
	default:
		return fail(docs[1].Node.Off, "a ResourceList is one document, and here a second one begins; put the objects below items")
	}
	doc := &docs[0]
	root := &doc.Node
	const want = "want " + resourceListV1 + " (or v1beta1) and kind " + kindResourceList
	switch kind, version := root.Str("kind"), root.Str("apiVersion"); {
	case root.Kind() != document.Map:
		return fail(root.Off, "this is not a ResourceList but %s; %s", kindName(root), want)
	case kind != kindResourceList:
		return fail(at(root, "kind"), "kind is %q; %s", kind, want)
	case version != resourceListV1 && version != resourceListBeta:
		return fail(at(root, "apiVersion"), "apiVersion is %q; %s", version, want)
	}
	rl := &ResourceList{apiVersion: root.Str("apiVersion"), source: src}
	c := newCutter(src.Data, doc)
	for i := range root.Fields() {
		f := &root.Fields()[i]
		switch f.Key {
		case "apiVersion", "kind", "results":
		case "items":
			err = rl.readItems(c, root, i)
		case "functionConfig":
			err = rl.readConfig(c, root, i)
		default:
			return fail(f.Off, "unknown field %q; a ResourceList has apiVersion, kind, items, functionConfig and results", f.Key)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	rl.Items = slices.Clone(rl.read)
	return rl, root, nil
}

// at is where the value of a field stands, or the map itself without the field.
func at(n *document.Node, key string) int32 {
	if v := n.Get(key); v != nil {
		return v.Off
	}
	return n.Off
}

func kindName(n *document.Node) string {
	switch n.Kind() {
	case document.Map:
		return "a map"
	case document.Seq:
		return "a list"
	case document.Scalar:
		return "a single value"
	}
	return "null"
}

// readItems reads field i of the list.
func (rl *ResourceList) readItems(c *cutter, root *document.Node, i int) error {
	list := &root.Fields()[i].Value
	if list.Kind() == document.Null {
		return nil
	}
	if list.Kind() != document.Seq {
		return &document.SyntaxError{Pos: rl.source.Position(list.Off), Msg: "items is " + kindName(list) + "; it must be a list of objects"}
	}
	spans, dash := c.items(root, i)
	rl.dash = dash
	objects, origins := make([]Object, len(list.Items())), make([]origin, len(list.Items()))
	rl.read = make([]*Object, len(list.Items()))
	for k := range list.Items() {
		n := &list.Items()[k]
		if n.Kind() != document.Map {
			return &document.SyntaxError{Pos: rl.source.Position(n.Off), Msg: "an item is " + kindName(n) + "; each must be an object"}
		}
		o := &objects[k]
		*o = *NewObject(rl.source, n)
		origins[k] = origin{list: rl, node: n, column: dash + len("- ")}
		o.origin = &origins[k]
		if spans != nil {
			origins[k].lines = spans[k]
			o.Raw = c.bytes(spans[k])
			origins[k].raw = o.Raw
		}
		if err := o.readPlace(); err != nil {
			return err
		}
		rl.read[k] = o
	}
	return nil
}

// readConfig reads field i of the list.
func (rl *ResourceList) readConfig(c *cutter, root *document.Node, i int) error {
	f := &root.Fields()[i]
	if f.Value.Kind() == document.Null {
		return nil
	}
	if f.Value.Kind() != document.Map {
		return &document.SyntaxError{Pos: rl.source.Position(f.Value.Off), Msg: "functionConfig is " + kindName(&f.Value) + "; it must be an object"}
	}
	o := NewObject(rl.source, &f.Value)
	o.origin = &origin{list: rl, node: &f.Value}
	if s, ok := c.field(root, i); ok {
		o.Raw = c.bytes(s)
		o.origin.raw = o.Raw
		// The lines of the object itself are those below its key.
		if first := c.lineStart(int(f.Value.Off)); first > int(f.Off) {
			o.origin.lines = span{first, s.end}
			o.origin.column = int(f.Value.Off) - first
		}
	}
	rl.FunctionConfig = o
	return o.readPlace()
}

// Write writes the list: what still carries the Raw it was read with as those
// bytes, everything else as its Raw, zero-indented text then, or encoded from
// its Node. results replace those of the input. The error is that of w.
func (rl *ResourceList) Write(w io.Writer, results []finding.Finding) error {
	out := bufio.NewWriterSize(w, 64<<10) // which keeps the first error, and Flush returns it
	_, _ = out.WriteString("apiVersion: " + rl.apiVersion + "\nkind: " + kindResourceList + "\n")
	var text []byte
	if o := rl.FunctionConfig; o != nil {
		if o.isAsRead(rl) {
			_, _ = out.Write(o.Raw)
		} else {
			config := document.Object(document.F("functionConfig", *o.Node))
			_, _ = out.Write(document.Append(nil, &config, 0))
		}
	}
	if len(rl.Items) == 0 {
		_, _ = out.WriteString("items: []\n")
	} else {
		_, _ = out.WriteString("items:\n")
	}
	for _, o := range rl.Items {
		switch {
		case o.isAsRead(rl):
			_, _ = out.Write(o.Raw)
			continue
		case len(o.Raw) > 0:
			text = appendItem(text[:0], o.Raw, rl.dash)
		default:
			list := document.List(*o.Node)
			text = document.Append(text[:0], &list, rl.dash)
		}
		_, _ = out.Write(text)
	}
	_, _ = out.Write(rl.appendResults(nil, results))
	return out.Flush()
}

// isAsRead reports whether an object still has the text it had in the list.
func (o *Object) isAsRead(rl *ResourceList) bool {
	return len(o.Raw) > 0 && o.origin != nil && o.origin.list == rl &&
		len(o.Raw) == len(o.origin.raw) && &o.Raw[0] == &o.origin.raw[0]
}

// appendItem writes zero-indented text as an item whose "- " stands at dash.
func appendItem(dst, text []byte, dash int) []byte {
	lead := bytes.Repeat([]byte(" "), dash+len("- "))
	dst = append(append(dst, lead[:dash]...), "- "...)
	first := true
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line = text[:i+1]
		}
		text = text[len(line):]
		blank := len(bytes.TrimSpace(line)) == 0
		if first && blank {
			continue
		}
		if !first && !blank {
			dst = append(dst, lead...)
		}
		first = false
		dst = append(dst, line...)
	}
	if dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return dst
}
