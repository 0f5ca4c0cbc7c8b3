package schema

import (
	"cuelang.org/go/cue"

	"github.com/poolwright/poolwright/schema/pattern"
)

// sort is what a value is.
type sort uint8

const (
	anything sort = iota // not looked at
	text
	whole
	number
	truth
	amount
	object
	list
)

// shape is a definition as a plain tree: what a value may be, all by itself.
type shape struct {
	sort sort
	doc  string

	// Of an object.
	fields  []field
	keys    *shape // what keys beside the fields must be; nil: there are none
	elem    *shape // what their values must be; of a list: the items
	open    bool   // other keys are not looked at
	aliases []alias
	rules   []rule

	// Of a scalar.
	enum     []string          // the only values, as text
	synonyms map[string]string // other words for them, folded
	pattern  *pattern.Pattern
	maxLen   int  // in characters; 0 for no limit
	numeral  bool // of a text: it may be written as a number, without quotes
	min, max *bound
	positive bool // of a quantity: at least one byte
	rounded  bool // of a quantity: no whole number of bytes will do

	deflt    string // the default as JSON; "" for none
	computed bool   // it depends on other fields

	// What the attributes say; see cue/common/metadata.cue.
	want     string
	nonempty string
	within   string
	most     int // items or keys; 0 for no limit
	presence bool
	mapform  bool
	single   bool   // of a list: one item may stand in its place
	short    string // of an object: the field that a text in its place stands for
	time     bool
	mapkey   string
	live     string // the definition of what an API server takes
}

type field struct {
	name        string
	required    bool
	optional    bool   // it is absent where nothing is written, whatever defaults it has
	unsupported string // why there is no such field
	ignored     string // why it is accepted and changes nothing
	*shape
}

// takes reports whether the field is one to write.
func (f *field) takes() bool { return f.unsupported == "" && f.ignored == "" }

// alias is an old name of a field. New is a path from the same object.
type alias struct {
	old string
	new []string
}

// rule is what fields of an object must keep together; CUE evaluates it.
type rule struct {
	name  string
	path  cue.Path // from the object
	names []string // that it reads: it says nothing where one of them is bad
	value cue.Value
}

type bound struct {
	value     float64
	text      string
	exclusive bool
}

// field returns the field of that name, or nil.
func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// hasDefault reports whether a value of this shape has a default, or a part of it.
func (s *shape) hasDefault() bool {
	if s.deflt != "" {
		return true
	}
	for i := range s.fields {
		if s.fields[i].hasDefault() {
			return true
		}
	}
	return false
}
