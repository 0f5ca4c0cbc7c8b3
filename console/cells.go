package console

import (
	"strings"
	"time"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/finding"
)

func plain[T ~string](text T) page.Cell {
	if text == "" {
		return page.Cell{Text: "-"}
	}
	return page.Cell{Text: string(text)}
}

func link[T ~string](text T, path string) page.Cell { return page.Cell{Text: string(text), Path: path} }

func code[T ~string](text T) page.Cell {
	if text == "" {
		return page.Cell{Text: "-"}
	}
	return page.Cell{Text: string(text), Code: true}
}

// size is a size for people; one that nobody knows is a dash.
func size(b view.Bytes) page.Cell { return plain(b.String()) }

// phase is a phase as a word with a colour and a shape.
func phase(p health.Phase) page.Cell {
	if p == "" {
		return page.Cell{Text: "-"}
	}
	return page.Cell{Text: string(p), State: tone(p)}
}

func tone(p health.Phase) string {
	switch p {
	case health.OK:
		return "ok"
	case health.Progressing:
		return "busy"
	case health.Error:
		return "bad"
	}
	return ""
}

// risk is the risk of a change.
func risk(r change.Risk) page.Cell {
	switch r {
	case change.Safe:
		return page.Cell{Text: string(r), State: "ok"}
	case change.Disruptive:
		return page.Cell{Text: string(r), State: "busy"}
	case change.Destructive:
		return page.Cell{Text: string(r), State: "bad"}
	}
	return plain(r)
}

// fate is how a volume fares after a loss.
func fate(s resilience.State) page.Cell {
	switch s {
	case resilience.Safe:
		return page.Cell{Text: string(s), State: "ok"}
	case resilience.Degraded:
		return page.Cell{Text: string(s), State: "busy"}
	case resilience.Stops, resilience.Lost:
		return page.Cell{Text: string(s), State: "bad"}
	}
	return page.Cell{Text: string(s), State: "idle"}
}

// diskState is the state of a disk.
func diskState(d *view.Disk) page.Cell {
	tones := map[string]string{"Free": "ok", "In use": "idle", "Refused": "busy"}
	return page.Cell{Text: d.State(), State: tones[d.State()]}
}

func when(t time.Time) page.Cell {
	if t.IsZero() {
		return page.Cell{Text: "-"}
	}
	return page.Cell{Text: t.UTC().Format("2006-01-02 15:04") + " UTC"}
}

// columns are the heads of a table, with | between them; a name with # before it is of numbers, with ~ of sentences.
func columns(names string) []page.Column {
	var all []page.Column
	for name := range strings.SplitSeq(names, "|") {
		plain := strings.TrimLeft(name, "#~")
		all = append(all, page.Column{Name: plain, Number: name[0] == '#', Prose: name[0] == '~'})
	}
	return all
}

func fact(name string, values ...page.Cell) page.Fact { return page.Fact{Name: name, Values: values} }

// nameOf names an object; a disk that has no object by its node and path.
func nameOf(ref finding.Ref) string {
	if ref.GroupKind() == disk.Kind() {
		return ref.Kind + " " + ref.Name + " on " + ref.Namespace
	}
	return ref.String()
}

// nodes are trees as nested lists.
func nodes(trees []*health.Tree, links func(*health.Tree) string) []page.Node {
	var all []page.Node
	for _, t := range trees {
		n := page.Node{Name: nameOf(t.Object), Path: links(t), Note: t.Note, State: tone(t.Phase), Word: string(t.Phase), Children: nodes(t.Children, links)}
		if t.State != "" && t.Phase == "" {
			n.State, n.Word = "idle", t.State
		}
		all = append(all, n)
	}
	return all
}
