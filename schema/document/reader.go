package document

import "strings"

// reader is the fast road of Parse: one pass over the text, values as parts of
// it, children in slabs. It never decides that a text is wrong: where it is not
// certain it stops, every method then returns false, and trouble keeps the
// place and, for what is usually a mistake, words that say what to do. A method
// that reads a value leaves it in node, and pos at the next content.
type reader struct {
	text    string // of the source, up to the end of the document
	trouble trouble

	// The next content: where it stands, its column, or -1 at the end, and the
	// empty lines and comments skipped before it.
	pos     int
	col     int
	empty   int
	comment bool

	node      Node    // the value read last
	fields    []Field // of the maps being read, innermost last
	items     []Node  // of the sequences being read, innermost last
	fieldSlab slab[Field]
	itemSlab  slab[Node]
	seen      map[string]bool // keys of one large map
	buf       []byte

	pace    pace
	ahead   *ahead // who reads on from further down; nil for nobody
	guesses int    // how often somebody was sent ahead in this document
}

// trouble is where and why the fast road stopped.
type trouble struct {
	off int
	msg string // "" where the text may well be right
}

func (r *reader) stop(off int, msg string) bool {
	r.trouble = trouble{off, msg}
	return false
}

const (
	msgTab       = "a tab is used as indentation; YAML takes only spaces there: replace it by spaces"
	msgIndent    = "this line stands at an indentation that fits no line above it; align it with the lines it belongs to"
	msgNoColon   = "a key with \": \" is wanted here; add the colon and a space, or indent the line if it goes on from the one above"
	msgColon     = "\": \" inside a plain value; put the value in quotes"
	msgInlineSeq = "a list cannot begin on the line of its key; put its first \"- \" on a line of its own"
	msgQuote     = "the quote that opens here is never closed"
	msgFlow      = "the bracket that opens here is never closed"
	msgAfter     = "nothing but a comment may follow here on the line"
	msgReserved  = "a value cannot begin with this character; put it in quotes"
	msgComma     = "a comma or a closing bracket is wanted here"
	msgTwice     = "this key is already set above in the same map; remove one of the two"
	msgDepth     = "this is nested more than 1000 levels deep"
)

// document reads one document; found is false if it has no content.
func (r *reader) document(p part) (n Node, found, ok bool) {
	defer r.drop()
	r.fields, r.items, r.guesses = r.fields[:0], r.items[:0], 0
	r.pos = p.start
	if p.inline {
		// Only a flow collection does not care for the column it begins at.
		if c := r.text[p.start]; c != '{' && c != '[' {
			return n, false, r.stop(p.start, "")
		}
		r.col = 0
	} else if !r.next() {
		return n, false, false
	}
	if r.col < 0 {
		return n, false, true
	}
	if !r.block(-1, r.col, 0) {
		return n, false, false
	}
	if r.col >= 0 {
		return n, false, r.stop(r.pos, msgIndent)
	}
	return r.node, true, true
}

// next moves from the start of a line to the next content.
func (r *reader) next() bool {
	text, start := r.text, r.pos
	r.empty, r.comment = 0, false
	for {
		i := start
		for i < len(text) && text[i] == ' ' {
			i++
		}
		if i == len(text) {
			r.pos, r.col = i, -1
			return true
		}
		switch text[i] {
		case '\n':
			r.empty++
			start = i + 1
		case '\r':
			r.empty++
			start = i + 2 // a CR is always part of CRLF here
		case '\t':
			return r.stop(i, msgTab)
		case '#':
			r.comment = true
			start = lineEnd(r.text, i)
		default:
			r.pos, r.col = i, i-start
			return true
		}
	}
}

// endLine moves from the end of a value to the next content; only a comment may
// stand between.
func (r *reader) endLine() bool {
	end, bare := restOfLine(r.text, r.pos)
	if !bare {
		return r.stop(end, msgAfter)
	}
	r.pos = end
	return r.next()
}

// block reads the value at pos, which is the first on its line, or follows "- ".
// indent is the column of the collection around it, col its own.
func (r *reader) block(indent, col, depth int) bool {
	start := r.pos
	switch c := r.text[start]; c {
	case '-':
		if blankAt(r.text, start+1) {
			return r.sequence(col, depth)
		}
	case '{', '[':
		return flowReader{r}.flow(depth) && r.endLine()
	case '|', '>':
		return r.blockScalar(indent)
	case '"', '\'':
		value, end, ok := r.quoted(start)
		if !ok {
			return false
		}
		if colon := colonAfter(r.text, end); colon >= 0 {
			if !r.fitsKey(start, end, colon) {
				return false
			}
			return r.mapping(col, depth, Field{Key: value, Off: int32(start)}, colon+1)
		}
		r.node = quoted(value, int32(start))
		r.pos = end
		return r.endLine()
	}
	if !r.plainStart(start) {
		return false
	}
	end := plainEnd(r.text, start)
	if end < len(r.text) && r.text[end] == ':' {
		key := trimBlanks(r.text[start:end])
		if !r.fitsKey(start, end, end) || key == "<<" {
			return r.stop(start, "")
		}
		return r.mapping(col, depth, Field{Key: key, Off: int32(start)}, end+1)
	}
	return r.plain(start, end, indent)
}

// fitsKey checks what YAML asks of a key: one line, and not too long.
func (r *reader) fitsKey(start, end, colon int) bool {
	if colon-start > maxKey || strings.IndexByte(r.text[start:end], '\n') >= 0 {
		return r.stop(start, "")
	}
	return true
}

