package console

import (
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/transition"
)

func poolText(p *view.Pool) string {
	return strings.Join([]string{string(p.System), p.Kind, string(p.Namespace), p.Name, string(p.Node), string(p.Zone), string(p.State), string(p.Condition), strings.Join(p.Volumes, " "), strings.Join(p.Disks, " ")}, " ")
}

func treeText(t *health.TreeRecord) string {
	text := strings.Join([]string{t.Kind, t.Namespace, t.Name, string(t.Health), t.State, t.Details}, " ")
	for i := range t.Children {
		text += " " + treeText(&t.Children[i])
	}
	return text
}

func poolsPage(x *exchange) (*page.Page, *problem) {
	p := &page.Page{Title: "Pools"}
	if steps := stepsTable(x.Transitions()); len(steps.Rows) > 0 {
		p.Blocks = append(p.Blocks, page.Block{Table: steps})
	}
	t := page.Table{
		Caption: "Pools", Columns: columns("Pool|System|Node|Zone|State|Condition|#Used|#Size|#Volumes|#Disks"),
		Empty: page.Notice{Text: "There are no pools in the inventory, and no spec plans one."},
	}
	p.Blocks = append(p.Blocks, tabulate(x, t, x.Pools(), poolText, func(r *view.Pool) []page.Cell {
		return []page.Cell{
			plain(r.Kind + " " + r.Name), plain(r.System), plain(r.Node), plain(r.Zone), phase(r.State), plain(r.Condition), size(r.Used), size(r.Size), number(len(r.Volumes)), number(len(r.Disks)),
		}
	}))
	if trees := x.Trees(); len(trees) > 0 && len(x.Nodes()) <= fewNodes {
		p.Blocks = append(p.Blocks, page.Block{Tree: &page.Tree{Heading: "Claims to disks", Nodes: nodes(trees, x.linkOf)}})
	}
	return p, nil
}

// stepsTable is how far changes are that take more than one render.
func stepsTable(all []transition.Transition) *page.Table {
	t := &page.Table{Caption: "Steps", Columns: columns("Object|State|~Step|~Until|~Why here")}
	tones := map[transition.State]string{transition.Done: "ok", transition.Now: "busy", transition.Next: "idle"}
	for i := range all {
		for _, s := range all[i].Steps {
			t.Rows = append(t.Rows, []page.Cell{plain(all[i].Object.String()), {Text: string(s.State), State: tones[s.State]}, plain(s.Kind + ": " + s.What), plain(s.Wait), plain(s.Why)})
		}
	}
	return t
}
