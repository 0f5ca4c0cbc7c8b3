package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/poolwright/poolwright/fn/resilience"
)

// Map is nodes, disks or zones, each with the worst state of a volume without it. The same map gives the same bytes.
type Map struct {
	Title, Summary string
	Cells          []Cell
}

// Cell is one object of a map.
type Cell struct {
	Object     string // node/n1
	Name, Zone string
	State      resilience.State
	Tip        string
}

// cellSize is how large cells are: the fewer, the more they show.
type cellSize struct {
	w, h, gap int
	letters   int // of a name; 0 for none
	columns   int
}

func sizeFor(cells int) cellSize {
	switch {
	case cells <= 30:
		return cellSize{150, 40, 8, 18, 6}
	case cells <= 150:
		return cellSize{110, 24, 6, 13, 9}
	}
	return cellSize{18, 18, 4, 0, 44}
}

// mapStates are the states in the order of the legend, with the letter that distinguishes them without color.
func mapStates() []resilience.State {
	return []resilience.State{resilience.Lost, resilience.Stops, resilience.Degraded, resilience.Unknown, resilience.Safe}
}

func letterOf(s resilience.State) string {
	return map[resilience.State]string{resilience.Lost: "X", resilience.Stops: "!", resilience.Degraded: "-", resilience.Unknown: "?"}[s]
}

// mapStyle is the style sheet of a scheme; fill and ink of each state have a contrast of 4.5 or more.
func (c *colors) mapStyle(dark bool) string {
	fills := [][3]string{
		{"lost", "#cf222e", "#ffffff"}, {"stops", "#953800", "#ffffff"}, {"degraded", "#f2cc60", "#1f2328"}, {"unknown", "#d1d9e0", "#1f2328"}, {"safe", "#aceebb", "#1f2328"},
	}
	if dark {
		fills = [][3]string{
			{"lost", "#f85149", "#0d1117"}, {"stops", "#f0883e", "#0d1117"}, {"degraded", "#6e4c02", "#f0f6fc"}, {"unknown", "#3d444d", "#f0f6fc"}, {"safe", "#114f27", "#f0f6fc"},
		}
	}
	rules := []string{".page{fill:" + c.page + "}", ".zone{fill:" + c.zone + ";stroke:" + c.edge + "}", "text{fill:" + c.text + "}", ".muted{fill:" + c.muted + "}"}
	for _, f := range fills {
		rules = append(rules, "."+f[0]+"{fill:"+f[1]+";stroke:"+c.border+"}", "text."+f[0]+"{fill:"+f[2]+";stroke:none}")
	}
	return strings.Join(rules, "\n")
}

const (
	mapMargin = 16
	mapHead   = 24 // the title of a zone
)

// SVG draws the map: a box for each zone, one below the other, and a legend. It is light or dark as the reader has it.
func (m *Map) SVG() []byte {
	cells := slices.Clone(m.Cells)
	slices.SortStableFunc(cells, func(a, b Cell) int {
		if (a.Zone == "") != (b.Zone == "") {
			return len(b.Zone) - len(a.Zone)
		}
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(natural(a.Name), natural(b.Name)), cmp.Compare(a.Object, b.Object))
	})
	size := sizeFor(len(cells))
	widest := min(size.columns, max(1, widestZone(cells)))
	width := max(560, 2*mapMargin+2*size.gap+widest*(size.w+size.gap)-size.gap)
	var body bytes.Buffer
	y := mapMargin + 20
	fmt.Fprintf(&body, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", mapMargin, y-8, escape(m.Title))
	fmt.Fprintf(&body, "<text class=\"muted\" x=\"%d\" y=\"%d\">%s</text>\n", mapMargin, y+10, escape(m.Summary))
	y += 24
	for len(cells) > 0 {
		n := 1
		for n < len(cells) && cells[n].Zone == cells[0].Zone {
			n++
		}
		y = m.zone(&body, cells[:n], size, width, y) + mapMargin/2
		cells = cells[n:]
	}
	y = m.legend(&body, y+mapMargin/2)
	light, dark := light(), dark()
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\">\n", width, y)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(m.Title+": "+m.Summary))
	fmt.Fprintf(&b, "<style>\n%s\n%s\n@media (prefers-color-scheme: dark){\n%s\n}\n</style>\n", shapes, light.mapStyle(false), dark.mapStyle(true))
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, y)
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func widestZone(cells []Cell) int {
	count := map[string]int{}
	widest := 0
	for _, c := range cells {
		count[c.Zone]++
		widest = max(widest, count[c.Zone])
	}
	return widest
}

