package main

import (
	"cmp"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/terminal"
)

// printField explains KIND.PATH: what may be written there.
func printField(s program, schemas *schema.Schemas, name, output string) error {
	kind, path, _ := strings.Cut(name, ".")
	for _, known := range schemas.Names() { // of two kinds with one name, the group is a part of it
		if rest, found := strings.CutPrefix(strings.ToLower(name), strings.ToLower(known)+"."); found {
			kind, path = known, name[len(name)-len(rest):]
		}
	}
	f, err := schemas.Field(kind, strings.Split(path, ".")...)
	if err != nil {
		return usage("%v", err)
	}
	switch format(output) {
	case asText:
		return explainField(s.out, kind, path, &f)
	case asJSON, asYAML:
		return printAs(s.out, format(output), f)
	}
	return usage("-o %s: a field is printed as text, or with -o json or yaml", output)
}

func explainField(w io.Writer, kind, path string, f *schema.Field) error {
	var b strings.Builder
	terminal.Printf(&b, "%s %s\n\n", kind, path)
	facts := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fact := func(name, value string) {
		if value != "" {
			terminal.Printf(facts, "  %s\t%s\n", name, value)
		}
	}
	fact("type", f.Type+map[bool]string{true: ", required"}[f.Required])
	fact("default", f.Default)
	fact("values", strings.Join(f.Values, ", "))
	fact("form", f.Form)
	_ = facts.Flush() // a builder takes everything
	if f.Doc != "" {
		terminal.Printf(&b, "\n%s\n", wrap(f.Doc))
	}
	if len(f.Fields) > 0 {
		b.WriteByte('\n')
		rows := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		terminal.Printf(rows, "FIELD\tTYPE\tDEFAULT\tWHAT IT IS\n")
		for i := range f.Fields {
			below := &f.Fields[i]
			terminal.Printf(rows, "%s\t%s\t%s\t%s\n", below.Name, below.Type, cmp.Or(below.Default, map[bool]string{true: "(required)"}[below.Required], "-"), firstSentence(below.Doc))
		}
		_ = rows.Flush()
	}
	terminal.Printf(&b, "\nExample:\n")
	for line := range strings.Lines(f.Example()) {
		b.WriteString("  " + line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func firstSentence(doc string) string {
	first, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(first, ".")
}
