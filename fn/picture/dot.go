package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
)

// DOT writes the picture in the language of Graphviz: a cluster for each zone and each node,
// a node for each pool and disk, and one for each volume with edges to the pools of its
// replicas.
func (p *Picture) DOT() []byte {
	s := p.sorted()
	d := &dot{ids: map[string]string{}}
	fmt.Fprintf(&d.b, "digraph poolwright {\n  label=%s;\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n", quote(s.Title))
	for zi, z := range zones(s.Pools) {
		fmt.Fprintf(&d.b, "  subgraph cluster_%d {\n    label=%s;\n", zi, quote(cmp.Or(z.name, "no zone")))
		open, node := false, ""
		for i := range z.pools {
			pool := &z.pools[i]
			if !open || pool.Node != node {
				if open {
					d.b.WriteString("    }\n")
				}
				open, node = true, pool.Node
				fmt.Fprintf(&d.b, "    subgraph cluster_%d_%d {\n      label=%s;\n", zi, i, quote(cmp.Or(node, "no node")))
			}
			d.pool(pool)
		}
		d.b.WriteString("    }\n  }\n")
	}
	for i := range s.Pools {
		d.edges(&s.Pools[i])
	}
	d.b.WriteString("}\n")
	return d.b.Bytes()
}

// dot is a graph while it is written.
type dot struct {
	b   bytes.Buffer
	ids map[string]string // of what is written already
}

// id names a node of the graph. seen is true for one that is written already.
func (d *dot) id(key string) (id string, seen bool) {
	if id, seen = d.ids[key]; !seen {
		id = fmt.Sprintf("n%d", len(d.ids))
		d.ids[key] = id
	}
	return id, seen
}

func (d *dot) pool(p *Pool) {
	id, seen := d.id(p.Object.String() + " " + p.Node)
	if seen {
		return
	}
	lines := []string{p.Object.Name}
	for _, line := range []string{p.State, p.filled(), p.coming()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	fmt.Fprintf(&d.b, "      %s [label=%s, color=%s, style=bold];\n", id, quote(lines...), color(p.Phase))
	for _, part := range p.parts(Disk) {
		if disk, seen := d.id(part.Object.String()); !seen {
			fmt.Fprintf(&d.b, "      %s [label=%s, shape=cylinder, color=%s];\n", disk, quote(part.Name), color(part.Phase))
		}
	}
}

func (d *dot) edges(p *Pool) {
	from := d.ids[p.Object.String()+" "+p.Node]
	for _, part := range p.Parts {
		if part.Kind == Disk {
			fmt.Fprintf(&d.b, "  %s -> %s [arrowhead=none];\n", from, d.ids[part.Object.String()])
			continue
		}
		volume, seen := d.id("volume " + part.Name)
		if !seen {
			fmt.Fprintf(&d.b, "  %s [label=%s, shape=ellipse];\n", volume, quote(part.Name))
		}
		style := "solid"
		switch part.Mark {
		case ToCome:
			style = "dashed"
		case MayCome:
			style = "dotted"
		}
		fmt.Fprintf(&d.b, "  %s -> %s [label=%s, color=%s, style=%s];\n", volume, from, quote(part.State), color(part.Phase), style)
	}
}

func color(phase health.Phase) string {
	switch phase {
	case health.OK:
		return "darkgreen"
	case health.Progressing:
		return "darkorange"
	case health.Error:
		return "red"
	}
	return "gray40"
}

// quote writes lines as a string of the language.
func quote(lines ...string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, line := range lines {
		if i > 0 {
			b.WriteString(`\n`)
		}
		for _, r := range strings.ReplaceAll(visible(line), "\n", "\uFFFD") {
			if r == '"' || r == '\\' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
