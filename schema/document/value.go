package document

import (
	"strconv"
	"strings"
)

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

// IsEmpty reports whether a value says nothing: there is none, or it is null, or an empty text,
// list or object.
func (n *Node) IsEmpty() bool {
	switch {
	case n == nil || n.Kind() == Null:
		return true
	case n.Kind() == Scalar:
		return n.Value() == ""
	}
	return len(n.Fields())+len(n.Items()) == 0
}

// Field returns the entry of a map, or nil.
func (n *Node) Field(key string) *Field {
	if n == nil || n.Kind() != Map {
		return nil
	}
	fields := n.Fields()
	for i := range fields {
		if fields[i].Key == key {
			return &fields[i]
		}
	}
	return nil
}

// Str returns the text of the scalar at path, or "".
func (n *Node) Str(path ...string) string {
	if n = n.Get(path...); n == nil || n.Kind() != Scalar {
		return ""
	}
	return n.Value()
}

// Seq returns the items of the sequence at path, or nil.
func (n *Node) Seq(path ...string) []Node {
	if n = n.Get(path...); n == nil || n.Kind() != Seq {
		return nil
	}
	return n.Items()
}

// StrMap returns the scalar entries of the map at path, or nil.
func (n *Node) StrMap(path ...string) map[string]string {
	n = n.Get(path...)
	if n == nil || n.Kind() != Map || len(n.Fields()) == 0 {
		return nil
	}
	m := make(map[string]string, len(n.Fields()))
	for i := range n.Fields() {
		if f := &n.Fields()[i]; f.Value.Kind() == Scalar {
			m[f.Key] = f.Value.Value()
		}
	}
	return m
}

// Int returns the whole number of a plain scalar: decimal, no leading zero.
func (n *Node) Int() (int64, bool) {
	if n == nil || n.Kind() != Scalar || n.Quoted || !isDecimal(n.Value()) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Value(), 10, 64)
	return i, err == nil
}

// Float returns the number of a plain scalar: a whole number, or digits with a
// point and perhaps an exponent. Without the point 0E4006924050 is text.
func (n *Node) Float() (float64, bool) {
	if i, ok := n.Int(); ok {
		return float64(i), true
	}
	if n == nil || n.Kind() != Scalar || n.Quoted || !isFloat(n.Value()) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Value(), 64)
	return f, err == nil
}

// Bool returns the boolean of a plain scalar.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind() != Scalar || n.Quoted {
		return false, false
	}
	switch n.Value() {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// Equal reports whether two trees say the same, whatever their formatting and
// the order of their keys. The text "3" and the number 3 are not the same.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind() != b.Kind() || len(a.Fields()) != len(b.Fields()) || len(a.Items()) != len(b.Items()) {
		return false
	}
	switch a.Kind() {
	case Scalar:
		return a.Value() == b.Value() && (a.Quoted == b.Quoted || a.isText() == b.isText())
	case Map:
		for i := range a.Fields() {
			f := &a.Fields()[i]
			g := &b.Fields()[i]
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
		for i := range a.Items() {
			if !Equal(&a.Items()[i], &b.Items()[i]) {
				return false
			}
		}
	}
	return true
}

// isText reports whether a scalar can only be read as text.
func (n *Node) isText() bool {
	const short = 18 // digits that are a number for sure
	if n.Quoted {
		return true
	}
	if len(n.Value()) <= short && isDecimal(n.Value()) {
		return false
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
