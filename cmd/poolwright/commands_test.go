package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommands holds that docs/commands.md says what the commands say of themselves.
// With -update it is written.
func TestCommands(t *testing.T) {
	const page = "../../docs/commands.md"
	want := reference(newRoot(program{streams: streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, function: poolwright()}))
	if *update {
		if err := os.WriteFile(page, want, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the commands say of themselves; run \"make generate\"", page)
	}
}

// reference writes the page of all commands.
func reference(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Made by \"make generate\" from the commands: do not edit. -->\n# Commands\n\n")
	paragraphs(&b, root.Long)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, "- [%s](#%s): %s\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
		}
	}
	b.WriteString("\n")
	fence(&b, root.Example)
	b.WriteString("All of them take:\n\n")
	fence(&b, root.PersistentFlags().FlagUsages())
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		c.InitDefaultHelpFlag()
		fmt.Fprintf(&b, "## %s\n\n", c.CommandPath())
		paragraphs(&b, c.Long)
		fence(&b, c.UseLine())
		fence(&b, c.Example)
		fence(&b, c.LocalFlags().FlagUsages())
		for _, sub := range c.Commands() {
			fmt.Fprintf(&b, "- `%s`: %s\n", sub.CommandPath(), sub.Short)
		}
		if c.HasSubCommands() {
			b.WriteString("\n")
		}
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// paragraphs writes help as Markdown: what is set in stays so.
func paragraphs(b *bytes.Buffer, text string) {
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	b.WriteString("\n")
}

func fence(b *bytes.Buffer, text string) {
	if text = strings.Trim(text, "\n"); text != "" {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", text)
	}
}
