package picture

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// visible is a text of lines without what nobody sees, such as marks that turn the order of
// letters: names come from a cluster, and are anybody's. Each such character becomes U+FFFD.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// width is how wide a text may become, in pixels.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return int(math.Ceil(float64(n) * charWidth))
}

// cells is how many letters wide a character is: those of East Asia are two, and so is
// whatever is not known to be one.
func cells(r rune) int {
	if r >= 0x1100 && (r < 0x2000 || r >= 0x2e80) {
		return 2
	}
	return 1
}

// fit cuts a text in its middle, so that it is not wider than w: names begin with what
// they belong to, and end with what distinguishes them.
func fit(s string, w int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if width(s) <= w {
		return s
	}
	most := max(0, int(float64(w)/charWidth)-1) // one for the dots
	runes := []rune(s)
	head, tail := "", ""
	left := most
	for i, j := 0, len(runes)-1; i <= j; {
		if left < cells(runes[i]) {
			break
		}
		left -= cells(runes[i])
		head += string(runes[i])
		i++
		if i > j || left < cells(runes[j]) {
			break
		}
		left -= cells(runes[j])
		tail = string(runes[j]) + tail
		j--
	}
	return head + "…" + tail
}

// summary counts the pools, their replicas and their disks.
func (p *Picture) summary() string {
	if len(p.Pools) == 0 {
		return "no pools"
	}
	nodes := map[string]bool{}
	pools := tally{noun: noun(p.Pools)}
	parts := [...]tally{Replica: {noun: "replica"}, Disk: {noun: "disk"}}
	var used, total float64
	for i := range p.Pools {
		pool := &p.Pools[i]
		pools.count(pool.Phase)
		if pool.Node != "" {
			nodes[pool.Node] = true
		}
		if _, known := pool.percent(); known {
			used, total = used+float64(pool.Used), total+float64(pool.Total)
		}
		for _, part := range pool.Parts {
			if part.Mark == There {
				parts[part.Kind].count(part.Phase)
			}
		}
	}
	s := pools.String()
	if pools.noun == "pool" {
		s += " on " + finding.Count(len(nodes), "node")
	}
	if total > 0 {
		s += fmt.Sprintf(", %.0f%% full", min(100, used/total*100))
	}
	for _, t := range parts {
		if t.all > 0 {
			s += "; " + t.String()
		}
	}
	return s
}

// tally counts things of one kind.
type tally struct {
	noun     string
	all, ill int
}

func (t *tally) count(phase health.Phase) {
	t.all++
	if phase == health.Error || phase == health.Progressing {
		t.ill++
	}
}

func (t tally) String() string {
	s := finding.Count(t.all, t.noun)
	if t.ill > 0 {
		s += fmt.Sprintf(" (%d not healthy)", t.ill)
	}
	return s
}

// ill lists the pools that are not healthy, where their columns have no names; nil for none.
func (p *Picture) ill(unnamed bool) *box {
	if !unnamed {
		return nil
	}
	const most, w = 40, 560
	b := &box{class: "zone", w: w, tip: "not healthy"}
	y := gap + fontSize
	b.texts = append(b.texts, text{gap, y, "not healthy", "bold"})
	n := 0
	for _, phase := range []health.Phase{health.Error, health.Progressing} {
		for i := range p.Pools {
			pool := &p.Pools[i]
			if pool.Phase != phase {
				continue
			}
			if n++; n > most {
				continue
			}
			y += lineH
			b.marks = append(b.marks, mark{gap, y - symbol, phase, There})
			line := strings.TrimSpace(pool.Object.Name + " " + pool.where())
			if pool.State != "" {
				line += ": " + pool.State
			}
			b.texts = append(b.texts, text{gap + symbol + 6, y, fit(line, w-2*gap-symbol-6), "plain"})
		}
	}
	if n > most {
		y += lineH
		b.texts = append(b.texts, text{gap, y, fmt.Sprintf("and %d more", n-most), "muted"})
	}
	if n == 0 {
		return nil
	}
	b.h = y + gap
	return b
}

// legend explains the marks that the picture has.
func (p *Picture) legend() *box {
	b := &box{class: "", h: lineH + 4}
	x := 0
	entry := func(w int, s string, draw func(x int)) {
		draw(x)
		b.texts = append(b.texts, text{x + w + 6, 14, s, "muted"})
		x += w + 6 + width(s) + 2*gap
	}
	has := p.has()
	for _, e := range []struct {
		phase health.Phase
		says  string
	}{{health.OK, "healthy"}, {health.Progressing, "on its way"}, {health.Error, "not healthy"}} {
		if has.phases[e.phase] {
			entry(symbol, e.says, func(x int) { b.marks = append(b.marks, mark{x, 4, e.phase, There}) })
		}
	}
	for _, e := range []struct {
		shown       bool
		class, says string
	}{
		{has.marks[ToCome] || has.sure, "part-new", "to come"}, {has.marks[MayCome] || has.most, "part-may", "may come"},
		{has.fill, "used", "used"}, {has.full, "used-full", fmt.Sprintf("used, %d%% and more", fullShare)},
	} {
		if e.shown {
			entry(22, e.says, func(x int) { b.in = append(b.in, &box{x: x, y: 3, w: 22, h: 12, class: e.class}) })
		}
	}
	hollow := func(x int) { b.marks = append(b.marks, mark{x, 4, "", Rejected}) }
	switch {
	case has.marks[Rejected]:
		entry(symbol, "free or refused", hollow)
	case has.phases[""] && has.marks[There]:
		entry(symbol, "not known", hollow)
	}
	if n := len(p.Pools); n > manyPools && n <= mostPools {
		entry(0, "upper row: replicas, lower row: disks", func(int) {})
	}
	b.w = max(0, x-2*gap)
	if x == 0 {
		return nil
	}
	return b
}

// features are what a picture has to explain.
type features struct {
	phases                 map[health.Phase]bool
	marks                  map[Mark]bool
	fill, full, sure, most bool
}

func (p *Picture) has() features {
	f := features{phases: map[health.Phase]bool{}, marks: map[Mark]bool{}}
	for i := range p.Pools {
		pool := &p.Pools[i]
		if pool.Phase != "" { // else it has no mark
			f.phases[pool.Phase] = true
		}
		if share, known := pool.percent(); known {
			f.fill = f.fill || share > 0 && share < fullShare
			f.full = f.full || share >= fullShare
			f.sure = f.sure || pool.Sure > 0
			f.most = f.most || pool.Most > pool.Sure
		}
		if len(p.Pools) > mostPools {
			continue // parts are not drawn
		}
		for _, part := range pool.Parts {
			if part.Mark == There {
				f.phases[part.Phase] = true
			}
			f.marks[part.Mark] = true
		}
	}
	return f
}
