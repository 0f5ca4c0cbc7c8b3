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
	"unsafe"
)

// Kind is the type of a node.
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
//
// A Node is 24 bytes, for an inventory has a million of them. It is a scalar, a
// map or a list, never two of these, so one pointer and two lengths hold whichever
// it is; only this file knows, and SetFields, SetItems and SetValue are the only
// ways to change it.
type Node struct {
	data   unsafe.Pointer // to the text of a Scalar, the fields of a Map, the items of a Seq
	len    uint32
	cap    uint32 // of a Map or a Seq
	Off    int32  // where its first character stands, in bytes from the start of the source; NoOffset for a made node
	kind   Kind
	Quoted bool // a scalar that is text by its form: quoted, block or tagged !!str
}

// Field is one entry of a Map, in the order of the source.
type Field struct {
	Key   string
	Value Node
	Off   int32 // of the key
}

// NoOffset is the Off of a node that was not read from a source.
const NoOffset int32 = -1

// Text makes a scalar that is text whatever it looks like.
func Text(s string) Node { return quoted(s, NoOffset) }

// Plain makes a scalar that is what it looks like: a number, a boolean, or text.
func Plain(s string) Node { return plain(s, NoOffset) }

// Int makes a whole number.
func Int(i int64) Node { return Plain(strconv.FormatInt(i, 10)) }

// Bool makes a boolean.
func Bool(b bool) Node { return Plain(strconv.FormatBool(b)) }

// Object makes a Map with the given fields.
func Object(fields ...Field) Node { return mapping(fields, NoOffset) }

// List makes a Seq of the given items.
func List(items ...Node) Node { return sequence(items, NoOffset) }

// F makes a field of a made Map.
func F(key string, value Node) Field { return Field{Key: key, Off: NoOffset, Value: value} }

// At is n as if it stood at this offset.
func (n Node) At(off int32) Node {
	n.Off = off
	return n
}

// Copy is n with children of its own, whose children it still shares.
func (n Node) Copy() Node {
	switch n.kind {
	case Map:
		n.SetFields(slices.Clone(n.Fields()))
	case Seq:
		n.SetItems(slices.Clone(n.Items()))
	}
	return n
}

// Made is a deep copy of n, as if it had been made and not read: it stands nowhere.
func (n Node) Made() Node {
	n = n.Copy().At(NoOffset)
	for i := range n.Fields() {
		f := &n.Fields()[i]
		f.Off, f.Value = NoOffset, f.Value.Made()
	}
	for i := range n.Items() {
		n.Items()[i] = n.Items()[i].Made()
	}
	return n
}

func plain(s string, off int32) Node {
	n := Node{Off: off}
	n.SetValue(s)
	return n
}

func quoted(s string, off int32) Node {
	n := plain(s, off)
	n.Quoted = true
	return n
}

func mapping(fields []Field, off int32) Node {
	n := Node{Off: off}
	n.SetFields(fields)
	return n
}

func sequence(items []Node, off int32) Node {
	n := Node{Off: off}
	n.SetItems(items)
	return n
}

// Kind is the type of n: Null where it is absent.
func (n *Node) Kind() Kind {
	if n == nil {
		return Null
	}
	return n.kind
}

// Value is the text of a Scalar, or "".
func (n *Node) Value() string {
	if n == nil || n.kind != Scalar {
		return ""
	}
	return unsafe.String((*byte)(n.data), n.len)
}

// Fields are the entries of a Map, or nil. Who changes one changes the map.
func (n *Node) Fields() []Field {
	if n == nil || n.kind != Map {
		return nil
	}
	return unsafe.Slice((*Field)(n.data), n.cap)[:n.len]
}

// Items are those of a Seq, or nil. Who changes one changes the list.
func (n *Node) Items() []Node {
	if n == nil || n.kind != Seq {
		return nil
	}
	return unsafe.Slice((*Node)(n.data), n.cap)[:n.len]
}

// SetValue makes n a Scalar with this text. Whether it is Quoted stays.
func (n *Node) SetValue(s string) {
	n.kind, n.data, n.len, n.cap = Scalar, unsafe.Pointer(unsafe.StringData(s)), uint32(len(s)), 0
}

// SetFields makes n a Map of these fields.
func (n *Node) SetFields(fields []Field) {
	n.kind, n.data, n.len, n.cap = Map, unsafe.Pointer(unsafe.SliceData(fields)), uint32(len(fields)), uint32(cap(fields))
}

// SetItems makes n a Seq of these items.
func (n *Node) SetItems(items []Node) {
	n.kind, n.data, n.len, n.cap = Seq, unsafe.Pointer(unsafe.SliceData(items)), uint32(len(items)), uint32(cap(items))
}

// Add appends items to a Seq.
func (n *Node) Add(items ...Node) { n.SetItems(append(n.Items(), items...)) }

// Set replaces the entry of a map, or appends it.
func (n *Node) Set(key string, value Node) {
	if f := n.Field(key); f != nil {
		f.Value = value
		return
	}
	n.SetFields(append(n.Fields(), F(key, value)))
}

// Delete drops the entry of a map.
func (n *Node) Delete(key string) {
	if n.Kind() == Map {
		n.SetFields(slices.DeleteFunc(n.Fields(), func(f Field) bool { return f.Key == key }))
	}
}
