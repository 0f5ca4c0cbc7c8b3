package plan

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// maxComment is the limit of a comment in bytes. GitHub takes 65,536 characters, and a comment often
// gets a line of its pipeline, too. Half of it is for the table, and a quarter for one diff at most.
const maxComment = 64_000

func (p *Plan) most() int {
	if p.Most > 0 {
		return p.Most
	}
	return maxComment
}

// Markdown writes the plan as a comment on a pull request. What does not fit is
// left out, the safest first, and a line says so.
func (p *Plan) Markdown() string {
	var b strings.Builder
	against := "`" + strings.ReplaceAll(terminal.Printable(p.Against), "`", "'") + "`"
	fmt.Fprintf(&b, "### Poolwright plan: %s\n\n", p.verdict())
	if p.verdict() == refused && len(p.Changes) == 0 {
		fmt.Fprintf(&b, "Fix the errors first: until then, the changes against %s are unknown.\n", against)
	} else {
		fmt.Fprintf(&b, "%s, against %s.\n", capital(p.Summary()), against)
	}
	b.WriteString(p.warnings())
	if p.Picture != "" {
		link, _ := PictureLink(p.Picture) // checked with the flags
		b.WriteString("\n" + link + "\n")
	}
	if len(p.Changes) == 0 {
		return b.String()
	}
	b.WriteString("\n| risk | action | object | why |\n|---|---|---|---|\n")
	for i, c := range p.Changes {
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", shownRisk(c.Risk), c.Action, codeSpan(c.Ref.String())+escape(p.Mark(c)), escape(reasons(c)))
		if b.Len()+len(row) > p.most()/2 {
			fmt.Fprintf(&b, "\n%s more, the safest, left out of this table; `poolwright plan` prints all.\n", finding.Count(len(p.Changes)-i, "change"))
			break
		}
		b.WriteString(row)
	}
	const note = "\n%s of the safest changes left out, for a comment has at most 65,536 characters; `poolwright plan` prints all.\n"
	for i, c := range p.Changes {
		block := p.details(c)
		if b.Len()+len(block)+len(note)+20 > p.most() {
			fmt.Fprintf(&b, note, finding.Count(len(p.Changes)-i, "diff"))
			break
		}
		b.WriteString(block)
	}
	return b.String()
}

// PictureLink shows a picture in Markdown: one on the web, or beside the file that the
// comment is kept in.
func PictureLink(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.String() == "" || len(u.String()) > 2000 {
		return "", fmt.Errorf("--picture %q is no URL of a picture: write one that begins with https://, or a path", text)
	}
	plain := strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "[", "%5B", "]", "%5D", "|", "%7C", "`", "%60")
	return "![The storage](" + plain.Replace(u.String()) + ")", nil
}

// warnings is a list of the errors, and then of the warnings, many of one kind folded.
func (p *Plan) warnings() string {
	var b strings.Builder
	left := 0
	item := func(severity finding.Severity, said string) {
		line := fmt.Sprintf("- **%s** %s\n", severity, escape(said))
		if left > 0 || b.Len()+len(line) > p.most()/4 {
			left++
			return
		}
		b.WriteString(line)
	}
	kept, more := p.Findings, []finding.More(nil)
	if !p.Verbose {
		kept, more = finding.Fold(p.Findings, finding.Few)
	}
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		for _, f := range kept {
			if f.Severity == severity {
				said := finding.Finding{Object: f.Object, Field: f.Field, Message: f.Message}
				item(severity, strings.TrimPrefix(said.String(), ": "))
			}
		}
		for _, m := range more {
			if m.Severity == severity {
				item(severity, strings.TrimPrefix(m.Line("poolwright plan -v prints all"), string(severity)+": "))
			}
		}
	}
	switch {
	case left > 0:
		fmt.Fprintf(&b, "\n%s more left out.\n", finding.Count(left, "line"))
	case b.Len() == 0:
		return ""
	}
	return "\n" + b.String()
}

// RuleOtherPackage is the rule of a finding that asks whether another package renders what this one does not.
const RuleOtherPackage = "other-package"

// IsOpenQuestion reports whether a finding waits for the flag --prune.
func IsOpenQuestion(f finding.Finding) bool { return f.Rule == RuleOtherPackage }

// refused is the verdict on what cannot be judged before errors are corrected.
const refused = "refused"

// verdict is the plan in a few words.
func (p *Plan) verdict() string {
	switch n := p.Tally(); {
	case finding.Failed(slices.DeleteFunc(slices.Clone(p.Findings), IsOpenQuestion)):
		return refused
	case finding.Failed(p.Findings):
		return "undecided"
	case n.Destructive > 0:
		return "data can be lost"
	case n.Disruptive > 0:
		return "disruptive"
	case len(p.Changes) > 0 || p.Files > 0:
		return "safe"
	}
	return "no changes"
}

func shownRisk(r change.Risk) string {
	if r == change.Safe {
		return string(r)
	}
	return "**" + string(r) + "**"
}

// reasons joins the gravest reasons of a change; the diff has the rest.
func reasons(c *change.Change) string {
	var texts []string
	said := map[string]bool{}
	for _, r := range c.Reasons {
		if r.Risk == c.Risk && !said[r.Text] {
			texts = append(texts, r.Text)
		}
		said[r.Text] = true
	}
	const most = 3
	if len(texts) > most {
		texts = append(texts[:most], fmt.Sprintf("and %d more", len(texts)-most))
	}
	return strings.Join(texts, "; ")
}

// details is what differs in one object, to be unfolded.
func (p *Plan) details(c *change.Change) string {
	var diff strings.Builder
	switch c.Action {
	case change.Create:
		diffLines(&diff, "+ ", c.New.Node)
	case change.Remove:
		diffLines(&diff, "- ", c.Old.Node)
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		terminal.Printf(&diff, "@@ %s @@\n", f.Path)
		if f.Old != nil {
			diffLines(&diff, "- ", f.Old)
		}
		if f.New != nil {
			diffLines(&diff, "+ ", f.New)
		}
	}
	text, rest := diff.String(), ""
	if most := p.most() / 4; len(text) > most {
		end := strings.LastIndexByte(text[:most], '\n') + 1
		rest = fmt.Sprintf("\n%s more left out.\n", finding.Count(strings.Count(text[end:], "\n"), "line"))
		text = text[:end]
	}
	fence := fenceFor(text)
	return fmt.Sprintf("\n<details><summary>%s: %s <code>%s</code></summary>\n\n%sdiff\n%s%s\n%s\n</details>\n",
		c.Risk, c.Action, escape(c.Ref.String()), fence, text, fence, rest)
}

// codeSpan writes a name so that it calls nobody and links nothing, in a table as well.
func codeSpan(name string) string {
	name = strings.ReplaceAll(terminal.Printable(name), "|", `\|`)
	longest, run := 0, 0
	for _, r := range name {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		name = " " + name + " "
	}
	return fence + name + fence
}

func diffLines(b *strings.Builder, mark string, n *document.Node) {
	for line := range strings.Lines(string(document.Append(nil, n, 0))) {
		b.WriteString(mark + terminal.Printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
}

// fenceFor is a fence that no line of a text can close.
func fenceFor(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// escape writes a text so that Markdown shows it as it is, in a table as well, and
// what is not visible as in Go.
func escape(text string) string {
	var b strings.Builder
	for _, r := range terminal.Printable(text) {
		switch {
		case r == '@':
			b.WriteString("@\u200b") // nobody is called
		case strings.ContainsRune("\\`*_{}[]<>#!|~&", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
