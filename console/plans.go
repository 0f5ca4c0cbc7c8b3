package console

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/finding"
)

func planPage(x *exchange) (*page.Page, *problem) {
	p := &page.Page{Title: "Plan", Intro: "What a render would change in rendered/, which the engine applies."}
	p.Blocks = planBlocks(x, &x.Plan)
	if len(x.Plan.Changes)+x.Plan.Files > 0 && x.readOnly == nil {
		p.Blocks = append(p.Blocks, page.Block{Form: &page.Form{
			Label: "Commit", Path: "/plan", Post: true, Hidden: []page.Option{{Text: "csrf", Value: x.server.sessions.formToken()}}, Buttons: []page.Button{{Text: "Commit", Name: "do", Value: "commit"}},
		}})
	}
	return p, nil
}

// planBlocks is a plan: its risk, its changes, and its findings.
func planBlocks(x *exchange, of *plan.Plan) []page.Block {
	var blocks []page.Block
	empty := page.Notice{Text: "Nothing would change."}
	if finding.Failed(of.Findings) {
		empty.Text = "Errors forbid a render, so the output stays as it is."
	} else if of.Files > 0 {
		empty.Text = fmt.Sprintf("No object would change, and %s of rendered/ would be written.", finding.Count(of.Files, "file"))
	}
	if r := of.Risk(); r != "" {
		blocks = append(blocks, page.Block{Facts: &page.Facts{Rows: []page.Fact{fact("Risk", risk(r)), fact("Summary", plain(of.Summary()))}}})
	}
	t := page.Table{Caption: "Changes", Columns: columns("Risk|Object|Action|~Why"), Empty: empty}
	blocks = append(blocks, tabulate(x, t, of.Changes, changeText, func(c **change.Change) []page.Cell {
		return []page.Cell{risk((*c).Risk), plain((*c).Ref.String() + of.Mark(*c)), plain(string((*c).Action)), plain(whyOf(*c))}
	}))
	if fs := findingsTable(of.Findings); len(fs.Rows) > 0 {
		blocks = append(blocks, page.Block{Table: fs})
	}
	return blocks
}

func changeText(c **change.Change) string {
	return strings.Join([]string{string((*c).Risk), (*c).Ref.String(), string((*c).Action), whyOf(*c)}, " ")
}

// whyOf is the reasons of a change in one line.
func whyOf(c *change.Change) string {
	var why []string
	for _, r := range c.Reasons {
		text := r.Text
		if r.Field != "" {
			text = r.Field + ": " + text
		}
		why = append(why, text)
	}
	return strings.Join(why, "; ")
}
