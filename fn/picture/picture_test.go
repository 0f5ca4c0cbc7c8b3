package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// names are those of real clusters, and those that are to break out of a picture.
var names = []string{"", "n1", "blockdevice-1c10eb1bb14c94f02a00373f2fa09b93", "shop/pg-0", `"];x->y;//`, "</text><script>", "a&b<c>\"d'", "]]>", "\x00\x1b[31m\n\t", "記憶領域記憶領域記憶領域記憶領域", strings.Repeat("w", 300), "\xff\xfe", `\`, `\"`, "%s%d{}", "n1\u202eab\u200b\ufeff\u2028"}

// drawn is any picture.
func drawn(t *rapid.T) *Picture {
	name := func(what string) string { return rapid.SampledFrom(names).Draw(t, what) }
	phase := func() health.Phase {
		return rapid.SampledFrom([]health.Phase{health.OK, health.OK, health.Progressing, health.Error, ""}).Draw(t, "phase")
	}
	amount := func(what string) int64 {
		return rapid.SampledFrom([]int64{0, 1, 7 << 30, 100 << 30, 1 << 50, math.MaxInt64, -1, math.MinInt64}).Draw(t, what)
	}
	p := &Picture{Title: name("title")}
	count := rapid.SampledFrom([]int{0, 1, 3, manyPools, manyPools + 1, mostPools + 1}).Draw(t, "pools")
	for i := range min(count, 4) {
		pool := Pool{
			Object: finding.Ref{Kind: rapid.SampledFrom([]string{"CStorPoolInstance", "Node"}).Draw(t, "kind"), Name: fmt.Sprint(i, name("pool"))}, Node: name("node"), Zone: name("zone"),
			Phase: phase(), State: name("state"), Used: amount("used"), Total: amount("total"), Sure: amount("sure"), Most: amount("most"),
		}
		for j := range rapid.SampledFrom([]int{0, 2, mostParts, mostParts + 1, 40}).Draw(t, "parts") {
			pool.Parts = append(pool.Parts, Part{
				Kind: Kind(rapid.IntRange(0, 1).Draw(t, "kind of part")), Object: finding.Ref{Kind: "Disk", Name: fmt.Sprint(j)}, Name: name("part"),
				Phase: phase(), State: name("state of a part"), Mark: Mark(rapid.IntRange(0, 3).Draw(t, "mark")),
			})
		}
		p.Pools = append(p.Pools, pool)
	}
	for i := len(p.Pools); i < count; i++ {
		again := p.Pools[i%4]
		again.Object.Name = fmt.Sprint(i, "-", again.Object.Name)
		p.Pools = append(p.Pools, again)
	}
	return p
}

// TestLayout holds that boxes lie in the box that they are in, that those beside each other
// do not overlap, and that every text fits.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := layout(drawn(t).sorted())
		if root.w > 2*maxWidth {
			t.Fatalf("%d pixels wide", root.w)
		}
		checkBox(t, root)
	})
}

func checkBox(t *rapid.T, b *box) {
	for _, text := range b.texts {
		if text.x < b.x || text.x+width(text.s) > b.x+b.w || text.y-fontSize < b.y || text.y+3 > b.y+b.h {
			t.Fatalf("%q at %d,%d of width %d leaves its box %q %d,%d %dx%d", text.s, text.x, text.y, width(text.s), b.class, b.x, b.y, b.w, b.h)
		}
		for _, other := range b.texts {
			if other != text && other.y == text.y && text.x <= other.x && text.x+width(text.s) > other.x {
				t.Fatalf("%q runs into %q", text.s, other.s)
			}
		}
		for _, m := range b.marks {
			if m.x < text.x+width(text.s) && text.x < m.x+symbol && m.y < text.y && text.y-fontSize+2 < m.y {
				t.Fatalf("a mark stands on %q", text.s)
			}
		}
	}
	for _, m := range b.marks {
		if m.x < b.x || m.y < b.y || m.x+symbol > b.x+b.w || m.y+symbol > b.y+b.h {
			t.Fatalf("a mark at %d,%d leaves its box %q %d,%d %dx%d", m.x, m.y, b.class, b.x, b.y, b.w, b.h)
		}
	}
	for i, in := range b.in {
		if in.x < b.x || in.y < b.y || in.x+in.w > b.x+b.w || in.y+in.h > b.y+b.h {
			t.Fatalf("%q %d,%d %dx%d leaves %q %d,%d %dx%d", in.class, in.x, in.y, in.w, in.h, b.class, b.x, b.y, b.w, b.h)
		}
		for _, other := range b.in[i+1:] {
			if in.x < other.x+other.w && other.x < in.x+in.w && in.y < other.y+other.h && other.y < in.y+in.h {
				t.Fatalf("%q %d,%d %dx%d overlaps %q %d,%d %dx%d", in.class, in.x, in.y, in.w, in.h, other.class, other.x, other.y, other.w, other.h)
			}
		}
		for _, text := range b.texts {
			if text.x < in.x+in.w && in.x < text.x+width(text.s) && text.y-fontSize+2 < in.y+in.h && in.y < text.y {
				t.Fatalf("%q stands on %q", text.s, in.class)
			}
		}
		checkBox(t, in)
	}
}

