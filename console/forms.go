package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/schema/finding"
)

// form is a page with a form that writes: what it shows, and what it means.
type form struct {
	title, path string
	back        string // where a commit leads
	intro       string
	before      []page.Block
	fields      []page.Field
	consent     []page.Field // what a person allows, last
	actions     []page.Link
	failed      string // of what the form is about
	hidden      []page.Option
	writing     writing
	wrong       map[string]string   // what is wrong with a field by itself, by its name
	fieldOf     func(string) string // the name of the field for the path of a finding, "" for none
	guarded     string              // why it may not be, "" if it may: there is no button then
	first       string              // what the button of the preview says, "" for Preview
	stale       func() []page.Block // what others changed
}

// choose is in the place of why a form may not be, where it asks first which one is meant.
const choose = "choose one of these first"

// fill runs a form: shown, previewed or committed. read makes it of what was typed.
func fill(read func(x *exchange, values url.Values) (*form, *problem)) func(*exchange) {
	return func(x *exchange) {
		values, failed := x.request.URL.Query(), (*problem)(nil)
		if x.request.Method == http.MethodPost {
			if values, failed = x.form(); failed != nil && failed.Code != "csrf" {
				x.resend(values, failed)
				return
			}
		}
		if p := x.load(); p != nil {
			x.fail(p)
			return
		}
		f, missed := read(x, values)
		if missed != nil {
			x.fail(missed)
			return
		}
		x.run(f, values, failed)
	}
}

// run shows, previews or commits a form.
func (x *exchange) run(f *form, values url.Values, failed *problem) {
	var d *draft
	do := values.Get("do")
	switch {
	case x.request.Method != http.MethodPost || failed != nil:
	case f.guarded != "":
		failed = refuse(http.StatusUnprocessableEntity, "findings", "%s", f.guarded)
	case len(f.wrong) > 0:
		failed = refuse(http.StatusUnprocessableEntity, "findings", "%s", firstWrong(f))
	case do == "commit":
		var m *made
		if m, d, failed = x.server.commit(x.request.Context(), f.writing); failed == nil {
			x.redirect(f.back + "?committed=" + m.hash.String())
			return
		}
	default:
		d, failed = x.server.judge(x.View, f.writing)
	}
	p := &page.Page{Title: f.title, Intro: f.intro, Blocks: f.before, At: x.at(), Actions: f.actions}
	if f.failed != "" && x.request.Method != http.MethodPost {
		p.Alerts = append(p.Alerts, page.Notice{Text: f.failed})
	}
	status := http.StatusOK
	if failed != nil {
		status = failed.Status
		x.refused(p, f, failed, d)
	} else if f.guarded != "" && f.guarded != choose {
		p.Alerts = append(p.Alerts, page.Notice{Text: sentence(f.guarded)})
	}
	for i := range f.fields {
		if wrong := f.wrong[f.fields[i].Name]; wrong != "" && x.request.Method == http.MethodPost {
			f.fields[i].Error = sentence(wrong)
		}
	}
	if f.guarded == "" {
		buttons := []page.Button{{Text: cmp.Or(f.first, "Preview"), Name: "do", Value: "preview"}}
		if d != nil && failed == nil {
			buttons = []page.Button{{Text: "Commit", Name: "do", Value: "commit"}, {Text: "Preview", Name: "do", Value: "preview"}}
		}
		hidden := append(slices.Clone(f.hidden), page.Option{Text: "csrf", Value: x.server.sessions.formToken()})
		p.Blocks = append(p.Blocks, page.Block{Form: &page.Form{Label: f.title, Path: f.path, Post: true, Hidden: hidden, Fields: f.fields, Consent: f.consent, Buttons: buttons}})
	}
	if d != nil && failed == nil {
		if d.diff != "" {
			p.Blocks = append(p.Blocks, page.Block{Text: &page.Text{Heading: "Difference", Body: d.diff}})
		}
		p.Blocks = append(p.Blocks, planBlocks(x, &d.after.Plan)...)
		p.Notices = append(p.Notices, page.Notice{Text: "This is a preview: nothing has changed yet."})
	}
	x.showWith(status, p)
}

// at is the page of the navigation that a page belongs to.
func (x *exchange) at() string {
	for _, item := range x.server.navigation() {
		if path := x.request.URL.Path; path == item.Path || item.Path != "/" && strings.HasPrefix(path, item.Path+"/") {
			return item.Path
		}
	}
	return ""
}

// refused puts a refusal first, and at the fields that it is about.
func (x *exchange) refused(p *page.Page, f *form, failed *problem, d *draft) {
	alert := page.Notice{Text: sentence(failed.Detail)}
	switch failed.Code {
	case "csrf":
		alert.Link, alert.Tab = &page.Link{Text: "Sign in", Path: "/login"}, true
	case "stale":
		if f.stale != nil {
			p.Blocks = append(p.Blocks, f.stale()...)
		}
	}
	p.Alerts = append(p.Alerts, alert)
	if d == nil || d.after == nil {
		return
	}
	p.Blocks = append(p.Blocks, page.Block{Table: findingsTable(d.after.Findings)})
	if f.fieldOf == nil {
		return
	}
	for _, found := range d.after.Findings {
		if found.Severity != finding.Error {
			continue
		}
		name := f.fieldOf(found.Field)
		for i := range f.fields {
			if f.fields[i].Name == name && f.fields[i].Error == "" {
				f.fields[i].Error = sentence(found.Message)
			}
		}
	}
}

// firstWrong is what is wrong with the first field that something is wrong with.
func firstWrong(f *form) string {
	for _, field := range f.fields {
		if wrong := f.wrong[field.Name]; wrong != "" {
			return field.Label + ": " + wrong
		}
	}
	return "the form is not complete"
}

// resend shows a form as it was typed to somebody who is not signed in any more: nothing else is shown.
func (x *exchange) resend(values url.Values, failed *problem) {
	p := &page.Page{Title: titleOf(failed), Alerts: []page.Notice{{Text: sentence(failed.Detail), Link: &page.Link{Text: "Sign in", Path: "/login"}, Tab: true}}}
	f := &page.Form{Label: "As it was typed", Path: x.request.URL.EscapedPath(), Post: true, Buttons: []page.Button{{Text: "Preview", Name: "do", Value: "preview"}}}
	names := make([]string, 0, len(values))
	for name := range values {
		if name != "csrf" && name != "do" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "etag" || name == "type" {
			f.Hidden = append(f.Hidden, page.Option{Text: name, Value: values.Get(name)})
			continue
		}
		label := strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
		f.Fields = append(f.Fields, page.Field{Name: name, Label: label, Value: values.Get(name), Area: strings.Contains(values.Get(name), "\n")})
	}
	f.Hidden = append(f.Hidden, page.Option{Text: "csrf", Value: x.server.sessions.formToken()})
	if values != nil {
		p.Blocks = []page.Block{{Form: f}}
	}
	x.send(failed.Status, "text/html; charset=utf-8", x.server.theme.Draw(p))
}
