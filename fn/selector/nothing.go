package selector

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Nothing describes terms that select none of some objects, by the values that these have:
// "selects 0 of 3 nodes; label disk is hdd (2), ssd (1)". It is "" where the terms select one,
// and where there are no objects. noun is what one object is called.
func Nothing(terms []Term, objects iter.Seq[*krm.Object], noun string) string {
	var all []*krm.Object
	for o := range objects {
		if MatchesAny(terms, o) {
			return ""
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return ""
	}
	clauses := []string{"selects 0 of " + finding.Count(len(all), noun)}
	for _, a := range compared(terms) {
		clauses = append(clauses, a.describe(all, noun))
	}
	return finding.Clauses(clauses)
}

// attribute is something that objects have and terms compare: a label, an annotation or a field.
type attribute struct {
	name   string   // for people
	within []string // where labels or annotations are; nil for a field
	key    string   // of a field its dotted path
}

func label(key string) attribute {
	return attribute{"label " + key, []string{"metadata", "labels"}, key}
}

func annotation(key string) attribute {
	return attribute{"annotation " + key, []string{"metadata", "annotations"}, key}
}

func field(key string) attribute { return attribute{key, nil, key} }

// compared lists what terms compare, in their order.
func compared(terms []Term) []attribute {
	var all []attribute
	add := func(a attribute) {
		if !slices.ContainsFunc(all, func(o attribute) bool { return o.name == a.name }) {
			all = append(all, a)
		}
	}
	for _, t := range terms {
		for _, key := range slices.Sorted(maps.Keys(t.MatchLabels)) {
			add(label(key))
		}
		for _, key := range slices.Sorted(maps.Keys(t.MatchAnnotations)) {
			add(annotation(key))
		}
		for _, r := range t.MatchExpressions {
			add(label(r.Key))
		}
		for _, r := range t.MatchFields {
			add(field(r.Key))
		}
	}
	return all
}

// of is the attribute of an object, or nil.
func (a attribute) of(o *krm.Object) *document.Node {
	if a.within != nil {
		return o.Node.Get(a.within...).Get(a.key)
	}
	return o.Node.Get(strings.Split(a.key, ".")...)
}

// describe says which values objects have, the most frequent first, and how many have each.
func (a attribute) describe(objects []*krm.Object, noun string) string {
	counts, unset := map[string]int{}, 0
	for _, o := range objects {
		if n := a.of(o); n != nil && n.Kind() != document.Null {
			counts[n.Str()]++
		} else {
			unset++
		}
	}
	if len(counts) == 0 {
		return fmt.Sprintf("no %s has %s%s", noun, a.name, schema.DidYouMean(a.key, a.keys(objects)))
	}
	values := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(counts[y]-counts[x], cmp.Compare(x, y))
	})
	for i, value := range values {
		values[i] = fmt.Sprintf("%s (%d)", quoted(value), counts[value])
	}
	text := a.name + " is " + finding.Names(values)
	if unset > 0 {
		text += fmt.Sprintf(", not set (%d)", unset)
	}
	return text
}

// keys lists the labels, the annotations or the fields that objects have.
func (a attribute) keys(objects []*krm.Object) []string {
	found := map[string]bool{}
	for _, o := range objects {
		if a.within == nil {
			addFields(found, "", o.Node)
			continue
		}
		for _, f := range o.Node.Get(a.within...).Fields() {
			found[f.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// addFields adds the dotted paths of the values below a node.
func addFields(paths map[string]bool, path string, n *document.Node) {
	if n.Kind() != document.Map && path != "" {
		paths[path] = true
	}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		addFields(paths, strings.TrimPrefix(path+"."+f.Key, "."), &f.Value)
	}
}

// quoted is a value, set apart from the words around it.
func quoted(value string) string {
	if q := strconv.Quote(value); value == "" || strings.ContainsAny(value, " ,;()") || len(q) != len(value)+2 {
		return q
	}
	return value
}
