package picture

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Sizes in pixels. Letters are of one width, so that it is known before drawing what fits.
const (
	margin    = 16
	gap       = 8
	maxWidth  = 1200 // of a picture, unless one column is wider
	lineH     = 18
	fontSize  = 12
	charWidth = 0.62 * fontSize // the widest of the fonts that are asked for
	symbol    = 10              // the width of a mark of health
	barH      = 10
	rowH      = 22 // of a part
	mostParts = 12 // of a kind in a column; the others are counted
)

// From so many pools on, columns are drawn smaller.
const (
	manyPools = 24
	mostPools = 250
)

// box is a rectangle with what is in it. Boxes beside each other do not overlap, and lie in
// the one that they are in.
type box struct {
	x, y, w, h int
	class      string // of the style sheet; "" draws nothing
	tip        string // the whole name, shown where a pointer rests
	texts      []text
	marks      []mark
	in         []*box
}

// text is one line.
type text struct {
	x, y  int // its left end, and its base line
	s     string
	class string
}

// mark is the symbol of a health, by its upper left corner.
type mark struct {
	x, y  int
	phase health.Phase
	mark  Mark
}

// layout puts everything into its place.
func layout(p *Picture) *box {
	root := &box{class: "page"}
	root.texts = append(root.texts, text{margin, margin + 14, fit(p.Title, maxWidth-2*margin), "title"})
	y := margin + 14 + lineH
	if summary := p.summary(); summary != "" {
		root.texts = append(root.texts, text{margin, y, fit(summary, maxWidth-2*margin), "muted"})
		y += gap
	}
	column := full
	switch n := len(p.Pools); {
	case n > mostPools:
		column = tile
	case n > manyPools:
		column = compact
	}
	for _, z := range zones(p.Pools) {
		root.in = append(root.in, z.layout(column))
	}
	right, y := flow(root.in, margin, y, maxWidth-margin)
	y += gap
	for _, b := range []*box{p.ill(len(p.Pools) > mostPools), p.legend()} {
		if b == nil {
			continue
		}
		b.move(margin, y)
		root.in = append(root.in, b)
		right, y = max(right, margin+b.w), y+b.h+gap
	}
	for _, t := range root.texts {
		right = max(right, t.x+width(t.s))
	}
	root.w, root.h = right+margin, y+gap
	return root
}

// move puts a box and what is in it elsewhere.
func (b *box) move(dx, dy int) {
	b.x, b.y = b.x+dx, b.y+dy
	for i := range b.texts {
		b.texts[i].x, b.texts[i].y = b.texts[i].x+dx, b.texts[i].y+dy
	}
	for i := range b.marks {
		b.marks[i].x, b.marks[i].y = b.marks[i].x+dx, b.marks[i].y+dy
	}
	for _, in := range b.in {
		in.move(dx, dy)
	}
}

// flow puts boxes beside each other from a corner on, in rows that end before right and are
// as high as their highest box. It returns where they end.
func flow(boxes []*box, left, top, right int) (x, y int) {
	from, at := 0, left
	row := func(to int) {
		high := 0
		for _, b := range boxes[from:to] {
			high = max(high, b.h)
		}
		for _, b := range boxes[from:to] {
			b.h = high
		}
		top, at, from = top+high, left, to
	}
	for i, b := range boxes {
		if at > left && at+b.w > right {
			row(i)
			top += gap
		}
		b.move(at, top)
		at += b.w + gap
		x = max(x, at-gap)
	}
	row(len(boxes))
	return x, top
}

// layout is a zone with its columns, in as many rows as it needs.
func (z *zone) layout(column func(*Pool) *box) *box {
	panel := &box{class: "zone"}
	title := "no zone"
	if z.name != "" {
		title = "zone " + z.name
	}
	for i := range z.pools {
		panel.in = append(panel.in, column(&z.pools[i]))
	}
	right, bottom := flow(panel.in, gap, gap+lineH, maxWidth-2*margin-gap)
	if n := len(z.pools); n > 1 {
		title += ", " + finding.Count(n, noun(z.pools))
	}
	panel.w, panel.h = right+gap, bottom+gap
	panel.texts = append(panel.texts, text{gap, gap + fontSize, fit(title, panel.w-2*gap), "bold"})
	panel.tip = title
	return panel
}

// full is a column with every line of a pool.
func full(p *Pool) *box {
	const w = 216
	inner := w - 2*gap
	c := &box{w: w, class: "pool", tip: p.Object.String()}
	y := gap + fontSize
	c.head(y, p, inner)
	line := func(s string) {
		if s != "" {
			y += lineH
			c.texts = append(c.texts, text{gap, y, fit(s, inner), "muted"})
		}
	}
	line(p.where())
	line(p.State)
	if bar := p.bar(gap, y+gap, inner); bar != nil {
		c.in = append(c.in, bar)
		y += gap + barH
		line(p.filled())
		line(p.coming())
	}
	y += gap
	for _, kind := range []Kind{Replica, Disk} {
		parts := p.parts(kind)
		if len(parts) > 0 {
			y += fontSize
			c.texts = append(c.texts, text{gap, y, caption(kind), "muted"})
			y += 6
		}
		for i := range parts {
			if i == mostParts-1 && len(parts) > mostParts {
				y += lineH
				c.texts = append(c.texts, text{gap, y - 5, fit(rest(parts[i:], kind), inner), "muted"})
				break
			}
			b := parts[i].layout(inner)
			b.move(gap, y)
			c.in = append(c.in, b)
			y += rowH + 4
		}
		if len(parts) > 0 {
			y += 4
		}
	}
	c.h = y + 4
	return c
}

