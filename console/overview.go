package console

import (
	"strconv"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/health"
)

// fewNodes is how many nodes a tree is shown for; of more there are counts by zone.
const fewNodes = 30

func overviewPage(x *exchange) (*page.Page, *problem) {
	o := x.Overview()
	p := &page.Page{Title: "Overview"}
	waiting := page.Table{Caption: "Waiting for you", Columns: columns("What|~Why|Where"), Empty: page.Notice{Text: "Nothing is waiting for you."}}
	for i, w := range o.Waiting {
		if i == rowsShown {
			break
		}
		waiting.Rows = append(waiting.Rows, []page.Cell{plain(w.What), plain(w.Why), link("Show", w.Link)})
	}
	p.Blocks = append(p.Blocks, page.Block{Table: &waiting}, statusTable(x), page.Block{Table: zoneTable(o.Zones)})
	trees := x.Trees()
	switch {
	case len(trees) == 0:
	case len(x.Nodes()) > fewNodes:
		t := page.Table{Caption: "Objects", Columns: columns("Kind|#OK|#PROGRESSING|#ERROR|#Unknown")}
		for _, tally := range health.Tallies(trees) {
			t.Rows = append(t.Rows, []page.Cell{
				plain(tally.Kind), number(tally.Phases[health.OK]), number(tally.Phases[health.Progressing]), number(tally.Phases[health.Error]), number(tally.Phases[""]),
			})
		}
		p.Blocks = append(p.Blocks, page.Block{Table: &t})
	default:
		if len(x.Pools()) > 0 {
			p.Blocks = append(p.Blocks, page.Block{Picture: &page.Picture{Source: "/pools.svg", Alt: "The pools on their nodes; the tree below says the same"}})
		}
		p.Blocks = append(p.Blocks, page.Block{Tree: &page.Tree{Heading: "Claims to disks", Nodes: nodes(trees, x.linkOf)}})
	}
	return p, nil
}

func number(n int) page.Cell { return page.Cell{Text: strconv.Itoa(n)} }

// statusTable is the specs, the worst first.
func statusTable(x *exchange) page.Block {
	t := page.Table{
		Caption: "Specs", Columns: columns("Spec|State|Reason|Since|~Message"),
		Empty: page.Notice{Text: "There is no spec in this package, so nothing is rendered.", Link: &page.Link{Text: "New spec", Path: "/specs/new"}},
	}
	return tabulate(x, t, x.Statuses(), phaseText, func(s *health.Status) []page.Cell {
		since := page.Cell{Text: "-"}
		if !s.Since.IsZero() {
			since.Text = ageText(x.server.config.Now().Sub(s.Since))
		}
		return []page.Cell{link(s.Spec.String(), view.SpecLink(s.Spec)), phase(s.Phase), plain(s.Reason), since, plain(s.Message)}
	})
}

func phaseText(s *health.Status) string {
	return s.Spec.String() + " " + string(s.Phase) + " " + s.Reason + " " + s.Message
}

// zoneTable is the capacity.
func zoneTable(zones []view.Zone) *page.Table {
	t := &page.Table{
		Caption: "Capacity by zone", Columns: columns("Zone|#Nodes|#Not ready|#Disks|#Free disks|#Size of all disks|#Size of free disks"),
		Empty: page.Notice{Text: "The inventory contains no nodes. Run poolwright inventory -o inventory in this package, and commit it."},
	}
	for _, z := range zones {
		name := string(z.Zone)
		if name == "" {
			name = "no zone"
		}
		t.Rows = append(t.Rows, []page.Cell{plain(name), number(z.Nodes), number(z.Down), number(z.Disks), number(z.Free), size(z.Size), size(z.Room)})
	}
	return t
}

// linkOf is the page of an object of a tree, "" if it has none.
func (x *exchange) linkOf(t *health.Tree) string {
	if t.State == health.Missing {
		return ""
	}
	for _, s := range x.Specs() {
		if s.Object.Ref == t.Object {
			return view.SpecLink(t.Object)
		}
	}
	return ""
}
