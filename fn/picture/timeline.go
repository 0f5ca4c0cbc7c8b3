package picture

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Timeline is when pools pass their threshold and are full. The same timeline gives the same bytes.
type Timeline struct {
	Title string
	From  time.Time
	Days  float64 // that are drawn
	Rows  []TimelineRow
}

// TimelineRow is one pool.
type TimelineRow struct {
	Name, Note      string
	Used            float64 // percent
	Threshold, Full Span
}

// Span is an interval; nil is never.
type Span struct{ From, To *time.Time }

// The layout of a timeline.
const (
	timeName  = 260 // of a row
	timeUsed  = 60
	timeWidth = 560 // of the days
	timeRow   = 26
)

// SVG draws a row for each pool: how full it is, and a bar for each interval; the bar of the threshold is above that of full. It is light or dark
// as the reader has it.
func (t *Timeline) SVG() []byte {
	left := mapMargin + timeName + timeUsed
	width, top := left+timeWidth+mapMargin, 72
	height := top + len(t.Rows)*timeRow + 44
	light, dark := light(), dark()
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\">\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s\n%s\n@media (prefers-color-scheme: dark){\n%s\n}\n</style>\n", escape(t.Title), shapes, timeStyle(&light), timeStyle(&dark))
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n<text class=\"title\" x=\"%d\" y=\"26\">%s</text>\n", width, height, mapMargin, escape(t.Title))
	const marks = 4
	for i := range marks + 1 {
		x := left + timeWidth*i/marks
		day := t.From.Add(time.Duration(t.Days * float64(i) / marks * float64(24*time.Hour)))
		fmt.Fprintf(&b, "<path class=\"grid\" d=\"M%d %dV%d\"/><text class=\"muted\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
			x, top-12, height-40, x, top-18, []string{"start", "middle", "middle", "middle", "end"}[i], day.UTC().Format(time.DateOnly))
	}
	for i := range t.Rows {
		r, y := &t.Rows[i], top+i*timeRow
		fmt.Fprintf(&b, "<g data-object=\"%s\"><text x=\"%d\" y=\"%d\">%s</text><text class=\"muted\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f%%</text>",
			escape(r.Name), mapMargin, y+14, escape(shorten(r.Name, timeName/8)), left-10, y+14, r.Used)
		drawn := t.bar(&b, "near", r.Threshold, left, y+2) + t.bar(&b, "full", r.Full, left, y+12)
		if drawn == 0 {
			note := r.Note
			if note == "" {
				note = "later"
			}
			fmt.Fprintf(&b, "<text class=\"muted\" x=\"%d\" y=\"%d\">%s</text>", left+6, y+14, escape(note))
		}
		b.WriteString("</g>\n")
	}
	y := height - 22
	fmt.Fprintf(&b, "<rect class=\"near\" x=\"%d\" y=\"%d\" width=\"24\" height=\"8\"/><text x=\"%d\" y=\"%d\">passes its threshold</text>\n", mapMargin, y, mapMargin+32, y+9)
	fmt.Fprintf(&b, "<rect class=\"full\" x=\"%d\" y=\"%d\" width=\"24\" height=\"8\"/><text x=\"%d\" y=\"%d\">is full (intervals of 95 percent)</text>\n", mapMargin+240, y, mapMargin+272, y+9)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func timeStyle(c *colors) string {
	return strings.Join([]string{
		".page{fill:" + c.page + "}", "text{fill:" + c.text + "}", ".muted{fill:" + c.muted + "}", ".grid{stroke:" + c.edge + "}",
		".near{fill:" + c.progressing + "}", ".full{fill:" + c.failed + "}",
	}, "\n")
}

// bar draws an interval as far as it is among the days, and returns how many bars it drew.
func (t *Timeline) bar(b *bytes.Buffer, class string, s Span, left, y int) int {
	if s.From == nil {
		return 0
	}
	at := func(day *time.Time) float64 {
		if day == nil {
			return 1
		}
		return min(1, day.Sub(t.From).Hours()/24/t.Days)
	}
	from, to := at(s.From), at(s.To)
	if from >= 1 {
		return 0
	}
	fmt.Fprintf(b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"8\" rx=\"2\"/>", class, left+int(from*timeWidth), y, max(4, int((to-from)*timeWidth)))
	return 1
}
