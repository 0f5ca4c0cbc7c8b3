package document

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Aliases may add maxExpanded nodes to a document, and expandedRate for each
// node that is written in it.
const (
	maxExpanded  = 100_000
	expandedRate = 10
)

// fallback reads one document with yaml.v3, for what the reader does not know
// for certain. trouble is where the reader stopped: for a mistake it usually
// knows place and remedy better than yaml.v3, which mostly gives a line.
func fallback(src *Source, text string, p part, t trouble) (n Node, linked, found bool, err error) {
	if p.end-p.whole > maxFallback {
		msg := t.msg
		if msg == "" {
			msg = "this needs the general YAML parser (anchor, tag, duplicate key, or another uncommon form), which takes documents up to 64 MiB; write it plainly, or split the document"
		}
		return n, false, false, &SyntaxError{src.Position(int32(t.off)), msg}
	}
	root, err := decode(text[p.whole:p.end])
	c := converter{src: src, text: text[:p.end], lines: lineStarts(text[:p.end], p.whole), anchors: map[*yaml.Node]Node{}}
	if err != nil {
		return n, false, false, c.explain(err, t)
	}
	if root == nil || empty(root) {
		return n, false, false, nil
	}
	c.budget = maxExpanded + expandedRate*count(root)
	n, err = c.convert(root, 0)
	return n, c.aliased || p.directives, err == nil, err
}

var errSecond = errors.New("a second document begins without ---; put --- on a line of its own before it")

// decode reads the one document of text; nil if there is none.
func decode(text string) (root *yaml.Node, err error) {
	defer func() {
		// yaml.v3 has known panics on odd comments.
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, errSecond
	case err != io.EOF:
		return nil, err
	}
	return doc.Content[0], nil
}

// empty reports whether a document has no content at all.
func empty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == "" && n.ShortTag() == "!!null"
}

func count(n *yaml.Node) int {
	total := 1
	for _, child := range n.Content {
		total += count(child)
	}
	return total
}

// converter turns the tree of yaml.v3 into ours.
type converter struct {
	src     *Source
	text    string
	lines   []int // where each line starts
	budget  int   // how many more nodes there may be
	aliased bool
	anchors map[*yaml.Node]Node // what aliases may name

	// The last place asked for: the next is near, and a whole JSON file may be
	// one line.
	line, column, at int
}

func (c *converter) convert(y *yaml.Node, depth int) (Node, error) {
	n, err := c.value(y, depth)
	if err == nil && y.Anchor != "" {
		c.anchors[y] = n
	}
	return n, err
}

func (c *converter) value(y *yaml.Node, depth int) (Node, error) {
	n := Node{Off: c.offset(y)}
	switch y.Kind {
	case yaml.AliasNode:
		c.aliased = true
		named, whole := c.anchors[y.Alias]
		if !whole {
			return n, c.fail(y, "the alias *"+y.Value+" stands inside what it names")
		}
		return c.copy(named, y, depth)
	case yaml.MappingNode:
		if depth++; depth > maxDepth {
			return n, c.fail(y, msgDepth)
		}
		return c.mapping(n, y, depth)
	case yaml.SequenceNode:
		if depth++; depth > maxDepth {
			return n, c.fail(y, msgDepth)
		}
		items := make([]Node, len(y.Content))
		for i, item := range y.Content {
			v, err := c.convert(item, depth)
			if err != nil {
				return n, err
			}
			items[i] = v
		}
		return sequence(items, n.Off), nil
	}
	if y.ShortTag() == "!!null" {
		return n, nil
	}
	n.SetValue(y.Value)
	if y.Style&yaml.TaggedStyle == 0 {
		n.Quoted = y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		return n, nil
	}
	switch y.ShortTag() {
	case "!!bool", "!!int", "!!float":
	default:
		n.Quoted = true
	}
	return n, nil
}

// copy makes what an alias stands for: a tree of its own, because a caller may
// change it.
func (c *converter) copy(n Node, alias *yaml.Node, depth int) (Node, error) {
	if c.budget--; c.budget < 0 {
		return n, c.fail(alias, "the aliases (*) of this document make it too large; write the values out")
	}
	if n.Kind() == Map || n.Kind() == Seq {
		if depth++; depth > maxDepth {
			return n, c.fail(alias, msgDepth)
		}
	}
	var err error
	n = n.Copy()
	for i := range n.Fields() {
		if n.Fields()[i].Value, err = c.copy(n.Fields()[i].Value, alias, depth); err != nil {
			return n, err
		}
	}
	for i := range n.Items() {
		if n.Items()[i], err = c.copy(n.Items()[i], alias, depth); err != nil {
			return n, err
		}
	}
	return n, nil
}

