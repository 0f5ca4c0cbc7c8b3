package document

import (
	"bytes"
	"strconv"
	"strings"
)

// noteWidth is the length of a line up to which small lists and maps stand on one.
const noteWidth = 100

// AppendNoted writes a tree as YAML that a person is to go on with: as Append, but lists
// of scalars, and items of lists whose values are small, stand on one line where that is
// short, and behind what has a note stands a comment. Notes go by the path of a field,
// such as spec.list[0].key.
func AppendNoted(dst []byte, n *Node, notes map[string]string) []byte {
	if len(n.Fields())+len(n.Items()) == 0 {
		return Append(dst, n, 0)
	}
	w := noted{dst, notes}
	w.block("", n, 0)
	return w.dst
}

type noted struct {
	dst   []byte
	notes map[string]string
}

// block writes the entries of a map or a list, none of which is empty. The first line is
// indented already.
func (w *noted) block(path string, n *Node, indent int) {
	if n.Kind() == Map {
		for i := range n.Fields() {
			if i > 0 {
				w.dst = appendSpaces(w.dst, indent)
			}
			f := &n.Fields()[i]
			w.dst = appendKey(w.dst, f.Key, indent)
			w.value(below(path, f.Key), &f.Value, indent)
		}
		return
	}
	for i := range n.Items() {
		if i > 0 {
			w.dst = appendSpaces(w.dst, indent)
		}
		w.dst = append(w.dst, "- "...)
		item, at := &n.Items()[i], path+"["+strconv.Itoa(i)+"]"
		switch flow, small := appendFlow(nil, item); {
		case item.Kind() == Scalar:
			w.dst = appendScalar(w.dst, item, indent+2)
		case small && !w.hasNotes(at) && indent+2+len(flow) <= noteWidth:
			w.dst = append(append(w.dst, flow...), '\n')
		default:
			w.block(at, item, indent+2)
		}
	}
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// value writes what follows the colon of a key.
func (w *noted) value(path string, n *Node, indent int) {
	note := ""
	if text := w.notes[path]; text != "" {
		note = " # " + text
	}
	switch flow, small := appendFlow(nil, n); {
	case n.Kind() == Map && len(n.Fields()) > 0, n.Kind() == Seq && !(small && isScalars(n)):
		w.dst = append(append(w.dst, note...), '\n')
		if n.Kind() == Map {
			indent += 2
		}
		w.dst = appendSpaces(w.dst, indent)
		w.block(path, n, indent)
	case n.Kind() == Scalar:
		w.dst = appendScalar(append(w.dst, ' '), n, indent+2)
		if note != "" {
			w.dst = append(append(w.dst[:len(w.dst)-1], note...), '\n')
		}
	default:
		w.dst = append(w.dst, ' ')
		w.wrap(flow, indent+2)
		w.dst = append(append(w.dst, note...), '\n')
	}
}

// wrap writes a list of scalars, on as many lines as it takes.
func (w *noted) wrap(flow []byte, indent int) {
	column := len(w.dst) - bytes.LastIndexByte(w.dst, '\n') - 1
	for i, item := range strings.Split(string(flow), ", ") {
		switch {
		case i > 0 && column+2+len(item) > noteWidth:
			w.dst = appendSpaces(append(w.dst, ",\n"...), indent)
			column = indent
		case i > 0:
			w.dst = append(w.dst, ", "...)
			column += 2
		}
		w.dst = append(w.dst, item...)
		column += len(item)
	}
}

// hasNotes reports whether there are notes below a path.
func (w *noted) hasNotes(path string) bool {
	for at := range w.notes {
		if strings.HasPrefix(at, path) {
			return true
		}
	}
	return false
}

func isScalars(n *Node) bool {
	for i := range n.Items() {
		if n.Items()[i].Kind() != Scalar {
			return false
		}
	}
	return true
}

// appendFlow writes a tree on one line. It reports false for one with texts that do not
// fit there as they are.
func appendFlow(dst []byte, n *Node) ([]byte, bool) {
	ok := true
	switch n.Kind() {
	case Map:
		dst = append(dst, '{')
		for i := range n.Fields() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendFlowText(dst, n.Fields()[i].Key), ": "...)
			var fits bool
			dst, fits = appendFlow(dst, &n.Fields()[i].Value)
			ok = ok && fits
		}
		return append(dst, '}'), ok
	case Seq:
		dst = append(dst, '[')
		for i := range n.Items() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			var fits bool
			dst, fits = appendFlow(dst, &n.Items()[i])
			ok = ok && fits
		}
		return append(dst, ']'), ok
	case Scalar:
		if n.isText() {
			return appendFlowText(dst, n.Value()), !strings.Contains(n.Value(), ", ")
		}
		return append(dst, n.Value()...), true
	}
	return append(dst, "null"...), true
}

// appendFlowText writes a text on one line inside brackets.
func appendFlowText(dst []byte, s string) []byte {
	if isPlain(s) && !strings.ContainsAny(s, ",[]{}:") {
		return append(dst, s...)
	}
	return appendQuoted(dst, s)
}
