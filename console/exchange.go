package console

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/service/web"
)

// exchange is one request and its answer.
type exchange struct {
	*state  // the package; nil for what needs none
	server  *Server
	request *http.Request
	writer  http.ResponseWriter
	names   map[string]string // from the path
	status  int
}

// ServeHTTP answers a request, and logs it without its query, which may have the token.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	x := &exchange{server: s, request: r, writer: w}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			s.config.Log.Error("panic", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if x.status == 0 {
				x.fail(refuse(http.StatusInternalServerError, "internal", "this is a mistake in Poolwright, please report it; the log of the console has the details"))
			}
		}
		s.config.Log.Info("request", "method", r.Method, "path", r.URL.Path, "code", x.status, "duration", time.Since(begun))
	}()
	protect(w.Header())
	if p := s.guard(r); p != nil {
		x.fail(p)
		return
	}
	found, names, allow := s.find(r.Method, r.URL.EscapedPath())
	x.names = names
	if found == nil || !found.open {
		if p := s.authenticate(r); p != nil {
			x.fail(p)
			return
		}
	}
	switch {
	case found != nil:
		found.serve(x)
	case allow != "":
		w.Header().Set("Allow", allow)
		x.fail(refuse(http.StatusMethodNotAllowed, "method", "%s %s is not supported; use %s", r.Method, r.URL.Path, allow))
	default:
		x.fail(s.unknown(r.URL.Path))
	}
}

// load reads the package. The problem says why it cannot be shown.
func (x *exchange) load() *problem {
	now, err := x.server.source.now()
	var usage *folder.UsageError
	switch {
	case errors.As(err, &usage):
		return refuse(http.StatusNotFound, "not-found", "%v", err)
	case err != nil:
		return refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	x.state = now
	return nil
}

// fail answers with a problem: to a program as JSON, to a person as a page.
func (x *exchange) fail(p *problem) {
	if p.Status == http.StatusTooManyRequests {
		x.writer.Header().Set("Retry-After", "60")
	}
	if isAPI(x.request.URL.Path) {
		if p.Status == http.StatusUnauthorized {
			x.writer.Header().Set("WWW-Authenticate", "Bearer")
		}
		x.send(p.Status, "application/problem+json", p.json())
		return
	}
	shown := &page.Page{Title: titleOf(p), Alerts: []page.Notice{{Text: sentence(p.Detail)}}}
	if p.near != "" {
		shown.Alerts[0].Link = &page.Link{Text: "Did you mean " + p.near + "?", Path: p.near}
	}
	if p.Status == http.StatusNotFound || p.Status == http.StatusMethodNotAllowed {
		shown.Nav = x.server.navigation()
	}
	x.send(p.Status, "text/html; charset=utf-8", x.server.theme.Draw(shown))
}

func titleOf(p *problem) string {
	switch p.Status {
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		return "Sign in"
	case http.StatusInternalServerError:
		return "Failure"
	}
	return http.StatusText(p.Status)
}

// sentence begins a message with a capital, and ends it.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// show answers with a page.
func (x *exchange) show(p *page.Page) { x.showWith(http.StatusOK, p) }

func (x *exchange) showWith(status int, p *page.Page) {
	p.Status = x.outcome()
	p.Nav = x.server.navigation()
	p.Foot = x.foot()
	p.Alerts = append(p.Alerts, x.unread()...)
	p.Notices = append(p.Notices, x.notices()...)
	x.send(status, "text/html; charset=utf-8", x.server.theme.Draw(p))
}

// outcome says which commit a person has just made, and what comes next; "" for none.
func (x *exchange) outcome() string {
	hash := x.request.URL.Query().Get("committed")
	if hash == "" {
		return ""
	}
	all, _ := x.commits()
	for _, e := range all {
		if e.Hash.String() == hash {
			subject, _, _ := strings.Cut(e.Message, "\n")
			return fmt.Sprintf("Committed %s: %s. Next: push the branch; then the engine applies it.", hash[:shortHash], subject)
		}
	}
	return ""
}

// unread are the alerts about files that cannot be read.
func (x *exchange) unread() []page.Notice {
	errs := x.Unread()
	if len(errs) == 0 {
		return nil
	}
	n := page.Notice{Text: "Part of the package cannot be read, so nothing new is rendered. Correct these files:"}
	for _, f := range errs {
		n.List = append(n.List, f.String())
	}
	return []page.Notice{n}
}

const staleAfter = 24 * time.Hour

// notices are about what holds for all pages.
func (x *exchange) notices() (all []page.Notice) {
	if x.readOnly != nil {
		all = append(all, page.Notice{Text: "Nothing can be changed here: " + x.readOnly.Error() + "."})
	}
	if age := x.server.config.Now().Sub(x.facts); !x.facts.IsZero() && age > staleAfter {
		all = append(all, page.Notice{Text: "The inventory is " + ageText(age) + " old, and may no longer be what the cluster is. Run poolwright inventory -o " + x.server.config.Dir + "/inventory, and commit it."})
	}
	return all
}

// foot says what the page was made from.
func (x *exchange) foot() *page.Foot {
	f := &page.Foot{Facts: "Facts: no inventory", Head: "Commit: none", Version: x.server.config.Version}
	if !x.facts.IsZero() {
		f.Facts = "Facts: inventory, " + ageText(x.server.config.Now().Sub(x.facts)) + " old"
	}
	if !x.head.IsZero() {
		f.Head = "Commit: " + x.head.String()[:shortHash]
	}
	return f
}

// shortHash is how many digits of a commit are shown, as git does.
const shortHash = 7

// ageText is a time in its largest unit, in words.
func ageText(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(d / unit.size); n > 1 {
			return fmt.Sprintf("%d %ss", n, unit.name)
		} else if n == 1 {
			return "1 " + unit.name
		}
	}
	return "less than a minute"
}

// write answers a program.
func (x *exchange) write(status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // all of it are texts, numbers, lists and maps
	}
	x.send(status, "application/json", append(text, '\n'))
}

// send writes the answer, packed if the client takes that.
func (x *exchange) send(status int, mediaType string, text []byte) {
	x.status = status
	h := x.writer.Header()
	h.Set("Content-Type", mediaType)
	h.Add("Vary", "Accept-Encoding")
	const worthPacking = 1400 // what fits in one packet is not packed
	if len(text) > worthPacking && web.AcceptsGzip(x.request) {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is a valid one
		_, _ = z.Write(text)                                 // a buffer takes everything
		_ = z.Close()
		h.Set("Content-Encoding", "gzip")
		text = packed.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.writer.WriteHeader(status)
	if x.request.Method != http.MethodHead {
		_, _ = x.writer.Write(text) // a client may be gone
	}
}

// redirect leads to a path of the console.
func (x *exchange) redirect(path string) {
	x.status = http.StatusSeeOther
	x.writer.Header().Set("Location", path)
	x.writer.WriteHeader(http.StatusSeeOther)
}

// missing is the problem of something that is not there, with the page of what was perhaps meant.
func missing(what, near string, parts ...string) *problem {
	p := refuse(http.StatusNotFound, "not-found", "there is no %s", what)
	if near != "" {
		p.near = view.Path(append(parts, near)...)
		p.Detail += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return p
}
