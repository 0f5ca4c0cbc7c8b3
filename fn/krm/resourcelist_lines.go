package krm

import (
	"bytes"

	"github.com/poolwright/poolwright/schema/document"
)

// span is a range of whole lines of a source.
type span struct{ start, end int }

// cutter cuts the lines of fields and items out of the text of a document. It
// cuts nothing where the text of one part could not stand alone: in flow style,
// and where aliases tie parts together.
type cutter struct {
	data       []byte
	start, end int // of the document
	off        bool
}

func newCutter(data []byte, doc *document.Document) *cutter {
	c := &cutter{data: data, start: int(doc.Start), end: int(doc.End), off: doc.Linked}
	root := int(doc.Node.Off)
	c.off = c.off || data[root] == '{' || c.lineStart(root) != root
	return c
}

// lineStart is where the line of i begins.
func (c *cutter) lineStart(i int) int {
	return max(bytes.LastIndexByte(c.data[:i], '\n')+1, c.start)
}

// lineEnd is where the line after that of i begins.
func (c *cutter) lineEnd(i int) int {
	if j := bytes.IndexByte(c.data[i:c.end], '\n'); j >= 0 {
		return i + j + 1
	}
	return c.end
}

// bytes gives the text of a span; nil if its last line has no break, because
// another line behind it would change its meaning.
func (c *cutter) bytes(s span) []byte {
	if s.start == s.end || c.data[s.end-1] != '\n' {
		return nil
	}
	return c.data[s.start:s.end:s.end]
}

// field gives the lines of field i of the root map.
func (c *cutter) field(root *document.Node, i int) (s span, ok bool) {
	if c.off {
		return s, false
	}
	s = span{c.lineStart(int(root.Fields()[i].Off)), 0}
	var sure bool
	s.end, sure = c.fieldEnd(root, i)
	return s, sure || c.stands(s)
}

// fieldEnd is where the lines of field i of the root map end: comments above the
// next one are its. sure is false where such a comment might be something else.
func (c *cutter) fieldEnd(root *document.Node, i int) (end int, sure bool) {
	if i+1 == len(root.Fields()) {
		return c.end, true
	}
	return c.comments(c.lineStart(int(root.Fields()[i+1].Off)), c.lineEnd(int(root.Fields()[i].Off)), 0)
}

// items gives the lines of each item of field i of the root map, comments above
// its "- " among them, and the column of the "- ". spans is nil where the items
// have no lines of their own.
func (c *cutter) items(root *document.Node, i int) (spans []span, dash int) {
	list := &root.Fields()[i].Value
	if c.off || len(list.Items()) == 0 || c.data[list.Off] != '-' {
		return nil, 0
	}
	dash = int(list.Off) - c.lineStart(int(list.Off))
	spans = make([]span, len(list.Items()))
	floor := c.lineEnd(int(root.Fields()[i].Off)) // what stands below belongs to the item
	for k := range list.Items() {
		off := int(list.Items()[k].Off)
		line, found := c.dashLine(off, floor, dash)
		if !found {
			return nil, 0
		}
		start := floor
		if k > 0 {
			var sure bool
			if start, sure = c.comments(line, floor, dash); !sure && !c.stands(span{spans[k-1].start, start}) {
				return nil, 0
			}
			spans[k-1].end = start
		}
		spans[k].start = start
		floor = c.lineEnd(off)
	}
	last := &spans[len(spans)-1]
	var sure bool
	last.end, sure = c.fieldEnd(root, i)
	if last.end = max(last.end, floor); !sure && !c.stands(*last) {
		return nil, 0
	}
	return spans, dash
}

// dashLine finds the line with the "- " of the item whose content begins at
// off: the same line, or one above with nothing but comments between.
func (c *cutter) dashLine(off, floor, dash int) (line int, found bool) {
	if off < floor || off >= c.end {
		return 0, false
	}
	line, end := c.lineStart(off), off
	for {
		if at := line + dash; at < end && c.data[at] == '-' && isSpace(c.data[line:at]) {
			rest := bytes.TrimSpace(c.data[at+1 : end])
			return line, len(rest) == 0 || end < off && rest[0] == '#'
		}
		rest := bytes.TrimSpace(c.data[line:end])
		if line <= floor || len(rest) > 0 && (end == off || rest[0] != '#') {
			return 0, false
		}
		line, end = c.lineStart(line-1), line
	}
}

// comments goes up from a line over the comments above it, to where they begin.
// Only those that do not stand deeper than column count: the others belong to
// what is above. sure is false where one has a quote: then it might be the last
// line of a quoted text.
func (c *cutter) comments(line, floor, column int) (start int, sure bool) {
	start, sure = line, true
	for line > floor {
		end := line
		line = c.lineStart(line - 1)
		text := bytes.TrimLeft(c.data[line:end], " ")
		switch {
		case len(bytes.TrimSpace(text)) == 0:
		case text[0] == '#' && end-line-len(text) <= column:
			start = line
			sure = sure && !bytes.ContainsAny(text, `"'`)
		default:
			return start, sure
		}
	}
	return start, sure
}

// stands reports whether a span is YAML without what is around it.
func (c *cutter) stands(s span) bool {
	_, err := document.Parse(&document.Source{Data: c.data[s.start:s.end]})
	return err == nil
}

func isSpace(text []byte) bool { return len(bytes.Trim(text, " ")) == 0 }
