package krm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// Annotations by which tools say where an object came from. Those of the older
// form mean the same, and must not say anything else.
const (
	annotationInternal = "internal.config.kubernetes.io/"
	annotationLegacy   = "config.kubernetes.io/"
	annotationLegacyID = "config.k8s.io/id"
)

// origin is where an object stood in a ResourceList.
type origin struct {
	list   *ResourceList
	node   *document.Node // the item
	raw    []byte         // its text, nil if it has no lines of its own
	lines  span           // the lines of the object
	column int            // where its content begins in them
}

// readPlace takes path and index from the annotations of an item.
func (o *Object) readPlace() error {
	annotations := o.Node.Get("metadata", "annotations")
	if annotations == nil || annotations.Kind() != document.Map {
		return nil
	}
	var path, index *document.Field
	for i := range annotations.Fields() {
		f := &annotations.Fields()[i]
		var known **document.Field
		switch f.Key {
		case annotationInternal + "path", annotationLegacy + "path":
			known = &path
		case annotationInternal + "index", annotationLegacy + "index":
			known = &index
		default:
			continue
		}
		if other := *known; other != nil && other.Value.Value() != f.Value.Value() {
			return &document.SyntaxError{
				Pos: o.Source.Position(f.Off),
				Msg: fmt.Sprintf("annotation %s is %q, but %s is %q; both must say the same, or only one be there", f.Key, f.Value.Value(), other.Key, other.Value.Value()),
			}
		}
		*known = f
	}
	if path != nil {
		o.Path = path.Value.Value()
	}
	if index != nil {
		n, err := strconv.Atoi(index.Value.Value())
		if err != nil || n < 0 {
			return &document.SyntaxError{
				Pos: o.Source.Position(index.Value.Off),
				Msg: fmt.Sprintf("annotation %s is %q; it must be a whole number from 0 on", index.Key, index.Value.Value()),
			}
		}
		o.Index = n
	}
	return nil
}

// At finds the place of a field: of its value if it is there, else of the
// nearest key above it that is. A step such as pools[1] names an item of a list. No path
// means the start of the object.
func (o *Object) At(path ...string) document.Position {
	n, off := o.Node, o.Node.Off
	for i, key := range path {
		key, item := splitIndex(key)
		f := n.Field(key)
		if f == nil {
			break
		}
		n, off = &f.Value, f.Off
		if item >= 0 && item < len(n.Items()) {
			n = &n.Items()[item]
			off = n.Off
		}
		if i == len(path)-1 && n.Kind() != document.Null && n.Off >= 0 {
			off = n.Off
		}
	}
	return o.Position(off)
}

// splitIndex takes the index off a step such as pools[1]; -1 for none.
func splitIndex(step string) (key string, item int) {
	key, index, found := strings.Cut(strings.TrimSuffix(step, "]"), "[")
	if item, err := strconv.Atoi(index); found && err == nil {
		return key, item
	}
	return step, -1
}

// Position turns an offset in the source of an object into a place that its
// author knows.
//
// For an object that was read from a file, that is the place in the file. An
// item of a ResourceList has a place only where a tool annotated its path: kpt
// does, kustomize does not. Line and column in that file are then worked out
// from those in the item, less its indentation and the annotations that the
// tool added, plus the documents before it in the same file. kpt drops blank
// lines and a comment that stands apart at the top of a file, and sets other
// indentation right, so the line is exact only for files without these.
func (o *Object) Position(off int32) document.Position {
	from := o.origin
	if from == nil {
		return o.Source.Position(off)
	}
	if o.Path == "" {
		return document.Position{}
	}
	file := document.Position{File: o.Path}
	if int(off) < from.lines.start || int(off) >= from.lines.end {
		return file
	}
	above, known := from.list.linesBefore(o.Path, o.Index)
	if !known {
		return file
	}
	file.Line = above + from.linesUpTo(int(off)) + 1
	file.Column = max(o.Source.Position(off).Column-from.column, 1)
	return file
}

// linesBefore counts the lines of the documents before the one at index in a
// file, known only if all of them are in the list.
func (rl *ResourceList) linesBefore(path string, index int) (lines int, known bool) {
	found := 0
	for _, o := range rl.read {
		from := o.origin
		if o.Path != path || o.Index >= index || from.lines.end == 0 {
			continue
		}
		found++
		text := bytes.TrimRight(rl.source.Data[from.lines.start:from.lines.end], " \r\n")
		lines += from.linesUpTo(from.lines.start+len(text)) + 2 // its last line, and the ---
	}
	return lines, found == index
}

// linesUpTo counts the breaks of an item before off, less those behind lines
// that a tool added.
func (from *origin) linesUpTo(off int) int {
	lines := bytes.Count(from.list.source.Data[from.lines.start:off], []byte{'\n'})
	metadata := from.node.Field("metadata")
	if metadata == nil {
		return lines
	}
	annotations := metadata.Value.Field("annotations")
	if annotations == nil {
		return lines
	}
	added := 0
	for i := range annotations.Value.Fields() {
		if f := &annotations.Value.Fields()[i]; isAdded(f.Key) {
			added++
			lines -= from.lineAbove(f.Off, off)
		}
	}
	if added > 0 && added == len(annotations.Value.Fields()) {
		lines -= from.lineAbove(annotations.Off, off)
		if len(metadata.Value.Fields()) == 1 {
			lines -= from.lineAbove(metadata.Off, off)
		}
	}
	return lines
}

// lineAbove is 1 if a key has a line of its own above that of off, else 0.
func (from *origin) lineAbove(key int32, off int) int {
	head := from.list.source.Data[from.lines.start:key]
	line := head[bytes.LastIndexByte(head, '\n')+1:]
	if isSpace(line) && int(key) < off && bytes.IndexByte(from.list.source.Data[key:off], '\n') >= 0 {
		return 1
	}
	return 0
}

// isAdded reports whether an annotation was added by the tool that runs the
// function.
func isAdded(key string) bool {
	return strings.HasPrefix(key, annotationInternal) || key == annotationLegacyID ||
		key == annotationLegacy+"path" || key == annotationLegacy+"index"
}
