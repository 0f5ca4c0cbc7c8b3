package cstor

import (
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// within reports whether all that a tree says is said by another, which may say
// more: an API server fills in defaults.
func within(part, whole *d.Node) bool {
	if part == nil || whole == nil || part.Kind() != d.Map || whole.Kind() != d.Map {
		return d.Equal(part, whole) || part != nil && part.Kind() == d.Seq && listWithin(part, whole)
	}
	for i := range part.Fields() {
		if f := &part.Fields()[i]; !within(&f.Value, whole.Get(f.Key)) {
			return false
		}
	}
	return true
}

func listWithin(part, whole *d.Node) bool {
	if whole == nil || whole.Kind() != d.Seq || len(part.Items()) != len(whole.Items()) {
		return false
	}
	for i := range part.Items() {
		if !within(&part.Items()[i], &whole.Items()[i]) {
			return false
		}
	}
	return true
}

// field is a part of an object that may not be there.
func field(o *krm.Object, path ...string) *d.Node {
	if o == nil {
		return nil
	}
	return o.Node.Get(path...)
}

func created(o *krm.Object) time.Time {
	return parseTime(field(o, "metadata", "creationTimestamp").Str())
}

// condition is the condition of a type, or nil.
func condition(o *krm.Object, kind string) *d.Node {
	conditions := o.Node.Seq("status", "conditions")
	for i := range conditions {
		if conditions[i].Str("type") == kind {
			return &conditions[i]
		}
	}
	return nil
}

func changed(condition *d.Node) time.Time { return parseTime(condition.Str("lastTransitionTime")) }

// parseTime is zero for what is no time.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// oneLine makes one line of what an attacher said.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
