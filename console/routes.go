package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema"
)

// route is a path with a method. The table of them is the only list: what is served, the navigation, the header
// Allow and the OpenAPI document come from it.
type route struct {
	method, path string // with {names}
	summary      string
	nav          string // what the navigation calls it; "" for not at all
	open         bool   // for those who are not signed in, too
	result       any    // a value of the type that it answers programs with; nil for a page
	listed       bool   // the answer is a page of a list of these
	serve        func(*exchange)

	parts []string // of the path
}

// table lists the routes.
func (s *Server) table() []route {
	routes := []route{
		s.page("/", "Overview", overviewPage),
		s.page("/disks", "Disks", disksPage),
		s.page("/disks/{node}/{name}", "", diskPage),
		s.page("/specs", "Specs", specsPage),
		s.form(http.MethodGet, "/specs/new", newSpecForm),
		s.form(http.MethodPost, "/specs/new", newSpecForm),
		s.form(http.MethodGet, "/specs/{kind}/{namespace}/{name}", specForm),
		s.form(http.MethodPost, "/specs/{kind}/{namespace}/{name}", specForm),
		s.form(http.MethodGet, "/specs/{kind}/{namespace}/{name}/yaml", yamlForm),
		s.form(http.MethodPost, "/specs/{kind}/{namespace}/{name}/yaml", yamlForm),
		s.page("/volumes", "Volumes", volumesPage),
		s.form(http.MethodGet, "/volumes/new", volumeForm), // before the volume of a name
		s.form(http.MethodPost, "/volumes/new", volumeForm),
		s.page("/volumes/{name}", "", volumePage),
		s.form(http.MethodGet, "/volumes/{name}/delete", removeVolume),
		s.form(http.MethodPost, "/volumes/{name}/delete", removeVolume),
		s.page("/volumegroups", "Volume Groups", groupsPage),
		s.form(http.MethodGet, "/volumegroups/new", groupForm),
		s.form(http.MethodPost, "/volumegroups/new", groupForm),
		s.page("/volumegroups/{name}", "", groupPage),
		s.form(http.MethodGet, "/volumegroups/{name}/delete", removeGroup),
		s.form(http.MethodPost, "/volumegroups/{name}/delete", removeGroup),
		s.page("/pools", "Pools", poolsPage),
		s.page("/plan", "Plan", planPage),
		s.form(http.MethodPost, "/plan", renderForm),
		s.page("/what-if", "What-if", whatIfPage),
		s.page("/history", "History", historyPage),
		s.form(http.MethodGet, "/history/{commit}/revert", revertForm),
		s.form(http.MethodPost, "/history/{commit}/revert", revertForm),
		{method: http.MethodGet, path: "/pools.svg", serve: s.loaded(func(x *exchange) { x.send(http.StatusOK, "image/svg+xml", x.Picture()) })},
		{method: http.MethodGet, path: "/login", open: true, serve: login},
		{method: http.MethodGet, path: "/assets/{hash}/{name}", open: true, serve: asset},
		{method: http.MethodGet, path: "/healthz", summary: "Whether the process works", open: true, result: "", serve: func(x *exchange) { x.send(http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n")) }},
		{method: http.MethodGet, path: "/openapi.json", summary: "This document", open: true, result: map[string]any{}, serve: func(x *exchange) { x.send(http.StatusOK, "application/json", s.describe()) }},
		s.api("overview", "What waits for a person, and counts", view.Overview{}, func(x *exchange) any { return x.Overview() }),
		s.api("plan", "What a render would change, as poolwright plan -o json", plan.Record{}, func(x *exchange) any { return x.Plan.Record() }),
		listOf(s, "disks", "The disks that nodes report", func(x *exchange) ([]view.Disk, error) { return x.Disks(), nil }, diskText),
		listOf(s, "specs", "What people wrote", func(x *exchange) ([]view.Spec, error) { return x.Specs(), nil }, specText),
		s.spec(http.MethodPost, "/api/v1/specs", "Add a spec: one object, as YAML or JSON", Written{}, postSpec),
		s.spec(http.MethodGet, oneSpec, "A spec, with its ETag", map[string]any{}, answerSpec),
		s.spec(http.MethodPut, oneSpec, "Change a spec", Written{}, putSpec),
		s.spec(http.MethodDelete, oneSpec, "Take a spec out; with ?cascade=true its volumes, too", Written{}, deleteSpec),
		listOf(s, "volumes", "Volumes of nodes", func(x *exchange) ([]view.Volume, error) { return x.Volumes(), nil }, volumeText),
		listOf(s, "volumegroups", "Volume groups of nodes", func(x *exchange) ([]view.Group, error) { return x.Groups(), nil }, groupText),
		listOf(s, "pools", "Pools of all systems", func(x *exchange) ([]view.Pool, error) { return x.Pools(), nil }, poolText),
		listOf(s, "status", "The health of each spec, as poolwright status -o json, the worst first", func(x *exchange) ([]health.StatusRecord, error) {
			return health.StatusRecords(x.Statuses()), nil
		}, statusText),
		listOf(s, "tree", "Dependencies from claims to disks, as poolwright tree -o json", func(x *exchange) ([]health.TreeRecord, error) { return health.TreeRecords(x.Trees()), nil }, treeText),
		listOf(s, "history", "The commits that changed the package", func(x *exchange) ([]Commit, error) { return x.records() }, commitText),
	}
	for i := range routes {
		routes[i].parts = strings.Split(routes[i].path, "/")
	}
	return routes
}

// page is the route of a page; title is what the navigation calls it.
func (s *Server) page(path, title string, make func(*exchange) (*page.Page, *problem)) route {
	return route{method: http.MethodGet, path: path, nav: title, serve: s.loaded(func(x *exchange) {
		p, failed := make(x)
		if failed != nil {
			x.fail(failed)
			return
		}
		p.At = x.at()
		x.show(p)
	})}
}

// form is a route of a form. One that is posted says itself who is not signed in: what was typed must not be lost.
func (s *Server) form(method, path string, read func(*exchange, url.Values) (*form, *problem)) route {
	return route{method: method, path: path, open: method == http.MethodPost, serve: fill(read)}
}

// api is the route of a value for programs.
func (s *Server) api(name, summary string, result any, value func(*exchange) any) route {
	return route{method: http.MethodGet, path: "/api/v1/" + name, summary: summary, result: result, serve: s.loaded(func(x *exchange) { x.write(http.StatusOK, value(x)) })}
}

// oneSpec is the path of a spec. The namespace of a kind that has none is -.
const oneSpec = "/api/v1/specs/{kind}/{namespace}/{name}"

// spec is the route of a spec for programs.
func (s *Server) spec(method, path, summary string, result any, serve func(*exchange)) route {
	return route{method: method, path: path, summary: summary, result: result, serve: s.loaded(serve)}
}

// listOf is the route of a list for programs.
func listOf[T any](s *Server, name, summary string, items func(*exchange) ([]T, error), text func(*T) string) route {
	return route{method: http.MethodGet, path: "/api/v1/" + name, summary: summary, result: *new(T), listed: true, serve: s.loaded(func(x *exchange) {
		all, err := items(x)
		if err != nil {
			x.fail(refuse(http.StatusInternalServerError, "internal", "%v", err))
			return
		}
		list, failed := cut(all, text, x.request.URL.Query())
		if failed != nil {
			x.fail(failed)
			return
		}
		x.write(http.StatusOK, list)
	})}
}

// loaded reads the package before it is shown.
func (s *Server) loaded(serve func(*exchange)) func(*exchange) {
	return func(x *exchange) {
		if p := x.load(); p != nil {
			x.fail(p)
			return
		}
		serve(x)
	}
}

// navigation are the pages that the navigation names.
func (s *Server) navigation() []page.Item {
	var items []page.Item
	for i := range s.routes {
		if r := &s.routes[i]; r.nav != "" {
			items = append(items, page.Item{Path: r.path, Title: r.nav})
		}
	}
	return items
}

// find is the route of a request, and what the path names. Without one, allow lists the methods that the path has.
func (s *Server) find(method, path string) (found *route, names map[string]string, allow string) {
	parts := strings.Split(path, "/")
	var methods []string
	for i := range s.routes {
		r := &s.routes[i]
		matched, matches := r.match(parts)
		if !matches {
			continue
		}
		if r.method == method || r.method == http.MethodGet && method == http.MethodHead {
			return r, matched, ""
		}
		if methods = append(methods, r.method); r.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return nil, nil, strings.Join(slices.Compact(methods), ", ")
}

// match compares a path, of which each part is escaped. A part that is a name is any text but "", . and ..
func (r *route) match(parts []string) (names map[string]string, matches bool) {
	if len(parts) != len(r.parts) {
		return nil, false
	}
	for i, want := range r.parts {
		if !strings.HasPrefix(want, "{") {
			if parts[i] != want {
				return nil, false
			}
			continue
		}
		text, err := url.PathUnescape(parts[i])
		if err != nil || text == "" || text == "." || text == ".." {
			return nil, false
		}
		if names == nil {
			names = map[string]string{}
		}
		names[strings.Trim(want, "{}")] = text
	}
	return names, true
}

// unknown is the problem of a path that nothing has.
func (s *Server) unknown(path string) *problem {
	var paths []string
	for i := range s.routes {
		if r := &s.routes[i]; !strings.Contains(r.path, "{") && isAPI(r.path) == isAPI(path) {
			paths = append(paths, r.path)
		}
	}
	near := schema.DidYouMean(path, paths)
	p := refuse(http.StatusNotFound, "not-found", "there is no %s%s", path, near)
	if _, quoted, found := strings.Cut(near, `"`); found {
		p.near = quoted[:strings.Index(quoted, `"`)]
	}
	return p
}

// login signs a browser in by the token of the link that the command printed.
func login(x *exchange) {
	token := x.request.URL.Query().Get("token")
	if token == "" {
		x.fail(refuse(http.StatusUnauthorized, "unauthenticated", "open the link that poolwright console printed, which has a token"))
		return
	}
	if p := x.server.admit(token); p != nil {
		x.fail(p)
		return
	}
	x.server.sessions.start(x.writer)
	x.redirect("/")
}

// asset answers with a file of the pages.
func asset(x *exchange) {
	a, found := x.server.theme.Asset(x.request.URL.Path)
	if !found {
		x.fail(x.server.unknown(x.request.URL.Path))
		return
	}
	x.writer.Header().Set("Cache-Control", "public, max-age=31536000, immutable") // the path has the hash of the content
	x.send(http.StatusOK, a.Type, a.Data)
}
