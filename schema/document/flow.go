package document

import "strings"

// flowReader is the reader inside brackets, where lines and columns do not count. Its
// methods leave pos behind what they read, not at the next content.
type flowReader struct{ *reader }

// flow reads the value at pos in flow style, JSON among it.
func (r flowReader) flow(depth int) bool {
	start := r.pos
	switch r.text[start] {
	case '{':
		return r.flowMap(depth + 1)
	case '[':
		return r.flowSeq(depth + 1)
	case '"', '\'':
		value, end, ok := r.quoted(start)
		if !ok {
			return false
		}
		r.node = quoted(value, int32(start))
		r.pos = end
		return true
	}
	value, end, ok := r.flowPlain(start)
	if !ok {
		return false
	}
	r.pos, r.node = end, plainNode(value, start)
	return true
}

func (r flowReader) flowMap(depth int) bool {
	off, base := r.pos, len(r.fields)
	if depth > maxDepth {
		return r.stop(off, msgDepth)
	}
	r.pos++
	for {
		if !r.flowSpace(off) {
			return false
		}
		if r.text[r.pos] == '}' {
			r.pos++
			return r.closeMap(off, base)
		}
		f, ok := r.flowKey()
		if !ok || !r.flowSpace(off) {
			return false
		}
		if c := r.text[r.pos]; c == ',' || c == '}' {
			return r.stop(r.pos, "")
		}
		if len(r.fields)-base < fewKeys {
			for i := base; i < len(r.fields); i++ {
				if r.fields[i].Key == f.Key {
					return r.stop(int(f.Off), msgTwice)
				}
			}
		}
		at := len(r.fields)
		r.fields = append(r.fields, f)
		if !r.flow(depth) || !r.flowSpace(off) {
			return false
		}
		r.fields[at].Value = r.node
		if !r.flowComma('}') {
			return false
		}
	}
}

func (r flowReader) flowSeq(depth int) bool {
	off, base := r.pos, len(r.items)
	if depth > maxDepth {
		return r.stop(off, msgDepth)
	}
	r.pos++
	for {
		if !r.flowSpace(off) {
			return false
		}
		if r.text[r.pos] == ']' {
			r.pos++
			r.node = sequence(r.itemSlab.take(r.items[base:]), int32(off))
			r.items = r.items[:base]
			return true
		}
		if !r.flow(depth) || !r.flowSpace(off) {
			return false
		}
		r.items = append(r.items, r.node)
		if !r.flowComma(']') {
			return false
		}
	}
}

// flowComma steps over a comma, or stays at the closing bracket.
func (r flowReader) flowComma(closing byte) bool {
	switch r.text[r.pos] {
	case ',':
		r.pos++
		return true
	case closing:
		return true
	}
	return r.stop(r.pos, msgComma)
}

// flowKey reads a key and the colon that must follow it on its line.
func (r flowReader) flowKey() (f Field, ok bool) {
	start := r.pos
	f.Off = int32(start)
	end := start
	if c := r.text[start]; c == '"' || c == '\'' {
		if f.Key, end, ok = r.quoted(start); !ok {
			return f, false
		}
		for end < len(r.text) && r.text[end] == ' ' {
			end++
		}
	} else {
		if f.Key, end, ok = r.flowPlain(start); !ok {
			return f, false
		}
		if f.Key == "<<" {
			return f, r.stop(start, "")
		}
	}
	if end == len(r.text) || r.text[end] != ':' {
		return f, r.stop(start, "")
	}
	r.pos = end + 1
	return f, r.fitsKey(start, end, end)
}

// flowPlain reads a plain scalar; end is where the next token stands, if it is
// on the same line.
func (r flowReader) flowPlain(start int) (value string, end int, ok bool) {
	text := r.text
	if c := text[start]; c == '?' || c == ':' {
		return "", start, r.stop(start, "")
	} else if c == '-' {
		if start+1 == len(text) || strings.IndexByte(",[]{}: \t\r\n", text[start+1]) >= 0 {
			return "", start, r.stop(start, "")
		}
	} else if !r.plainStart(start) {
		return "", start, false
	}
	i := start
scan:
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', ']', '}', '\n':
			break scan
		case '[', '{', '?':
			return "", start, r.stop(i, "")
		case ':':
			if i+1 == len(text) || isBlank(text[i+1]) {
				break scan
			}
			if strings.IndexByte(",[]{}", text[i+1]) >= 0 {
				return "", start, r.stop(i, "")
			}
		case '#':
			if c := text[i-1]; c == ' ' || c == '\t' {
				break scan
			}
		}
	}
	value = trimBlanks(text[start:i])
	if i < len(text) && text[i] == '\n' {
		// It might go on in the next line.
		j := i
		for j < len(text) && isBlank(text[j]) {
			j++
		}
		if j < len(text) && strings.IndexByte(",]}#", text[j]) < 0 {
			return "", start, r.stop(start, "")
		}
	}
	return value, i, true
}

// flowSpace moves to the next token inside a flow collection that opened at
// open; it stops at the end of the text.
func (r flowReader) flowSpace(open int) bool {
	text, i := r.text, r.pos
	for i < len(text) {
		switch text[i] {
		case ' ', '\t', '\n', '\r':
			i++
			continue
		case '#':
			if !isBlank(text[i-1]) {
				return r.stop(i, "")
			}
			i = lineEnd(r.text, i)
			continue
		}
		r.pos = i
		return true
	}
	return r.stop(open, msgFlow)
}
