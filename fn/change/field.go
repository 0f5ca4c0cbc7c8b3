package change

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/poolwright/poolwright/schema/document"
)

// Field is one value that differs.
type Field struct {
	// Path names the value: spec.pools[kubernetes.io/hostname=n1].poolConfig.compression.
	// An item of a list is named by what it is known by, or else by its place; a
	// key that is no plain word stands in brackets.
	Path   string
	Shape  string // the path without what names an item: spec.pools[].poolConfig.compression
	Action Action
	Old    *document.Node // nil if it is added; for a list that is reordered, the names of its items
	New    *document.Node // nil if it is removed
}

// Under reports whether the field is the one of this shape or lies in it.
func (f *Field) Under(shape string) bool {
	rest, found := strings.CutPrefix(f.Shape, shape)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Fields lists what differs between two trees, in order of the paths of maps; in
// a list, what was there comes first, in its order, then what is new. It is empty
// where document.Equal holds. No labels and an empty map of labels are the same,
// and so are null and nothing: operators written in Go fill in the one for the other.
func Fields(old, new *document.Node) []Field {
	var d diff
	d.value(path{}, old, new)
	return d.fields
}

// path names a value, in both forms of Field.
type path struct{ full, shape string }

func (p path) key(key string) path {
	key = printable(key)
	name := "." + key
	switch {
	case !isWord(key):
		name = "[" + key + "]"
	case p.full == "":
		name = key
	}
	return path{p.full + name, p.shape + name}
}

func (p path) item(label string) path {
	return path{p.full + "[" + printable(label) + "]", p.shape + "[]"}
}

// printable keeps a path on one line, whatever a key holds.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// isWord reports whether a key can stand in a path as it is.
func isWord(key string) bool {
	return key != "" && !strings.ContainsAny(key, ".[]=\" ")
}

// diff collects what differs.
type diff struct{ fields []Field }

func (d *diff) add(p path, a Action, old, new *document.Node) {
	d.fields = append(d.fields, Field{Path: p.full, Shape: p.shape, Action: a, Old: old, New: new})
}

func (d *diff) value(p path, old, new *document.Node) {
	old, new = present(old), present(new)
	switch {
	case document.Equal(old, new):
	case isMeta(p.shape) && isMap(old) && isMap(new):
		d.maps(p, old, new) // each key has a meaning of its own
	case old == nil:
		d.add(p, Add, nil, new)
	case new == nil:
		d.add(p, Remove, old, nil)
	case old.Kind() == document.Map && new.Kind() == document.Map:
		d.maps(p, old, new)
	case old.Kind() == document.Seq && new.Kind() == document.Seq:
		d.lists(p, old.Items(), new.Items())
	default:
		d.add(p, Modify, old, new)
	}
}

// present is a value, or nil where it is null.
func present(n *document.Node) *document.Node {
	if n == nil || n.Kind() == document.Null {
		return nil
	}
	return n
}

func isMeta(shape string) bool { return shape == "metadata.labels" || shape == "metadata.annotations" }

func isMap(n *document.Node) bool { return n == nil || n.Kind() == document.Map }

func (d *diff) maps(p path, old, new *document.Node) {
	before, after := entries(old), entries(new)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d.value(p.key(key), before[key], after[key])
	}
}

// entries indexes a map.
func entries(n *document.Node) map[string]*document.Node {
	if n == nil {
		return map[string]*document.Node{}
	}
	index := make(map[string]*document.Node, len(n.Fields()))
	for i := range n.Fields() {
		index[n.Fields()[i].Key] = &n.Fields()[i].Value
	}
	return index
}

// lists compares two lists, of which one may be empty.
func (d *diff) lists(p path, old, new []document.Node) {
	label := labels(old, new)
	partner := pair(old, new, label)
	taken := make([]bool, len(new))
	var before, after []document.Node // the names of what is in both, in either order
	names := make(map[int]string, len(new))
	for i, j := range partner {
		if j < 0 {
			d.add(p.item(label.of(old, i)), Remove, &old[i], nil)
			continue
		}
		taken[j] = true
		names[j] = label.of(new, j)
		before = append(before, document.Text(names[j]))
		d.value(p.item(names[j]), &old[i], &new[j])
	}
	for j := range new {
		if taken[j] {
			after = append(after, document.Text(names[j]))
		} else {
			d.add(p.item(label.of(new, j)), Add, nil, &new[j])
		}
	}
	if slices.IsSorted(slices.DeleteFunc(slices.Clone(partner), func(j int) bool { return j < 0 })) {
		return
	}
	was, is := document.List(before...), document.List(after...)
	d.add(p, Reorder, &was, &is)
}

// labeller names the items of two lists: by a field that distinguishes them all, by
// their value where all are scalars, and else by their place.
type labeller func(n *document.Node) string

func (l labeller) of(items []document.Node, i int) string {
	if l == nil {
		return strconv.Itoa(i)
	}
	return l(&items[i])
}

// labels finds the way to name the items of two lists; nil for by place.
func labels(old, new []document.Node) labeller {
	for _, label := range []labeller{byValue, byField("name"), byField("blockDeviceName"), bySelector, byField("key"), byField("type")} {
		if distinct(label, old) && distinct(label, new) {
			return label
		}
	}
	return nil
}