// head names a pool in its column, with its health where that is known.
func (b *box) head(y int, p *Pool, w int) {
	x := gap
	if p.Phase != "" {
		b.marks = append(b.marks, mark{x, y - symbol, p.Phase, There})
		x += symbol + 5
	}
	b.texts = append(b.texts, text{x, y, fit(p.Object.Name, w+gap-x), "bold"})
}

// compact is a column with the lines that distinguish pools, and a mark for each part.
func compact(p *Pool) *box {
	const w = 126
	inner := w - 2*gap
	c := &box{w: w, class: "pool", tip: p.Object.String() + ", " + p.where() + ", " + p.State}
	y := gap + fontSize
	c.head(y, p, inner)
	y += lineH
	c.texts = append(c.texts, text{gap, y, fit(p.Node, inner), "muted"})
	if bar := p.bar(gap, y+6, inner); bar != nil {
		c.in = append(c.in, bar)
	}
	y += 6 + barH + 6
	const step = symbol + 4
	for _, kind := range []Kind{Replica, Disk} {
		parts := p.parts(kind)
		shown := len(parts)
		if shown > inner/step {
			more := fmt.Sprintf("+%d", shown)
			shown = (inner - width(more)) / step
			c.texts = append(c.texts, text{gap + shown*step, y + symbol - 1, fmt.Sprintf("+%d", len(parts)-shown), "muted"})
		}
		for i := range shown {
			c.marks = append(c.marks, mark{gap + i*step, y, parts[i].Phase, parts[i].Mark})
		}
		y += symbol + 6
	}
	c.h = y
	return c
}

// tile is no more than the health of a pool, and how full it is.
func tile(p *Pool) *box {
	const w = 30
	c := &box{w: w, h: 38, class: "pool", tip: p.Object.String() + ", " + p.where() + ", " + p.State + ", " + p.filled()}
	c.marks = append(c.marks, mark{(w - symbol) / 2, 6, p.Phase, There})
	if bar := p.bar(4, 22, w-8); bar != nil {
		c.in = append(c.in, bar)
	}
	return c
}

// bar is how full a pool is, nil where that is not known.
func (p *Pool) bar(x, y, w int) *box {
	share, known := p.percent()
	if !known {
		return nil
	}
	bar := &box{x: x, y: y, w: w, h: barH, class: "bar", tip: p.filled()}
	used := int(share) * w / 100
	part := func(from, to int64, class string) {
		left := x + int(min(float64(from)/float64(p.Total), 1)*float64(w))
		right := x + int(min(float64(to)/float64(p.Total), 1)*float64(w))
		if right > left {
			bar.in = append(bar.in, &box{x: left, y: y, w: right - left, h: barH, class: class})
		}
	}
	if used > 0 {
		class := "used"
		if share >= fullShare {
			class = "used-full"
		}
		bar.in = append(bar.in, &box{x: x, y: y, w: used, h: barH, class: class})
	}
	start := max(p.Used, int64(float64(used)/float64(w)*float64(p.Total))+1)
	part(start, p.Used+p.Sure, "sure")
	part(max(start, p.Used+p.Sure), p.Used+p.Most, "most")
	return bar
}

// fullShare is from how many percent on a pool counts as nearly full: there cStor makes it
// read-only by default (roThresholdLimit).
const fullShare = 85

// layout is a part of a pool.
func (p *Part) layout(w int) *box {
	class := "part"
	switch {
	case p.Mark == ToCome:
		class = "part-new"
	case p.Mark == MayCome:
		class = "part-may"
	case p.Kind == Disk:
		class = "disk"
	}
	b := &box{w: w, h: rowH, class: class, tip: strings.TrimSuffix(p.Object.String()+", "+p.State, ", ")}
	x := 6
	if p.Mark != ToCome && p.Mark != MayCome { // of these the edge says it
		b.marks = []mark{{x, 6, p.Phase, p.Mark}}
		x += symbol + 6
	}
	b.texts = []text{{x, 15, p.label(w - x - 6), "plain"}}
	return b
}

// label is the name of a part, and of one in a plan what becomes of it.
func (p *Part) label(w int) string {
	role := ": " + p.State
	if p.Phase != "" || p.State == "" || width(role) > w*2/3 {
		return fit(p.Name, w)
	}
	return fit(p.Name, w-width(role)) + role
}

func caption(kind Kind) string {
	if kind == Disk {
		return "disks"
	}
	return "replicas"
}

// rest counts the parts that are not drawn.
func rest(parts []Part, kind Kind) string {
	noun, ill := "replica", 0
	if kind == Disk {
		noun = "disk"
	}
	for i := range parts {
		if parts[i].Phase == health.Error {
			ill++
		}
	}
	s := "and " + finding.Count(len(parts), noun) + " more"
	if ill > 0 {
		s += fmt.Sprintf(", %d unhealthy", ill)
	}
	return s
}

// noun is what the columns are.
func noun(pools []Pool) string {
	for i := range pools {
		if pools[i].Object.Kind != "Node" {
			return "pool"
		}
	}
	return "node"
}

func (p *Pool) where() string {
	if p.Node == "" || p.Object.Kind == "Node" {
		return ""
	}
	return "on " + p.Node
}

// filled says how full a pool is.
func (p *Pool) filled() string {
	share, known := p.percent()
	if !known {
		return ""
	}
	return fmt.Sprintf("%s of %s, %d%%", quantity.Size(p.Used), quantity.Size(p.Total), share)
}

// coming says what may come to be used.
func (p *Pool) coming() string {
	switch {
	case p.Most == 0:
		return ""
	case p.Most == p.Sure:
		return "to come: " + quantity.Size(p.Sure)
	}
	return "to come: " + quantity.Size(p.Sure) + " to " + quantity.Size(p.Most)
}
