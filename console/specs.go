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
		Empty: page.Notice{Text: "There is no spec in this package, so nothing is rendered. poolwright init writes one."},
	}
	return &page.Page{Title: "Specs", Blocks: []page.Block{tabulate(x, t, x.Specs(), specText, func(s *view.Spec) []page.Cell {
		name := s.Name
		if s.Namespace != "" {
			name = string(s.Namespace) + "/" + name
		}
		return []page.Cell{plain(s.Kind), link(name, view.SpecLink(s.Object.Ref)), code(s.File), phase(s.State), number(s.Findings)}
	})}}, nil
}

func specPage(x *exchange) (*page.Page, *problem) {
	kind, namespace, name := x.names["kind"], x.names["namespace"], x.names["name"]
	s, near := x.SpecNamed(kind, strings.TrimPrefix(namespace, "-"), name)
	if s == nil {
		return nil, missing("spec "+kind+" "+name, near, "specs", kind, namespace)
	}
	p := &page.Page{Title: s.Object.Ref.String()}
	alertState(p, s.State, s.Reason, s.Message)
	p.Blocks = []page.Block{{Facts: &page.Facts{Rows: []page.Fact{
		fact("State", phase(s.State)), fact("Reason", plain(s.Reason)), fact("Message", plain(s.Message)), fact("File", code(fmt.Sprintf("%s:%d", s.File, s.Line))),
	}}}}
	if t := findingsTable(x.FindingsOf(s.Object.Ref)); len(t.Rows) > 0 {
		p.Blocks = append(p.Blocks, page.Block{Table: t})
	}
	p.Actions = []page.Link{{Text: "Edit YAML", Path: view.SpecLink(s.Object.Ref) + "/yaml"}}
	p.Blocks = append(p.Blocks, page.Block{Text: &page.Text{Heading: "YAML", Body: string(s.Object.Raw)}})
	return p, nil
}

// alertState puts a failure first.
func alertState(p *page.Page, phase health.Phase, reason, message view.Text) {
	if phase == health.Error {
		p.Alerts = append(p.Alerts, page.Notice{Text: fmt.Sprintf("%s, %s: %s", phase, reason, sentence(string(message)))})
	}
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