// distinct reports whether each item has a name of its own.
func distinct(label labeller, items []document.Node) bool {
	seen := make(map[string]bool, len(items))
	for i := range items {
		name := label(&items[i])
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func byValue(n *document.Node) string {
	if n.Kind() != document.Scalar {
		return ""
	}
	return "=" + string(document.AppendJSON(nil, n))
}

func byField(key string) labeller {
	return func(n *document.Node) string {
		if value := n.Str(key); value != "" {
			return key + "=" + value
		}
		return ""
	}
}

// bySelector names a pool by the node that it selects.
func bySelector(n *document.Node) string {
	selector := n.Get("nodeSelector")
	if selector == nil || selector.Kind() != document.Map {
		return ""
	}
	var terms []string
	for i := range selector.Fields() {
		f := &selector.Fields()[i]
		if f.Value.Kind() != document.Scalar {
			return ""
		}
		terms = append(terms, f.Key+"="+f.Value.Value())
	}
	slices.Sort(terms)
	return strings.Join(terms, ",")
}

// maxPairs bounds the comparing of each item with each: longer lists without
// names are paired by place.
const maxPairs = 10_000

// pair gives for each old item the place of the new one that it becomes, or -1.
func pair(old, new []document.Node, label labeller) []int {
	partner := slices.Repeat([]int{-1}, len(old))
	if label != nil {
		place := make(map[string]int, len(new))
		for j := range new {
			place[label(&new[j])] = j
		}
		for i := range old {
			if j, found := place[label(&old[i])]; found {
				partner[i] = j
			}
		}
		return partner
	}
	taken := make([]bool, len(new))
	match := func(i, j int) { partner[i], taken[j] = j, true }

	// What is the same stays what it is, wherever it stands.
	place := map[string][]int{}
	for j := range new {
		text := canonical(&new[j])
		place[text] = append(place[text], j)
	}
	for i := range old {
		text := canonical(&old[i])
		if same := place[text]; len(same) > 0 {
			match(i, same[0])
			place[text] = same[1:]
		}
	}
	var lost, found []int
	for i, j := range partner {
		if j < 0 {
			lost = append(lost, i)
		}
	}
	for j := range new {
		if !taken[j] {
			found = append(found, j)
		}
	}
	// What has most in common is the same, changed.
	type likeness struct{ common, old, new int }
	var alike []likeness
	if len(lost)*len(found) <= maxPairs {
		leaves := make(map[int]map[string]bool, len(found))
		for _, j := range found {
			leaves[j] = leavesOf(&new[j])
		}
		for _, i := range lost {
			mine := leavesOf(&old[i])
			for _, j := range found {
				if n := common(mine, leaves[j]); n > 0 {
					alike = append(alike, likeness{n, i, j})
				}
			}
		}
		slices.SortFunc(alike, func(a, b likeness) int {
			return cmp.Or(b.common-a.common, a.old-b.old, a.new-b.new)
		})
	}
	for _, a := range alike {
		if partner[a.old] < 0 && !taken[a.new] {
			match(a.old, a.new)
		}
	}
	// A list of one is that one, changed; in a long list the place must do.
	for k := 0; k < len(lost) && k < len(found); k++ {
		alone := len(old) == 1 && len(new) == 1 || len(lost)*len(found) > maxPairs
		if alone && partner[lost[k]] < 0 && !taken[found[k]] {
			match(lost[k], found[k])
		}
	}
	return partner
}

// canonical writes a tree so that equal trees give equal texts.
func canonical(n *document.Node) string { return string(document.AppendJSON(nil, sorted(n))) }

// sorted copies a tree with its keys in order, without those that are null.
func sorted(n *document.Node) *document.Node {
	out := n.Copy()
	if out.Kind() == document.Map {
		out.SetFields(slices.DeleteFunc(out.Fields(), func(f document.Field) bool { return f.Value.Kind() == document.Null }))
	}
	for i := range out.Fields() {
		out.Fields()[i].Value = *sorted(&out.Fields()[i].Value)
	}
	slices.SortStableFunc(out.Fields(), func(a, b document.Field) int { return cmp.Compare(a.Key, b.Key) })
	for i := range out.Items() {
		out.Items()[i] = *sorted(&out.Items()[i])
	}
	return &out
}

// leavesOf lists the scalars of a tree with the keys above them.
func leavesOf(n *document.Node) map[string]bool {
	leaves := map[string]bool{}
	var walk func(p path, n *document.Node)
	walk = func(p path, n *document.Node) {
		for i := range n.Fields() {
			walk(p.key(n.Fields()[i].Key), &n.Fields()[i].Value)
		}
		for i := range n.Items() {
			walk(p.item(""), &n.Items()[i])
		}
		if n.Kind() == document.Scalar {
			leaves[p.shape+"="+n.Value()] = true
		}
	}
	walk(path{}, n)
	return leaves
}

func common(a, b map[string]bool) int {
	n := 0
	for leaf := range a {
		if b[leaf] {
			n++
		}
	}
	return n
}
