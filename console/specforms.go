package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/poolwright/poolwright/console/edit"
	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// yamlForm is the text of a spec, to be changed.
func yamlForm(x *exchange, values url.Values) (*form, *problem) {
	kind, namespace, name := x.named()
	s, near := x.SpecNamed(kind, namespace, name)
	if s == nil {
		return nil, missing("spec "+kind+" "+name, near, "specs", kind, nameSpace(namespace))
	}
	path := view.SpecLink(s.Object.Ref)
	seen, text := etag(s.Object), string(s.Object.Raw)
	if x.request.Method == http.MethodPost {
		seen, text = values.Get("etag"), strings.ReplaceAll(values.Get("yaml"), "\r\n", "\n")
	}
	f := &form{title: s.Object.Ref.String(), path: path + "/yaml", back: path, wrong: map[string]string{}, hidden: []page.Option{{Text: "etag", Value: etag(s.Object)}}}
	f.fields = []page.Field{{Name: "yaml", Label: "YAML", Value: text, Area: true, Help: fmt.Sprintf("In %s, line %d.", s.File, s.Line)}}
	f.writing = editSpec(kind, namespace, name, seen, func(files edit.Files, old *krm.Object) (edit.Files, error) {
		return edit.Replace(files, old, []byte(text))
	})
	if o, failed := x.parse([]byte(text)); failed != nil {
		f.wrong["yaml"] = failed.Detail
	} else if o.Ref != s.Object.Ref {
		f.wrong["yaml"] = fmt.Sprintf("it is %s now; a spec keeps its kind and its name", o.Ref)
	}
	f.stale = func() []page.Block {
		now := diff.Diff("now", s.Object.Raw, "as typed", []byte(text))
		return []page.Block{{Text: &page.Text{Heading: "The spec now, and as typed", Body: string(now)}}}
	}
	f.fieldOf = func(string) string { return "yaml" }
	if fs := x.FindingsOf(s.Object.Ref); len(fs) > 0 {
		f.before = []page.Block{{Table: findingsTable(fs)}}
	}
	return f, nil
}

// removeVolume is the page that deletes a volume.
func removeVolume(x *exchange, values url.Values) (*form, *problem) {
	v, near := x.VolumeNamed(x.names["name"])
	if v == nil {
		return nil, missing("Volume "+x.names["name"], near, "volumes")
	}
	f := &form{title: "Delete Volume " + v.Name, path: view.Path("volumes", v.Name, "delete"), back: "/volumes", guarded: string(v.Why)}
	f.before = []page.Block{{Facts: &page.Facts{Rows: []page.Fact{fact("Data", plain(v.Stock.Data)), fact("Bound by", plain(v.Claim)), fact("What happens", plain("The spec is taken out of the package. The agent of node "+string(v.Node)+" deletes the Volume once the engine has deleted the object."))}}}}
	x.removal(f, values, v.Stock.Object.Kind, v.Name, false)
	return f, nil
}

// removeGroup is the page that deletes a group with its volumes.
func removeGroup(x *exchange, values url.Values) (*form, *problem) {
	g, near := x.GroupNamed(x.names["name"])
	if g == nil {
		return nil, missing("Volume Group "+x.names["name"], near, "volumegroups")
	}
	f := &form{title: "Delete Volume Group " + g.Name, path: view.Path("volumegroups", g.Name, "delete"), back: "/volumegroups", guarded: string(g.Why)}
	t := &page.Table{Caption: "Goes with it", Columns: columns("Volume|Claim|~Data"), Empty: page.Notice{Text: "No Volume is in the group."}}
	for _, v := range x.Volumes() {
		if v.Stock.Group != g.Stock.LVM || v.Stock.Node != g.Stock.Node {
			continue
		}
		t.Rows = append(t.Rows, []page.Cell{link(v.Name, view.Path("volumes", v.Name)), plain(v.Claim), plain(v.Stock.Data)})
		if v.Claim != "" {
			f.guarded = fmt.Sprintf("the Volume %s in it is bound to the claim %s; delete the claim first", v.Name, v.Claim)
		}
	}
	f.before = []page.Block{{Table: t}}
	if g.Stock.Cascade != "" {
		x.allowCascade(f, values, g)
		return f, nil
	}
	x.removal(f, values, g.Stock.Object.Kind, g.Name, true)
	return f, nil
}

// allowCascade makes a form let the volumes of a group go with it: vet reads that from the lock, so that it is a commit
// of its own.
func (x *exchange) allowCascade(f *form, values url.Values, g *view.Group) {
	s, _ := x.SpecNamed(g.Stock.Object.Kind, "", g.Name)
	if s == nil {
		return
	}
	x.removal(f, values, s.Kind, s.Name, false)
	f.guarded, f.first, f.back = "", "Allow cascade", f.path
	f.intro = "Volumes of the group exist in the cluster, so that it cannot go alone. First allow that they go with it; then push, have it applied, and delete the group."
	seen := etag(s.Object)
	if x.request.Method == http.MethodPost {
		seen = values.Get("etag")
	}
	f.writing = editSpec(s.Kind, "", s.Name, seen, func(files edit.Files, old *krm.Object) (edit.Files, error) {
		wanted := old.Node.Made()
		annotations := document.Object()
		if now := wanted.Get("metadata", "annotations"); now != nil {
			annotations = now.Copy()
		}
		annotations.Set(g.Stock.Cascade, document.Text("true"))
		krm.SetPath(&wanted, annotations, "metadata", "annotations")
		return edit.Patch(files, old, &wanted)
	})
}

// removal makes a form take a spec out.
func (x *exchange) removal(f *form, values url.Values, kind, name string, cascade bool) {
	s, _ := x.SpecNamed(kind, "", name)
	if s == nil {
		return
	}
	seen := etag(s.Object)
	if x.request.Method == http.MethodPost {
		seen = values.Get("etag")
	}
	f.hidden = []page.Option{{Text: "etag", Value: etag(s.Object)}}
	f.writing = removeSpecs(kind, "", name, seen, cascade)
}

// renderForm commits what a render changes.
func renderForm(_ *exchange, _ url.Values) (*form, *problem) {
	return &form{title: "Plan", path: "/plan", back: "/plan", writing: renderOnly()}, nil
}