// mapping reads a map whose first key ends before pos.
func (r *reader) mapping(col, depth int, f Field, pos int) bool {
	if depth++; depth > maxDepth {
		return r.stop(int(f.Off), msgDepth)
	}
	off, base := f.Off, len(r.fields)
	for {
		at := len(r.fields)
		r.fields = append(r.fields, f)
		r.pos = pos
		if !r.value(col, depth) {
			return false
		}
		r.fields[at].Value = r.node
		if r.col != col {
			break
		}
		var ok bool
		if f, pos, ok = r.key(); !ok {
			return false
		}
		if len(r.fields)-base < fewKeys {
			for i := base; i < len(r.fields); i++ {
				if r.fields[i].Key == f.Key {
					return r.stop(int(f.Off), msgTwice)
				}
			}
		}
	}
	if r.col > col {
		return r.stop(r.pos, msgIndent)
	}
	return r.closeMap(int(off), base)
}

// fewKeys is up to where keys are compared one by one.
const fewKeys = 16

// closeMap makes a Map of the fields from base on. The few first keys are
// already known to differ.
func (r *reader) closeMap(off, base int) bool {
	fields := r.fields[base:]
	if len(fields) > fewKeys {
		if r.seen == nil || len(r.seen) > 1024 {
			r.seen = make(map[string]bool, len(fields))
		}
		clear(r.seen)
		for i := range fields {
			if r.seen[fields[i].Key] {
				return r.stop(int(fields[i].Off), msgTwice)
			}
			r.seen[fields[i].Key] = true
		}
	}
	r.node = mapping(r.fieldSlab.take(fields), int32(off))
	r.fields = r.fields[:base]
	return true
}

// key reads the key at pos, and gives the place behind its colon.
func (r *reader) key() (f Field, pos int, ok bool) {
	start := r.pos
	f.Off = int32(start)
	if c := r.text[start]; c == '"' || c == '\'' {
		value, end, ok := r.quoted(start)
		if !ok {
			return f, 0, false
		}
		colon := colonAfter(r.text, end)
		if colon < 0 {
			return f, 0, r.stop(start, msgNoColon)
		}
		f.Key = value
		return f, colon + 1, r.fitsKey(start, end, colon)
	}
	if r.text[start] == '-' && blankAt(r.text, start+1) {
		return f, 0, r.stop(start, msgIndent)
	}
	if !r.plainStart(start) {
		return f, 0, false
	}
	end := plainEnd(r.text, start)
	if end == len(r.text) || r.text[end] != ':' {
		return f, 0, r.stop(start, msgNoColon)
	}
	f.Key = trimBlanks(r.text[start:end])
	if f.Key == "<<" {
		return f, 0, r.stop(start, "")
	}
	return f, end + 1, r.fitsKey(start, end, end)
}

// value reads what belongs to the key of a map at column col; pos is behind
// the colon.
func (r *reader) value(col, depth int) bool {
	colonEnd := r.pos
	i, bare := restOfLine(r.text, colonEnd)
	if bare {
		r.pos = i
		if !r.next() {
			return false
		}
		switch {
		case r.col > col:
			return r.block(col, r.col, depth)
		case r.col == col && r.text[r.pos] == '-' && blankAt(r.text, r.pos+1):
			return r.sequence(col, depth)
		}
		r.node = Node{Off: int32(colonEnd)}
		return true
	}
	r.pos = i
	switch c := r.text[i]; c {
	case '"', '\'':
		value, end, ok := r.quoted(i)
		if !ok {
			return false
		}
		r.node = quoted(value, int32(i))
		r.pos = end
		return r.endLine()
	case '{', '[':
		return flowReader{r}.flow(depth) && r.endLine()
	case '|', '>':
		return r.blockScalar(col)
	case '-':
		if blankAt(r.text, i+1) {
			return r.stop(i, msgInlineSeq)
		}
	}
	if !r.plainStart(i) {
		return false
	}
	end := plainEnd(r.text, i)
	if end < len(r.text) && r.text[end] == ':' {
		return r.stop(end, msgColon)
	}
	return r.plain(i, end, col)
}

// sequence reads the list whose first "- " stands at pos, in column col. It may
// stand in the same column as the key it belongs to.
func (r *reader) sequence(col, depth int) bool {
	off, base := r.pos, len(r.items)
	if depth++; depth > maxDepth {
		return r.stop(off, msgDepth)
	}
	r.lookAhead(col, depth)
	if !r.sequenceItems(col, depth) {
		return false
	}
	if r.col > col {
		return r.stop(r.pos, msgIndent)
	}
	r.node = sequence(r.itemSlab.take(r.items[base:]), int32(off))
	r.items = r.items[:base]
	return true
}

// sequenceItems reads the items of a list, and leaves them in items.
func (r *reader) sequenceItems(col, depth int) bool {
	for {
		if r.metAhead(col, depth) {
			return r.takeOver()
		}
		dash := r.pos
		i, bare := restOfLine(r.text, dash+1)
		if bare {
			r.pos = i
			if !r.next() {
				return false
			}
			if r.col > col {
				if !r.block(col, r.col, depth) {
					return false
				}
			} else {
				r.node = Node{Off: int32(dash + 1)}
			}
		} else {
			if r.text[i] == '\t' {
				return r.stop(i, msgTab)
			}
			r.pos = i
			if !r.block(col, col+i-dash, depth) {
				return false
			}
		}
		r.items = append(r.items, r.node)
		if r.col != col || r.text[r.pos] != '-' || !blankAt(r.text, r.pos+1) {
			return true
		}
	}
}
