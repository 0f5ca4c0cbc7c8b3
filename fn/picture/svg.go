package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
)

// colors are those of one scheme. Text stands on page, zone, pool and part.
type colors struct {
	page, zone, edge, pool, border   string
	text, muted                      string
	ok, progressing, failed, unknown string
	used                             string
}

// The schemes, with the contrast that WCAG 2.1 asks for (1.4.3, 1.4.11).
func light() colors {
	return colors{
		page: "#ffffff", zone: "#f6f8fa", edge: "#d1d9e0", pool: "#ffffff", border: "#7a8490",
		text: "#1f2328", muted: "#59636e",
		ok: "#1a7f37", progressing: "#9a6700", failed: "#cf222e", unknown: "#59636e",
		used: "#0969da",
	}
}

func dark() colors {
	return colors{
		page: "#0d1117", zone: "#151b23", edge: "#3d444d", pool: "#0d1117", border: "#767e88",
		text: "#f0f6fc", muted: "#9aa4af",
		ok: "#3fb950", progressing: "#d29922", failed: "#f85149", unknown: "#9aa4af",
		used: "#4493f8",
	}
}

// style is the style sheet of a scheme.
func (c *colors) style() string {
	rules := []string{
		".page{fill:" + c.page + "}",
		".zone{fill:" + c.zone + ";stroke:" + c.edge + "}",
		".pool{fill:" + c.pool + ";stroke:" + c.border + "}",
		".part,.disk,.part-new,.part-may,.bar{fill:" + c.pool + ";stroke:" + c.border + "}",
		".disk{fill:" + c.zone + "}",
		".part-new,.part-may{stroke:" + c.used + "}",
		".used{fill:" + c.used + "}",
		".used-full{fill:" + c.progressing + "}",
		".sure,.most{fill:" + c.pool + ";stroke:" + c.used + "}",
		"text{fill:" + c.text + "}",
		".muted{fill:" + c.muted + "}",
		".ok{fill:" + c.ok + "}",
		".progressing{fill:" + c.progressing + "}",
		".failed{fill:" + c.failed + "}",
		".unknown{fill:none;stroke:" + c.unknown + "}",
		".ok.new,.ok.may{fill:none;stroke:" + c.ok + "}",
	}
	return strings.Join(rules, "\n")
}

// shapes are the rules that hold for both schemes.
const shapes = `text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre}
.title{font-size:12px;font-weight:bold}
.bold{font-weight:bold}
.part-new,.sure{stroke-width:1.5;stroke-dasharray:5 2}
.part-may,.most{stroke-dasharray:2 2}`

// SVG draws the picture. It is light or dark as the reader has it
// (prefers-color-scheme), and has no part outside of itself.
func (p *Picture) SVG() []byte {
	s := p.sorted()
	root := layout(s)
	light, dark := light(), dark()
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\">\n", root.w, root.h)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(strings.TrimSuffix(s.Title+": "+s.summary(), ": ")))
	fmt.Fprintf(&b, "<style>\n%s\n%s\n@media (prefers-color-scheme: dark){\n%s\n}\n</style>\n", shapes, light.style(), dark.style())
	root.svg(&b)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// svg writes a box, what stands in it, and the boxes in it.
func (b *box) svg(w *bytes.Buffer) {
	if b.tip != "" {
		fmt.Fprintf(w, "<g><title>%s</title>\n", escape(b.tip))
	} else {
		w.WriteString("<g>\n")
	}
	if b.class != "" {
		fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"%s/>\n", b.class, b.x, b.y, b.w, b.h, b.round())
	}
	for _, m := range b.marks {
		m.svg(w)
	}
	for _, t := range b.texts {
		fmt.Fprintf(w, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", t.class, t.x, t.y, escape(t.s))
	}
	for _, in := range b.in {
		in.svg(w)
	}
	w.WriteString("</g>\n")
}

func (b *box) round() string {
	if slices.Contains([]string{"zone", "pool", "part", "part-new", "part-may", "disk"}, b.class) {
		return " rx=\"4\""
	}
	return ""
}

// svg draws a health by shape and by color: not everybody can distinguish green and red.
func (m mark) svg(w *bytes.Buffer) {
	class := map[health.Phase]string{health.OK: "ok", health.Progressing: "progressing", health.Error: "failed"}[m.phase]
	switch m.mark {
	case ToCome:
		class = strings.TrimSpace(class + " new")
	case MayCome:
		class = strings.TrimSpace(class + " may")
	}
	const r = symbol / 2
	switch m.phase {
	case health.OK:
		fmt.Fprintf(w, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", class, m.x+r, m.y+r, r)
	case health.Progressing:
		fmt.Fprintf(w, "<path class=\"%s\" d=\"M%d %dl%d %dh-%dz\"/>\n", class, m.x+r, m.y, r, symbol, symbol)
	case health.Error:
		fmt.Fprintf(w, "<path class=\"%s\" d=\"M%d %dl2 -2l3 3l3 -3l2 2l-3 3l3 3l-2 2l-3 -3l-3 3l-2 -2l3 -3z\"/>\n", class, m.x, m.y+2)
	default:
		fmt.Fprintf(w, "<circle class=\"unknown\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", m.x+r, m.y+r, r-1)
	}
}

// escape writes a text into XML.
func escape(s string) string {
	var b strings.Builder
	// A strings.Builder never fails.
	_ = xml.EscapeText(&b, []byte(visible(s)))
	return b.String()
}
