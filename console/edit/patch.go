package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// patch is the edits of a text that make a document say something else.
type patch struct {
	text  []byte
	end   int // of the document
	edits []replacement
}

// replacement is another text for a range.
type replacement struct {
	from, to int
	text     []byte
}

// apply is the text with all edits.
func (p *patch) apply() []byte {
	slices.SortStableFunc(p.edits, func(a, b replacement) int { return cmp.Compare(b.from, a.from) })
	text := bytes.Clone(p.text)
	for _, e := range p.edits {
		text = slices.Concat(text[:e.from], e.text, text[e.to:])
	}
	return text
}

// fields changes a map in block style, which ends before end, to another. It reports false for what has no lines of
// its own, so that who contains it has to be written again.
func (p *patch) fields(old, wanted *document.Node, end int) bool {
	if old.Kind() != document.Map || wanted.Kind() != document.Map || len(old.Fields()) == 0 {
		return false
	}
	all := old.Fields()
	flow := p.flow(old)
	for i := range all {
		f := &all[i]
		next := end
		if i+1 < len(all) {
			next = int(all[i+1].Off)
		}
		value := wanted.Get(f.Key)
		switch {
		case value != nil && document.Equal(&f.Value, value):
		case value != nil && p.value(&f.Value, value, next):
		case flow:
			return false
		case value == nil:
			p.edits = append(p.edits, replacement{p.lineOf(f.Off), p.lastLine(int(f.Off), next), nil})
			if p.column(f.Off) != p.indent(f.Off) {
				return false // behind the dash of a list
			}
		default:
			if !p.write(f, value, next) {
				return false
			}
		}
	}
	var more []document.Field
	for _, f := range wanted.Fields() {
		if old.Get(f.Key) == nil {
			more = append(more, f)
		}
	}
	if len(more) == 0 {
		return true
	}
	if flow {
		return false
	}
	last := &all[len(all)-1]
	at := p.lastLine(int(last.Off), end)
	n := document.Object(more...)
	text := document.Append(nil, &n, p.column(last.Off))
	if at > 0 && p.text[at-1] != '\n' {
		text = append([]byte{'\n'}, text...)
	}
	p.edits = append(p.edits, replacement{at, at, text})
	return true
}

// write writes a field again as a block.
func (p *patch) write(f *document.Field, value *document.Node, next int) bool {
	n := document.Object(document.F(f.Key, *value))
	text := document.Append(nil, &n, p.column(f.Off))
	p.edits = append(p.edits, replacement{int(f.Off), p.lastLine(int(f.Off), next), text[p.column(f.Off):]})
	return true
}

// value changes a value in its place.
func (p *patch) value(old, wanted *document.Node, next int) bool {
	before := len(p.edits)
	changed := false
	switch {
	case old.Kind() == document.Scalar && wanted.Kind() == document.Scalar:
		changed = p.scalar(old, wanted)
	case old.Kind() == document.Map && wanted.Kind() == document.Map && len(wanted.Fields()) > 0:
		changed = p.fields(old, wanted, next)
	case old.Kind() == document.Seq && wanted.Kind() == document.Seq && len(old.Items()) == len(wanted.Items()):
		changed = p.items(old, wanted, next)
	}
	if !changed {
		p.edits = p.edits[:before]
	}
	return changed
}

// items changes the items of a list that has as many afterwards.
func (p *patch) items(old, wanted *document.Node, end int) bool {
	items := old.Items()
	for i := range items {
		next := end
		if i+1 < len(items) {
			next = int(items[i+1].Off)
		}
		if !document.Equal(&items[i], &wanted.Items()[i]) && !p.value(&items[i], &wanted.Items()[i], next) {
			return false
		}
	}
	return true
}

// scalar changes a value that is written on one line.
func (p *patch) scalar(old, wanted *document.Node) bool {
	from := int(old.Off)
	if from < 0 || from >= p.end {
		return false
	}
	to := from
	switch rest := p.text[from:p.end]; {
	case rest[0] == '\'':
		end := bytes.IndexByte(rest[1:], '\'')
		if end < 0 || end+2 < len(rest) && rest[end+2] == '\'' {
			return false
		}
		to = from + end + 2
	case rest[0] == '"':
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 || bytes.IndexByte(rest[1:end+1], '\\') >= 0 {
			return false
		}
		to = from + end + 2
	case old.Value() != "" && bytes.HasPrefix(rest, []byte(old.Value())):
		to = from + len(old.Value())
	default:
		return false
	}
	text := bytes.TrimSuffix(document.Append(nil, wanted, 0), []byte{'\n'})
	if bytes.IndexByte(text, '\n') >= 0 {
		return false
	}
	p.edits = append(p.edits, replacement{from, to, text})
	return true
}

// flow reports whether a map or a list is in braces.
func (p *patch) flow(n *document.Node) bool {
	return n.Off >= 0 && int(n.Off) < len(p.text) && (p.text[n.Off] == '{' || p.text[n.Off] == '[')
}

// lineOf is where the line of an offset begins.
func (p *patch) lineOf(off int32) int { return bytes.LastIndexByte(p.text[:off], '\n') + 1 }

// column is how many characters of its line are before an offset.
func (p *patch) column(off int32) int { return int(off) - p.lineOf(off) }

// indent is how many blanks begin the line of an offset.
func (p *patch) indent(off int32) int {
	line := p.text[p.lineOf(off):]
	return len(line) - len(bytes.TrimLeft(line, " "))
}

// lastLine is the end of the lines of what begins at an offset and ends before next: comments and blank lines before
// next belong to that.
func (p *patch) lastLine(from, next int) int {
	end := next
	if next < len(p.text) && next > 0 {
		end = p.lineOf(int32(next))
	}
	for end > from {
		start := bytes.LastIndexByte(p.text[:end-1], '\n') + 1
		line := strings.TrimSpace(string(p.text[start:end]))
		if start <= from || line != "" && line[0] != '#' {
			break
		}
		end = start
	}
	return end
}
