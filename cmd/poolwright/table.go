package main

import (
	"io"
	"strings"
	"text/tabwriter"

	"github.com/poolwright/poolwright/terminal"
)

// row is a line of a table. On a terminal its first cell has the colour.
type row struct {
	color string
	cells []string
}

// printTable prints a header and rows in columns.
func printTable(w io.Writer, header []string, rows []row) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(cells []string) {
		for _, cell := range cells[:len(cells)-1] {
			terminal.Printf(t, "%s\t", cell)
		}
		terminal.Printf(t, "%s\n", cells[len(cells)-1])
	}
	line(header)
	for _, r := range rows {
		line(r.cells)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	color := terminal.HasColor(w)
	at := -1 // the header
	for line := range strings.Lines(text.String()) {
		if at >= 0 && color {
			word := rows[at].cells[0]
			line = rows[at].color + word + terminal.Plain + strings.TrimPrefix(line, word)
		}
		at++
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}
