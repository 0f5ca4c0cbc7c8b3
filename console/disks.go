package console

import (
	"net/url"
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
)

func diskText(d *view.Disk) string {
	return strings.Join([]string{d.ID, string(d.Node), string(d.Path), d.Size.String(), string(d.Kind), string(d.Serial), d.State(), d.Why(), strings.Join(d.Links, " ")}, " ")
}

func disksPage(x *exchange) (*page.Page, *problem) {
	t := page.Table{
		Caption: "Disks", Columns: columns("Disk|Node|#Size|Kind|Serial|State|~Why|Use"),
		Empty: page.Notice{Text: "The inventory reports no disks. Take one: run poolwright inventory -o " + x.server.config.Dir + "/inventory with access to the cluster, and commit it. Disks are reported by the node agent or by OpenEBS NDM."},
	}
	return &page.Page{Title: "Disks", Blocks: []page.Block{tabulate(x, t, x.Disks(), diskText, func(d *view.Disk) []page.Cell {
		name := string(d.Path)
		if name == "" {
			name = d.Name()
		}
		use := page.Cell{}
		if d.Usable && !d.BehindRAID() {
			use = page.Cell{Text: "Use", Path: "/volumes/new?" + url.Values{"type": {"disk"}, "node": {string(d.Node)}, "device": {string(d.Node) + "/" + d.Name()}}.Encode(), Action: true}
		}
		return []page.Cell{link(name, view.DiskLink(d)), plain(d.Node), size(d.Size), plain(d.Kind), code(d.Serial), diskState(d), plain(d.Why()), use}
	})}}, nil
}

func diskPage(x *exchange) (*page.Page, *problem) {
	node, name := x.names["node"], x.names["name"]
	d, near := x.DiskNamed(node, name)
	if d == nil {
		return nil, missing("disk "+name+" on node "+node, near, "disks", node)
	}
	facts := &page.Facts{Rows: []page.Fact{fact("State", diskState(d)), fact("Node", plain(d.Node)), fact("Path", code(d.Path)), fact("Size", size(d.Size)), fact("Kind", plain(d.Kind)), fact("Serial", code(d.Serial)), fact("WWN", code(d.WWN))}}
	if holders := cellsOf(d.Holders()); len(holders) > 0 {
		facts.Rows = append(facts.Rows, fact("Held by", holders...))
	}
	if why := cellsOf(x.Objections(d)); len(why) > 0 {
		facts.Rows = append(facts.Rows, fact("Why it may not be used", why...))
	}
	links := fact("Links")
	for _, l := range d.Links {
		links.Values = append(links.Values, code(l))
	}
	if len(links.Values) > 0 {
		facts.Rows = append(facts.Rows, links)
	}
	p := &page.Page{Title: "Disk " + d.Name(), Blocks: []page.Block{{Facts: facts}}}
	if chain := x.Chain(d); len(chain) > 0 {
		p.Blocks = append(p.Blocks, page.Block{Tree: &page.Tree{Heading: "What is on it", Nodes: nodes(chain, x.linkOf)}})
	}
	return p, nil
}

func cellsOf(texts []string) []page.Cell {
	var cells []page.Cell
	for _, text := range texts {
		cells = append(cells, plain(text))
	}
	return cells
}
