package main

import (
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/picture"
	"github.com/poolwright/poolwright/schema/finding"
)

// lossMap is the map of what --every lists.
func lossMap(w *fn.WhatIf, q fn.Question) *picture.Map {
	changes := make([]string, 0, len(w.Changes))
	for _, c := range w.Changes {
		changes = append(changes, string(c.Verb)+" "+c.Object)
	}
	m := &picture.Map{Title: "The worst volume without each " + q.Every, Summary: w.Summary.Text("volume")}
	if len(changes) > 0 {
		m.Title += ", after " + strings.Join(changes, ", ")
	}
	for _, l := range w.Rows {
		kind, name, _ := strings.Cut(l.Object, "/")
		m.Cells = append(m.Cells, picture.Cell{
			Object: l.Object, Name: name, Zone: w.ZoneOf(kind, name), State: l.Summary.Worst(), Tip: "without " + l.Object + ": " + l.Summary.Text("volume"),
		})
	}
	if len(m.Cells) == 0 {
		m.Summary = "the inventory has no " + q.Every + "; " + finding.Count(w.Summary.Total, "volume")
	}
	return m
}
