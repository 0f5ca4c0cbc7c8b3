package fn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// PlannedTree shows where a render puts things, whether that is applied or not: each
// spec with its zones, their nodes, and the disks on these. State says what becomes
// of each: the role of a disk in use, or else the verdict. What is on no node that
// is known comes last.
func PlannedTree(choices []place.Choice, facts *inventory.Facts) []*health.Tree {
	var specs []finding.Ref
	of := map[finding.Ref][]place.Choice{}
	for _, c := range place.Final(choices) {
		if of[c.Spec] == nil {
			specs = append(specs, c.Spec)
		}
		of[c.Spec] = append(of[c.Spec], c)
	}
	var trees []*health.Tree
	for _, spec := range specs {
		p := plannedSpec{facts: facts, nodes: map[string]*health.Tree{}, zones: map[string]*zonePlan{}}
		for _, c := range of[spec] {
			p.addNode(c)
		}
		trees = append(trees, &health.Tree{Object: spec, Children: p.children(of[spec])})
	}
	return trees
}

// plannedSpec is the tree of one spec while it grows.
type plannedSpec struct {
	facts *inventory.Facts
	nodes map[string]*health.Tree
	zones map[string]*zonePlan
}

// zonePlan is a zone with its nodes, and how many of them hold something.
type zonePlan struct {
	nodes []*health.Tree
	used  int
}

// addNode puts a node into its zone; what is no node is passed over.
func (p *plannedSpec) addNode(c place.Choice) {
	if c.Subject.Namespace != "" || c.Subject.Name != c.Node {
		return
	}
	name := ""
	if n := p.facts.Node(c.Node); n != nil {
		name = n.Zone
	}
	z := p.zones[name]
	if z == nil {
		z = &zonePlan{}
		p.zones[name] = z
	}
	if isUsed(c.Verdict) {
		z.used++
	}
	t := &health.Tree{Object: c.Subject, State: string(c.Verdict), Note: c.Reason, Place: health.Place{Role: health.Pool, Node: c.Node}}
	p.nodes[c.Node] = t
	z.nodes = append(z.nodes, t)
}

// children are the zones by name, then nodes without a zone, then what is on no node.
func (p *plannedSpec) children(choices []place.Choice) []*health.Tree {
	disks := slices.Clone(choices)
	slices.SortStableFunc(disks, func(a, b place.Choice) int {
		if isUsed(a.Verdict) && isUsed(b.Verdict) {
			return 0 // role by role, as they come
		}
		return cmp.Or(rankOf(a.Verdict)-rankOf(b.Verdict), strings.Compare(p.path(a), p.path(b)))
	})
	var nowhere []*health.Tree
	for _, c := range disks {
		node := p.nodes[c.Node]
		switch {
		case node != nil && node.Object == c.Subject:
		case node != nil:
			node.Children = append(node.Children, p.disk(c))
		default:
			nowhere = append(nowhere, p.disk(c))
		}
	}
	var names []string
	for name := range p.zones {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 && names[0] == "" {
		names = append(names[1:], "")
	}
	var trees []*health.Tree
	for _, name := range names {
		z := p.zones[name]
		slices.SortFunc(z.nodes, func(a, b *health.Tree) int { return strings.Compare(a.Object.Name, b.Object.Name) })
		trees = append(trees, &health.Tree{
			Object:   finding.Ref{Kind: "Zone", Name: cmp.Or(name, "(none)")},
			Note:     fmt.Sprintf("%d of %s in use", z.used, finding.Count(len(z.nodes), "node")),
			Children: z.nodes,
		})
	}
	return append(trees, nowhere...)
}

// disk is a disk, or what else is on a node.
func (p *plannedSpec) disk(c place.Choice) *health.Tree {
	t := &health.Tree{Object: c.Subject, State: string(c.Verdict), Place: health.Place{Role: health.Disk}}
	var notes []string
	if d := p.facts.Device(c.Subject.Namespace, c.Subject.Name); d != nil {
		notes = append(notes, d.Path, quantity.Size(d.Capacity), d.DriveType)
	}
	switch inUse := isUsed(c.Verdict); {
	case c.Role != "" && (c.Verdict == place.Chosen || c.Verdict == place.Kept):
		t.State = c.Role
	case c.Role != "" && inUse:
		t.State = c.Role + ", " + string(c.Verdict)
	}
	if len(notes) == 0 || c.Verdict != place.Chosen && c.Verdict != place.Kept && c.Verdict != place.Free {
		notes = append(notes, c.Reason)
	}
	t.Note = strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), ", ")
	return t
}

func (p *plannedSpec) path(c place.Choice) string {
	if d := p.facts.Device(c.Subject.Namespace, c.Subject.Name); d != nil {
		return d.Path
	}
	return c.Subject.Name
}

func isUsed(v place.Verdict) bool { return v != place.Free && v != place.Refused }

// rankOf puts what is in use first, then what is free, then what is refused.
func rankOf(v place.Verdict) int {
	switch v {
	case place.Free:
		return 1
	case place.Refused:
		return 2
	}
	return 0
}
