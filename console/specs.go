package console

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

func specText(s *view.Spec) string {
	return strings.Join([]string{s.Kind, string(s.Namespace), s.Name, s.File, string(s.State), string(s.Reason)}, " ")
}

func statusText(s *health.StatusRecord) string {
	return strings.Join([]string{s.Spec.Kind, s.Spec.Namespace, s.Spec.Name, string(s.Phase), s.Reason, s.Message}, " ")
}

func specsPage(x *exchange) (*page.Page, *problem) {
	t := page.Table{
		Caption: "Specs", Columns: columns("Kind|Name|File|State|#Findings"),
		Empty: page.Notice{Text: "There is no spec in this package, so nothing is rendered.", Link: &page.Link{Text: "New spec", Path: "/specs/new"}},
	}
	return &page.Page{Title: "Specs", Actions: []page.Link{{Text: "New spec", Path: "/specs/new"}}, Blocks: []page.Block{tabulate(x, t, x.Specs(), specText, func(s *view.Spec) []page.Cell {
		name := s.Name
		if s.Namespace != "" {
			name = string(s.Namespace) + "/" + name
		}
		return []page.Cell{plain(s.Kind), link(name, view.SpecLink(s.Object.Ref)), code(s.File), phase(s.State), number(s.Findings)}
	})}}, nil
}

// alertState puts a failure first.
func alertState(p *page.Page, phase health.Phase, reason, message view.Text) {
	if text := failure(phase, reason, message); text != "" {
		p.Alerts = append(p.Alerts, page.Notice{Text: text})
	}
}

// failure is what has failed, in a sentence, "" for nothing.
func failure(phase health.Phase, reason, message view.Text) string {
	if phase != health.Error {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s", phase, reason, sentence(string(message)))
}

// findingsTable is findings with their places.
func findingsTable(fs []finding.Finding) *page.Table {
	t := &page.Table{Caption: "Findings", Columns: columns("Severity|Where|Field|~Message"), Empty: page.Notice{Text: "There is no finding."}}
	tones := map[finding.Severity]string{finding.Error: "bad", finding.Warning: "busy", finding.Info: "idle"}
	for _, f := range fs {
		where := f.Pos.File
		if f.Pos.Line > 0 {
			where += fmt.Sprintf(":%d", f.Pos.Line)
		}
		t.Rows = append(t.Rows, []page.Cell{{Text: string(f.Severity), State: tones[f.Severity]}, code(where), code(f.Field), plain(f.Message)})
	}
	return t
}
