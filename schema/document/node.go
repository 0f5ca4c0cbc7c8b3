// Package document holds YAML as its author wrote it: a tree of nodes that
// remember where they stand, so that every message can name file, line and
// column, and everything untouched can be written back as the bytes it came in.
//
// Scalars stay text. Whether a plain scalar is a number or a boolean is asked
// when it is used, and an unquoted serial number such as 0E4006924050 or
// 063236371040 is never taken for one.
package document

import (
	"slices"
	"strconv"
	"strings"
)

// Kind tells what a node is.
type Kind uint8

// The kinds of node. The zero Node is a null.
const (
	Null Kind = iota
	Scalar
	Map
	Seq
)

// Node is one value of a document. A nil *Node stands for an absent value:
// every method may be called on it.
type Node struct {
	Kind   Kind
	Quoted bool   // a scalar that is text by its form: quoted, block or tagged !!str
	Off    int32  // where its first character stands, in bytes from the start of the source; NoOffset for a made node
	Value  string // of a scalar
	Fields []Field
	Items  []Node
}

// Field is one entry of a Map, in the order of the source.
type Field struct {
	Key   string
	Off   int32 // of the key
	Value Node
}

// NoOffset is the Off of a node that was not read from a source.
const NoOffset int32 = -1

// Text makes a scalar that is text whatever it looks like.
func Text(s string) Node { return Node{Kind: Scalar, Quoted: true, Off: NoOffset, Value: s} }

// Int makes a whole number.
func Int(i int64) Node {
	return Node{Kind: Scalar, Off: NoOffset, Value: strconv.FormatInt(i, 10)}
}

// Bool makes a boolean.
func Bool(b bool) Node {
	return Node{Kind: Scalar, Off: NoOffset, Value: strconv.FormatBool(b)}
}

// Object makes a Map with the given fields.
func Object(fields ...Field) Node { return Node{Kind: Map, Off: NoOffset, Fields: fields} }

// List makes a Seq of the given items.
func List(items ...Node) Node { return Node{Kind: Seq, Off: NoOffset, Items: items} }

// F makes a field of a made Map.
func F(key string, value Node) Field { return Field{Key: key, Off: NoOffset, Value: value} }

// Get walks down through maps, and returns nil where the path ends early.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		f := n.Field(key)
		if f == nil {
			return nil
		}
		n = &f.Value
	}
	return n
}

// Field returns the entry of a map, or nil.
func (n *Node) Field(key string) *Field {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return &n.Fields[i]
		}
	}
	return nil
}

// Str returns the text of the scalar at path, or "".
func (n *Node) Str(path ...string) string {
	if n = n.Get(path...); n == nil || n.Kind != Scalar {
		return ""
	}
	return n.Value
}

// Seq returns the items of the sequence at path, or nil.
func (n *Node) Seq(path ...string) []Node {
	if n = n.Get(path...); n == nil || n.Kind != Seq {
		return nil
	}
	return n.Items
}

// StrMap returns the scalar entries of the map at path, or nil.
func (n *Node) StrMap(path ...string) map[string]string {
	n = n.Get(path...)
	if n == nil || n.Kind != Map || len(n.Fields) == 0 {
		return nil
	}
	m := make(map[string]string, len(n.Fields))
	for i := range n.Fields {
		if f := &n.Fields[i]; f.Value.Kind == Scalar {
			m[f.Key] = f.Value.Value
		}
	}
	return m
}

// Int returns the whole number of a plain scalar: decimal, no leading zero.
func (n *Node) Int() (int64, bool) {
	if n == nil || n.Kind != Scalar || n.Quoted || !isDecimal(n.Value) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	return i, err == nil
}

// Float returns the number of a plain scalar: a whole number, or digits with a
// point and perhaps an exponent. Without the point 0E4006924050 is text.
func (n *Node) Float() (float64, bool) {
	if i, ok := n.Int(); ok {
		return float64(i), true
	}
	if n == nil || n.Kind != Scalar || n.Quoted || !isFloat(n.Value) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	return f, err == nil
}

// Bool returns the boolean of a plain scalar.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind != Scalar || n.Quoted {
		return false, false
	}
	switch n.Value {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// Set replaces the entry of a map, or appends it.
func (n *Node) Set(key string, value Node) {
	if f := n.Field(key); f != nil {
		f.Value = value
		return
	}
	n.Fields = append(n.Fields, F(key, value))
}

// Delete drops the entry of a map.
func (n *Node) Delete(key string) {
	n.Fields = slices.DeleteFunc(n.Fields, func(f Field) bool { return f.Key == key })
}

// Equal reports whether two trees say the same, whatever their formatting and
// the order of their keys. The text "3" and the number 3 are not the same.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || len(a.Fields) != len(b.Fields) || len(a.Items) != len(b.Items) {
		return false
	}
	switch a.Kind {
	case Scalar:
		return a.Value == b.Value && a.isText() == b.isText()
	case Map:
		for i := range a.Fields {
			f := &a.Fields[i]
			g := &b.Fields[i]
			if g.Key != f.Key {
				if g = b.Field(f.Key); g == nil {
					return false
				}
			}
			if !Equal(&f.Value, &g.Value) {
				return false
			}
		}
	case Seq:
		for i := range a.Items {
			if !Equal(&a.Items[i], &b.Items[i]) {
				return false
			}
		}
	}
	return true
}

// isText reports whether a scalar can only be read as text.
func (n *Node) isText() bool {
	if n.Quoted {
		return true
	}
	if _, ok := n.Bool(); ok {
		return false
	}
	_, ok := n.Float()
	return !ok
}

func isDecimal(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	return isDigits(s) && (len(s) == 1 || s[0] != '0')
}

func isFloat(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	whole, rest, point := strings.Cut(s, ".")
	if !point || whole != "" && !isDigits(whole) || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		exp := rest[i+1:]
		if exp != "" && (exp[0] == '-' || exp[0] == '+') {
			exp = exp[1:]
		}
		if len(exp) > 3 || !isDigits(exp) {
			return false
		}
		rest = rest[:i]
	}
	return whole+rest != "" && (rest == "" || isDigits(rest))
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
