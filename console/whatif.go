package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/resilience"
)

func whatIfPage(x *exchange) (*page.Page, *problem) {
	query := x.request.URL.Query()
	kind, object := query.Get("lose"), query.Get("object")
	if kind == "" {
		kind = "node"
	}
	p := &page.Page{Title: "What-if", Intro: "What a loss does to volumes and pools, before anything happens."}
	lose := page.Field{Name: "lose", Label: "Lose", Value: kind}
	known := false
	for _, word := range []string{"node", "zone", "disk", "pool"} {
		lose.Options = append(lose.Options, page.Option{Value: word, Text: word})
		known = known || word == kind
	}
	of := page.Field{Name: "object", Label: "Object", Value: object, Help: "Its name; of a disk the serial number, WWN, link or block device."}
	if !known {
		of.Error = fmt.Sprintf("%q cannot be lost: choose a node, zone, disk or pool.", kind)
	} else {
		for i, name := range x.LossNames(kind) {
			if i == mostShown {
				break
			}
			of.Suggest = append(of.Suggest, page.Option{Value: name})
		}
	}
	var changes []string
	if object != "" {
		changes = []string{"lose " + kind + "/" + object}
	}
	var answer *fn.WhatIf
	if of.Error == "" {
		w, err := x.WhatIf(changes...)
		var unknown resilience.UnknownError
		var misused resilience.UsageError
		switch {
		case errors.As(err, &unknown), errors.As(err, &misused):
			of.Error = sentence(err.Error())
		case err != nil:
			return nil, refuse(http.StatusInternalServerError, "internal", "%v", err)
		default:
			answer = w
		}
	}
	if of.Error != "" {
		p.Alerts = append(p.Alerts, page.Notice{Text: of.Error})
	}
	p.Blocks = append(p.Blocks, page.Block{Form: &page.Form{Label: "What-if", Path: "/what-if", Fields: []page.Field{lose, of}, Buttons: []page.Button{{Text: "Show"}}}})
	if answer != nil {
		p.Blocks = append(p.Blocks, answerBlocks(x, answer, object != "")...)
	}
	return p, nil
}

// answerBlocks is an answer: counts, volumes, and what more would be fatal.
func answerBlocks(x *exchange, w *fn.WhatIf, asked bool) []page.Block {
	facts := &page.Facts{Rows: []page.Fact{fact("Volumes", plain(w.Summary.Text("volume")))}}
	if asked {
		facts.Rows = append(facts.Rows, fact("Before", plain(w.SummaryBefore.Text("volume"))))
	}
	fatal := page.Fact{Name: "Then fatal"}
	for i, f := range w.ThenFatal {
		if i == 10 {
			fatal.Values = append(fatal.Values, plain(fmt.Sprintf("and %d more", len(w.ThenFatal)-i)))
			break
		}
		fatal.Values = append(fatal.Values, plain(fmt.Sprintf("%s: %d more lost, %d more stop", f.Object, f.Lost, f.Stops)))
	}
	if len(fatal.Values) == 0 {
		fatal.Values = []page.Cell{plain("no single further loss makes more volumes lost or stop")}
	}
	facts.Rows = append(facts.Rows, fatal, fact("Not modelled", cellsOf(w.NotModelled)...))
	t := page.Table{Caption: "Volumes", Columns: columns("Object|Before|After|Copies|~Cause|~Remedy"), Empty: page.Notice{Text: "The inventory has no volumes, so none can be lost."}}
	return []page.Block{{Facts: facts}, tabulate(x, t, w.Volumes, lossText, func(r *resilience.Row) []page.Cell {
		return []page.Cell{plain(r.Ref()), fate(r.Before), fate(r.After), plain(copies(&r.Copies)), plain(r.Cause), plain(r.Remedy)}
	})}
}

func lossText(r *resilience.Row) string {
	return r.Ref() + " " + string(r.After) + " " + r.Cause + " " + r.Remedy
}

// copies is 2 of 3; a number that is not known is ?.
func copies(c *resilience.Copies) string {
	text := func(n *int) string {
		if n == nil {
			return "?"
		}
		return strconv.Itoa(*n)
	}
	return text(c.After) + " of " + text(c.Want)
}