// mapping makes a Map that stands where n does. What << merges in stands where the << stands, gives way
// to the map's own keys, and among several the first wins.
func (c *converter) mapping(n Node, y *yaml.Node, depth int) (Node, error) {
	own := make(map[string]int32, len(y.Content)/2)
	merged := false
	for i := 0; i < len(y.Content); i += 2 {
		key := y.Content[i]
		text, isText := keyText(key)
		if !isText {
			return n, c.fail(key, "a key must be one plain or quoted word, not a list or a map")
		}
		off := c.offset(key)
		if isMerge(key) {
			merged = true
			text = "<<\x00"
		}
		if first, twice := own[text]; twice {
			return n, duplicate(c.src, strings.TrimSuffix(text, "\x00"), off, first)
		}
		own[text] = off
		if key.Anchor != "" {
			if _, err := c.convert(key, depth); err != nil {
				return n, err
			}
		}
	}
	var fields []Field
	if !merged {
		fields = make([]Field, 0, len(y.Content)/2)
	}
	taken := map[string]bool{}
	for i := 0; i < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		v, err := c.convert(value, depth)
		if err != nil {
			return n, err
		}
		if !isMerge(key) {
			text, _ := keyText(key)
			fields = append(fields, Field{Key: text, Off: c.offset(key), Value: v})
			continue
		}
		sources := []Node{v}
		if v.Kind() == Seq {
			sources = v.Items()
		}
		for _, from := range sources {
			if from.Kind() != Map {
				return n, c.fail(value, "<< takes a map or a list of maps")
			}
			for _, f := range from.Fields() {
				if _, has := own[f.Key]; !has && !taken[f.Key] {
					taken[f.Key] = true
					fields = append(fields, f)
				}
			}
		}
	}
	return mapping(fields, n.Off), nil
}

// keyText gives the text of a key that is one.
func keyText(y *yaml.Node) (string, bool) {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return y.Value, y.Kind == yaml.ScalarNode
}

func isMerge(y *yaml.Node) bool {
	return y.Kind == yaml.ScalarNode && y.Value == "<<" && y.ShortTag() == "!!merge"
}

// duplicate is the error at the second of two keys.
func duplicate(src *Source, key string, second, first int32) error {
	return &SyntaxError{src.Position(second),
		fmt.Sprintf("key %q is already set in line %d; remove one of the two", key, src.Position(first).Line)}
}

// offset turns line and column of a node into bytes. A node of yaml.v3 counts
// characters.
func (c *converter) offset(y *yaml.Node) int32 {
	if y.Line < 1 || y.Line > len(c.lines) {
		return int32(len(c.text))
	}
	if y.Line != c.line {
		c.line, c.column, c.at = y.Line, 1, c.lines[y.Line-1]
	}
	for ; c.column > max(y.Column, 1); c.column-- {
		_, size := utf8.DecodeLastRuneInString(c.text[:c.at])
		c.at -= size
	}
	for ; c.column < y.Column; c.column++ {
		_, size := utf8.DecodeRuneInString(c.text[c.at:])
		c.at += size
	}
	return int32(c.at)
}

func (c *converter) fail(y *yaml.Node, msg string) error {
	return &SyntaxError{c.src.Position(c.offset(y)), msg}
}

// explain gives an error of yaml.v3 a place and a remedy.
func (c *converter) explain(err error, t trouble) error {
	if t.msg != "" {
		return &SyntaxError{c.src.Position(int32(t.off)), t.msg}
	}
	pos := Position{File: c.src.Name}
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(msg, "line "); found {
		number, words, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil {
			if strings.HasPrefix(words, "did not find expected") {
				line++ // its parser, unlike its scanner, counts from 0
			}
			msg = words
			pos.Line = c.src.Position(int32(c.lines[min(max(line, 1), len(c.lines))-1])).Line
		}
	} else {
		pos = c.src.Position(int32(max(t.off, c.lines[0])))
	}
	return &SyntaxError{pos, "this is not YAML: " + msg}
}

// lineStarts finds where the lines of text begin from start on, breaking where
// YAML 1.1 breaks.
func lineStarts(text string, start int) []int {
	starts := []int{start}
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n', c == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			starts = append(starts, i+1)
		case c == 0xC2 && strings.HasPrefix(text[i:], "\u0085"):
			starts = append(starts, i+2)
		case c == 0xE2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			starts = append(starts, i+3)
		}
	}
	return starts
}