// checkVisible holds that everything in a picture can be seen: no mark turns the order of
// letters.
func checkVisible(t *rapid.T, text []byte) {
	for _, r := range string(text) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%U cannot be seen", r)
		}
	}
}

// TestSVG holds that what is written is XML with no part outside of itself, that the order of
// the input does not matter, and that no name becomes markup.
func TestSVG(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		drawing := p.SVG()
		checkVisible(t, drawing)
		elements := map[string]bool{}
		d := xml.NewDecoder(bytes.NewReader(drawing))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, drawing)
			}
			if e, is := token.(xml.StartElement); is {
				elements[e.Name.Local] = true
				for _, a := range e.Attr {
					if strings.Contains(a.Value, "NaN") || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") {
						t.Fatalf("%s=%q", a.Name.Local, a.Value)
					}
				}
			}
		}
		for e := range elements {
			if !strings.Contains(" svg title style g rect text circle path ", " "+e+" ") {
				t.Fatalf("a name became element %s", e)
			}
		}
		shuffled := &Picture{Title: p.Title, Pools: rapid.Permutation(p.Pools).Draw(t, "order")}
		if !bytes.Equal(drawing, shuffled.SVG()) || !bytes.Equal(p.DOT(), shuffled.DOT()) {
			t.Fatal("the order of the pools matters")
		}
	})
}

// TestDOT holds that what is written is a graph: statements of quoted names, whose braces match.
func TestDOT(t *testing.T) {
	const quoted = `"(?:[^"\\]|\\.)*"`
	const attributes = `\[(?:[a-z]+=(?:` + quoted + `|[a-z0-9]+)(?:, )?)+\]`
	statement := regexp.MustCompile(`^ *(?:digraph poolwright \{|subgraph cluster_[0-9_]+ \{|\}|label=` + quoted + `;|rankdir=LR;|(?:node|edge) ` + attributes + `;|n[0-9]+(?: -> n[0-9]+)? ` + attributes + `;)$`)
	rapid.Check(t, func(t *rapid.T) {
		depth, graph := 0, drawn(t).DOT()
		checkVisible(t, graph)
		for line := range strings.Lines(string(graph)) {
			line = strings.TrimSuffix(line, "\n")
			if !statement.MatchString(line) {
				t.Fatalf("no statement: %q", line)
			}
			if strings.HasSuffix(line, "{") {
				depth++
			}
			if strings.TrimSpace(line) == "}" {
				depth--
			}
		}
		if depth != 0 {
			t.Fatal("braces do not match")
		}
	})
}

// TestFit holds that what is cut fits, and that a name keeps its beginning and its end.
func TestFit(t *testing.T) {
	if got, want := fit("blockdevice-1c10eb1bb14c94f02a00373f2fa09b93", 150), "blockdevic…f2fa09b93"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, w := rapid.String().Draw(t, "text"), rapid.IntRange(20, 400).Draw(t, "width")
		if got := fit(s, w); width(got) > w {
			t.Fatalf("%q is %d wide, for %d", got, width(got), w)
		}
	})
}

// TestContrast holds the colors to WCAG 2.1: text has 4.5 to 1 (1.4.3), shapes 3 to 1 (1.4.11)
// with everything that they stand on.
func TestContrast(t *testing.T) {
	for name, c := range map[string]colors{"light": light(), "dark": dark()} {
		for _, on := range []string{c.page, c.zone, c.pool} {
			for _, text := range []string{c.text, c.muted} {
				if got := contrast(t, text, on); got < 4.5 {
					t.Errorf("%s: text %s on %s: %.1f", name, text, on, got)
				}
			}
			for _, shape := range []string{c.ok, c.progressing, c.failed, c.unknown, c.used, c.border} {
				if got := contrast(t, shape, on); got < 3 {
					t.Errorf("%s: %s on %s: %.1f", name, shape, on, got)
				}
			}
		}
	}
}

// contrast is the ratio that WCAG 2.1 defines.
func contrast(t *testing.T, a, b string) float64 {
	luminance := func(color string) float64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		channel := func(shift int) float64 {
			v := float64(n>>shift&0xff) / 255
			if v <= 0.04045 {
				return v / 12.92
			}
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
