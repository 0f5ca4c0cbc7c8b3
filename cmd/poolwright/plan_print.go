package main

import "io"

// print writes the plan in the form that -o names.
func (p *planning) print(w io.Writer, form format) error {
	switch form {
	case asMarkdown:
		_, err := io.WriteString(w, p.Markdown())
		return err
	case asText:
		return p.Table(w)
	}
	return printAs(w, form, p.Record())
}