// natural is a name with its last number made as long as any, so that n2 is before n10.
func natural(name string) string {
	stem := strings.TrimRight(name, "0123456789")
	return stem + fmt.Sprintf("%020s", name[len(stem):])
}

// zone draws the cells of a zone from y on, and returns where it ends.
func (m *Map) zone(w *bytes.Buffer, cells []Cell, size cellSize, width, y int) int {
	columns := max(1, (width-2*mapMargin-size.gap)/(size.w+size.gap))
	rows := (len(cells) + columns - 1) / columns
	height := mapHead + rows*(size.h+size.gap) + size.gap
	name := cells[0].Zone
	if name == "" {
		name = "no zone"
	}
	fmt.Fprintf(w, "<g><rect class=\"zone\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", mapMargin, y, width-2*mapMargin, height)
	fmt.Fprintf(w, "<text class=\"bold\" x=\"%d\" y=\"%d\">%s</text>\n", mapMargin+size.gap, y+17, escape(shorten(name, (width-2*mapMargin)/8)))
	for i := range cells {
		cells[i].svg(w, size, mapMargin+size.gap+i%columns*(size.w+size.gap), y+mapHead+i/columns*(size.h+size.gap))
	}
	w.WriteString("</g>\n")
	return y + height
}

// svg draws a cell.
func (c *Cell) svg(w *bytes.Buffer, size cellSize, x, y int) {
	fmt.Fprintf(w, "<g data-object=\"%s\" data-state=\"%s\"><title>%s</title>", escape(c.Object), c.State, escape(c.Tip))
	fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>", c.State, x, y, size.w, size.h)
	letter := letterOf(c.State)
	switch {
	case size.letters == 0:
		if letter != "" {
			fmt.Fprintf(w, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>", c.State, x+size.w/2-4, y+size.h/2+4, letter)
		}
	case size.h >= 36:
		fmt.Fprintf(w, "<text class=\"%s bold\" x=\"%d\" y=\"%d\">%s</text>", c.State, x+8, y+16, escape(shorten(c.Name, size.letters)))
		fmt.Fprintf(w, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>", c.State, x+8, y+32, c.State)
	default:
		fmt.Fprintf(w, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>", c.State, x+6, y+16, escape(strings.TrimSpace(letter+" "+shorten(c.Name, size.letters-2))))
	}
	w.WriteString("</g>\n")
}

// shorten leaves out the middle of a name that is too long.
func shorten(name string, letters int) string {
	if utf8.RuneCountInString(name) <= letters {
		return name
	}
	runes := []rune(name)
	head := (letters - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(letters-1-head):])
}

// legend draws how many cells are of each state, and returns where it ends.
func (m *Map) legend(w *bytes.Buffer, y int) int {
	count := map[resilience.State]int{}
	for _, c := range m.Cells {
		count[c.State]++
	}
	x := mapMargin
	for _, s := range mapStates() {
		text := fmt.Sprintf("%s: %d", s, count[s])
		fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" rx=\"3\"/>", s, x, y)
		if letter := letterOf(s); letter != "" {
			fmt.Fprintf(w, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>", s, x+3, y+11, letter)
		}
		fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\">%s</text>\n", x+20, y+11, text)
		x += 34 + 8*len(text)
	}
	return y + 14 + mapMargin
}
