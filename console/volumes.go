package console

import (
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
)

func volumeText(v *view.Volume) string {
	return strings.Join([]string{v.Name, string(v.Node), v.Stock.Type, v.Size.String(), string(v.Group), string(v.Device), string(v.StorageClass), string(v.State), string(v.Reason), string(v.Claim)}, " ")
}

func groupText(g *view.Group) string {
	return strings.Join([]string{g.Name, string(g.LVMName), string(g.Node), g.Size.String(), strings.Join(g.Devices, " "), strings.Join(g.Volumes, " "), string(g.State), string(g.Reason)}, " ")
}

func volumesPage(x *exchange) (*page.Page, *problem) {
	t := page.Table{
		Caption: "Volumes", Columns: columns("Name|Node|Type|#Size|Device|Group|PV|Bound by|State"),
		Empty: page.Notice{Text: "There is no Volume in this package or in its inventory."},
	}
	create := page.Link{Text: "Create Volume", Path: "/volumes/new"}
	t.Empty.Link = &create
	return &page.Page{Title: "Volumes", Actions: []page.Link{create}, Blocks: []page.Block{tabulate(x, t, x.Volumes(), volumeText, func(v *view.Volume) []page.Cell {
		return []page.Cell{
			link(v.Name, view.Path("volumes", v.Name)), plain(v.Node), plain(v.Stock.Type), size(v.Size), code(v.Device), plain(v.Group), plain(v.PV), plain(v.Claim), phase(v.State),
		}
	})}}, nil
}

func groupsPage(x *exchange) (*page.Page, *problem) {
	t := page.Table{
		Caption: "Volume Groups", Columns: columns("Name|Node|#Size|#Free|Device|~Volumes|State"),
		Empty: page.Notice{Text: "There is no Volume Group in this package or in its inventory."},
	}
	create := page.Link{Text: "Create Volume Group", Path: "/volumegroups/new"}
	t.Empty.Link = &create
	return &page.Page{Title: "Volume Groups", Actions: []page.Link{create}, Blocks: []page.Block{tabulate(x, t, x.Groups(), groupText, func(g *view.Group) []page.Cell {
		return []page.Cell{
			link(g.Name, view.Path("volumegroups", g.Name)), plain(g.Node), size(g.Size), size(g.Free), code(strings.Join(g.Devices, ", ")), plain(strings.Join(g.Volumes, ", ")), phase(g.State),
		}
	})}}, nil
}

func volumePage(x *exchange) (*page.Page, *problem) {
	v, near := x.VolumeNamed(x.names["name"])
	if v == nil {
		return nil, missing("Volume "+x.names["name"], near, "volumes")
	}
	p := &page.Page{Title: "Volume " + v.Name}
	alertState(p, v.State, v.Reason, v.Message)
	facts := &page.Facts{Rows: []page.Fact{
		fact("State", phase(v.State)), fact("Message", plain(v.Message)), fact("Node", plain(v.Node)), fact("Type", plain(v.Stock.Type)), fact("Size", size(v.Size)),
		fact("Group", plain(v.Group)), fact("Device", code(v.Device)), fact("Storage class", plain(v.StorageClass)), fact("PersistentVolume", plain(v.PV)), fact("Bound by", plain(v.Claim)),
	}}
	p.Actions = actionsOf(x, v.Stock.Object.Kind, v.Name, view.Path("volumes", v.Name, "delete"))
	p.Blocks = append(p.Blocks, page.Block{Facts: withSpec(x, facts, v.Stock.Object.Kind, v.Name, v.Why)})
	return p, nil
}

func groupPage(x *exchange) (*page.Page, *problem) {
	g, near := x.GroupNamed(x.names["name"])
	if g == nil {
		return nil, missing("Volume Group "+x.names["name"], near, "volumegroups")
	}
	p := &page.Page{Title: "Volume Group " + g.Name}
	alertState(p, g.State, g.Reason, g.Message)
	inside := fact("Volumes")
	for _, name := range g.Volumes {
		inside.Values = append(inside.Values, link(name, view.Path("volumes", name)))
	}
	if len(g.Volumes) == 0 {
		inside.Values = []page.Cell{plain("")}
	}
	facts := &page.Facts{Rows: []page.Fact{
		fact("State", phase(g.State)), fact("Message", plain(g.Message)), fact("Node", plain(g.Node)), fact("LVM name", code(g.LVMName)), fact("Size", size(g.Size)),
		fact("Free for a new Volume", size(g.Free)), fact("Device", cellsOf(g.Devices)...), inside,
	}}
	p.Actions = actionsOf(x, g.Stock.Object.Kind, g.Name, view.Path("volumegroups", g.Name, "delete"))
	p.Blocks = append(p.Blocks, page.Block{Facts: withSpec(x, facts, g.Stock.Object.Kind, g.Name, g.Why)})
	return p, nil
}

// actionsOf are what a person may do with an object that is in the package.
func actionsOf(x *exchange, kind, name, remove string) []page.Link {
	s, _ := x.SpecNamed(kind, "", name)
	if s == nil {
		return nil
	}
	return []page.Link{{Text: "Edit", Path: view.SpecLink(s.Object.Ref)}, {Text: "YAML", Path: view.SpecLink(s.Object.Ref) + "/yaml"}, {Text: "Delete", Path: remove}}
}

// withSpec adds where an object is written, and why it may not be taken out.
func withSpec(x *exchange, facts *page.Facts, kind, name string, why view.Text) *page.Facts {
	if s, _ := x.SpecNamed(kind, "", name); s != nil {
		facts.Rows = append(facts.Rows, fact("Spec", link(s.File, view.SpecLink(s.Object.Ref))))
	}
	if why != "" {
		facts.Rows = append(facts.Rows, fact("Why it stays", plain(sentence(string(why)))))
	}
	return facts
}
