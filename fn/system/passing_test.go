package system

import (
	"testing"

	"github.com/poolwright/poolwright/schema/document"
)

func TestWithout(t *testing.T) {
	kind := Kind{Passing: []Passing{{Path: []string{"spec", "all"}}, {Path: []string{"spec", "some"}, Key: "over", Value: "true"}}}
	parse := func(text string) *document.Node {
		docs, err := document.Parse(&document.Source{Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return &docs[0].Node
	}
	for _, c := range []struct {
		what, was, now string
		same           bool
	}{
		{"nothing", "spec: {all: [{a: 1}]}", "spec: {all: [{a: 1}]}", true},
		{"an entry", "spec: {all: [{a: 1}, {a: 2}]}", "spec: {all: [{a: 2}]}", true},
		{"the list", "spec: {all: [{a: 1}], b: 2}", "spec: {b: 2}", true},
		{"all entries", "spec: {some: [{over: true}]}", "spec: {some: []}", true},
		{"an entry that is over", "spec: {some: [{a: 1}, {a: 2, over: true}]}", "spec: {some: [{a: 1}]}", true},
		{"one that is not", "spec: {some: [{a: 1}, {a: 2, over: true}]}", "spec: {some: [{a: 2, over: true}]}", false},
		{"a new entry", "spec: {all: [{a: 1}]}", "spec: {all: [{a: 2}]}", false},
		{"another field", "spec: {all: [{a: 1}], b: 2}", "spec: {b: 3}", false},
		{"a field that goes", "spec: {all: [{a: 1}], b: 2}", "spec: {}", false},
	} {
		was, now := parse(c.was), parse(c.now)
		if left := kind.Without(was, now); document.Equal(&left, now) != c.same {
			t.Errorf("%s: %s without what %s has not: %t", c.what, c.was, c.now, !c.same)
		}
		if !document.Equal(was, parse(c.was)) {
			t.Errorf("%s: the object itself has changed", c.what)
		}
	}
}
