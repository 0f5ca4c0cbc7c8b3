package krm

import (
	"bytes"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// FileText is the text of an item as its file has it: without the indentation of the list,
// and without the annotations that a tool added. exact is false if it could not be cut out of
// the list, as in JSON: the text is then encoded again, and its lines are not those of the file.
func (o *Object) FileText() (text []byte, exact bool) {
	if from := o.origin; from != nil && from.lines.end > 0 && o.isAsRead(from.list) {
		if dropped, ok := from.addedLines(); ok {
			return from.textWithout(dropped), true
		}
	}
	return document.Append(nil, withoutAdded(o.Node), 0), false
}

// textWithout cuts the lines of an item out of the list, but for some, by their offset.
func (from *origin) textWithout(dropped map[int]bool) []byte {
	data := from.list.source.Data[:from.lines.end]
	text := make([]byte, 0, len(data)-from.lines.start)
	dash := from.column - len("- ")
	for at := from.lines.start; at < len(data); {
		line := data[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if !dropped[at] {
			indent := min(from.column, len(line)-len(bytes.TrimLeft(line, " ")))
			if dash >= 0 && dash+1 < len(line) && isSpace(line[:dash]) && line[dash] == '-' {
				indent = min(from.column, len(line)-len(bytes.TrimLeft(line[dash+1:], " ")))
				dash = -1 // what follows may be a list at this column
			}
			text = append(text, line[indent:]...)
		}
		at += len(line)
	}
	return text
}

// addedLines finds the lines of the annotations that a tool added, by their offset. It cannot
// if one of them shares its line or has several.
func (from *origin) addedLines() (lines map[int]bool, ok bool) {
	metadata := from.node.Field("metadata")
	if metadata == nil {
		return nil, true
	}
	annotations := metadata.Value.Field("annotations")
	if annotations == nil {
		return nil, true
	}
	lines = map[int]bool{}
	drop := func(f *document.Field, value string) bool {
		start, alone := from.ownLine(f.Off, value)
		lines[start] = true
		return alone
	}
	all := annotations.Value.Fields()
	for i := range all {
		if f := &all[i]; isAdded(f.Key) && !drop(f, f.Value.Value()) {
			return nil, false
		}
	}
	if len(lines) > 0 && len(lines) == len(all) {
		if !drop(annotations, "") {
			return nil, false
		}
		if len(metadata.Value.Fields()) == 1 && !drop(metadata, "") {
			return nil, false
		}
	}
	return lines, true
}

// ownLine is where the line of a key begins, and whether it holds that key and its value and
// nothing else.
func (from *origin) ownLine(key int32, value string) (start int, alone bool) {
	data := from.list.source.Data[:from.lines.end]
	start = bytes.LastIndexByte(data[:key], '\n') + 1
	line, _, _ := bytes.Cut(data[key:], []byte{'\n'})
	_, rest, found := strings.Cut(string(line), ":")
	rest = strings.TrimSpace(rest)
	if len(rest) > 1 && (rest[0] == '\'' || rest[0] == '"') && rest[len(rest)-1] == rest[0] {
		rest = rest[1 : len(rest)-1]
	}
	return start, found && isSpace(data[start:key]) && rest == value
}

// withoutAdded is a node without the annotations that a tool added.
func withoutAdded(n *document.Node) *document.Node {
	object := n.Made()
	metadata := object.Get("metadata")
	annotations := metadata.Get("annotations")
	if annotations == nil {
		return &object
	}
	var kept []document.Field
	for _, f := range annotations.Fields() {
		if !isAdded(f.Key) {
			kept = append(kept, f)
		}
	}
	switch {
	case len(kept) == len(annotations.Fields()):
	case len(kept) > 0:
		annotations.SetFields(kept)
	case len(metadata.Fields()) > 1:
		metadata.Delete("annotations")
	default:
		object.Delete("metadata")
	}
	return &object
}
