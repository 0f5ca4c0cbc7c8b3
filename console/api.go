package console

import (
	"net/http"
	"strings"

	"github.com/poolwright/poolwright/console/edit"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/document"
)

// Preview is what a write would do.
type Preview struct {
	Diff     string      `json:"diff"`
	Plan     plan.Record `json:"plan"`
	Findings []Finding   `json:"findings"`
}

// Written is a commit that was made. It is not applied yet.
type Written struct {
	Commit      string    `json:"commit"`
	Subject     string    `json:"subject"`
	Risk        string    `json:"risk"`
	Findings    []Finding `json:"findings"`
	PullRequest *string   `json:"pullRequest"` // null: the commit is on the current branch
}

// writeFor makes a change, or says with ?dryRun=true what it would do.
func (x *exchange) writeFor(c writing) {
	if x.request.URL.Query().Get("dryRun") == "true" {
		d, failed := x.server.judge(x.View, c)
		if failed != nil {
			x.fail(failed)
			return
		}
		x.write(http.StatusOK, Preview{d.diff, d.after.Plan.Record(), findings(d.after.Findings)})
		return
	}
	m, _, failed := x.server.commit(x.request.Context(), c)
	if failed != nil {
		x.fail(failed)
		return
	}
	x.write(http.StatusAccepted, Written{m.hash.String(), m.subject, m.risk(), findings(m.after.Findings), nil})
}

// postSpec adds a spec.
func postSpec(x *exchange) {
	o, text, failed := x.document()
	if failed != nil {
		x.fail(failed)
		return
	}
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		text = document.Append(nil, o.Node, 0) // a file is YAML
	}
	x.writeFor(addSpec(o, text))
}

// named is the spec that a path names.
func (x *exchange) named() (kind, namespace, name string) {
	namespace = x.names["namespace"]
	if namespace == "-" {
		namespace = ""
	}
	return x.names["kind"], namespace, x.names["name"]
}

// answerSpec answers with a spec, as JSON, and its ETag.
func answerSpec(x *exchange) {
	kind, namespace, name := x.named()
	s, near := x.SpecNamed(kind, namespace, name)
	if s == nil {
		x.fail(missing("spec "+kind+" "+name, near, "specs", kind, nameSpace(namespace)))
		return
	}
	x.writer.Header().Set("ETag", etag(s.Object))
	x.send(http.StatusOK, "application/json", append(document.AppendJSON(nil, s.Object.Node), '\n'))
}

// ifMatch is the ETag that a write needs.
func (x *exchange) ifMatch() (string, *problem) {
	seen := x.request.Header.Get("If-Match")
	if seen == "" {
		return "", refuse(http.StatusPreconditionRequired, "precondition-required", "the header If-Match is missing; send the ETag of the spec, which GET answers with")
	}
	return seen, nil
}

// putSpec changes a spec to another: what a person wrote around what does not change stays.
func putSpec(x *exchange) {
	kind, namespace, name := x.named()
	seen, failed := x.ifMatch()
	var o *krm.Object
	if failed == nil {
		o, _, failed = x.document()
	}
	if failed == nil && (o.Kind != kind || o.Namespace != namespace || o.Name != name) {
		failed = refuse(http.StatusBadRequest, "bad-request", "the body is %s, and the path names %s %s", o.Ref, kind, name)
	}
	if failed != nil {
		x.fail(failed)
		return
	}
	x.writeFor(editSpec(kind, namespace, name, seen, func(files edit.Files, old *krm.Object) (edit.Files, error) {
		return edit.Patch(files, old, o.Node)
	}))
}

// deleteSpec takes a spec out.
func deleteSpec(x *exchange) {
	kind, namespace, name := x.named()
	seen, failed := x.ifMatch()
	if failed != nil {
		x.fail(failed)
		return
	}
	x.writeFor(removeSpecs(kind, namespace, name, seen, x.request.URL.Query().Get("cascade") == "true"))
}
