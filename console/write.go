package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/poolwright/poolwright/console/edit"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/controller/worktree"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// writing is what a person wants to write: the subject of its commit, and how it changes the files of a package.
type writing struct {
	subject string
	make    func(base *view.View) (edit.Files, *problem)
}

// draft is a change that was judged.
type draft struct {
	change edit.Files // of all files, those of rendered/ among them
	diff   string     // of the files that people write
	after  *view.View // the package with the change; nil if it cannot be read then
}

// failed reports whether findings forbid the change.
func (d *draft) failed() bool { return d.after == nil || finding.Failed(d.after.Findings) }

// risk is that of the plan.
func (d *draft) risk() string {
	if r := d.after.Plan.Risk(); r != "" {
		return string(r)
	}
	return string(hydration.RiskNone)
}

// judge renders the package with a change, as vet, plan and render do. The problem says that it must not be; with
// findings the draft is there all the same.
func (s *Server) judge(base *view.View, c writing) (*draft, *problem) {
	files, failed := c.make(base)
	if failed != nil {
		return nil, failed
	}
	d := &draft{change: maps.Clone(files)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		d.diff += string(diff.Diff("a/"+name, base.Files[name], "b/"+name, files[name]))
	}
	after, err := view.New(s.config.Function, edit.Files(base.Files).With(files))
	if err != nil {
		return d, refuse(http.StatusUnprocessableEntity, "findings", "%v", err)
	}
	d.after = after
	if d.failed() {
		p := refuse(http.StatusUnprocessableEntity, "findings", "%s%s", firstOf(after.Findings), base.Room(after))
		p.Findings = findings(after.Findings)
		return d, p
	}
	for _, c := range after.Output.Changes {
		data, err := c.Content()
		if err != nil {
			return d, refuse(http.StatusInternalServerError, "internal", "%v", err)
		}
		d.change[path.Join(fn.RenderedFolder, c.Path())] = data
	}
	return d, nil
}

// firstOf is the first error, and how many more there are.
func firstOf(fs []finding.Finding) string {
	var first string
	errors := 0
	for _, f := range fs {
		if f.Severity == finding.Error {
			if errors++; errors == 1 {
				first = f.String()
			}
		}
	}
	if errors > 1 {
		first += fmt.Sprintf(" (and %s)", finding.Count(errors-1, "other error"))
	}
	return first
}

// made is a commit that was made.
type made struct {
	*draft
	hash    plumbing.Hash
	subject string
}

// commit makes a change one commit on the current branch, as the controller does. The draft is there if findings
// forbid it.
func (s *Server) commit(ctx context.Context, c writing) (m *made, d *draft, failed *problem) {
	s.writing.Lock()
	defer s.writing.Unlock()
	work, err := worktree.Open(s.config.Dir)
	if err != nil {
		return nil, nil, refuse(http.StatusConflict, "read-only", "nothing can be committed: %v", err)
	}
	defer work.Close()
	author, err := s.source.author(work)
	if err != nil {
		return nil, nil, refuse(http.StatusConflict, "read-only", "nothing can be committed: %v", err)
	}
	const tries = 3
	for range tries {
		m, d, failed, err = s.commitOnce(ctx, work, author, c)
		if !errors.Is(err, worktree.ErrMoved) {
			break
		}
	}
	var dirty *worktree.UncommittedError
	switch {
	case err == nil:
	case errors.As(err, &dirty):
		return nil, d, refuse(http.StatusConflict, "dirty", "%v", err)
	case errors.Is(err, worktree.ErrMoved):
		return nil, d, refuse(http.StatusPreconditionFailed, "stale", "others commit to the branch all the time; try again")
	default:
		return nil, d, refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	return m, d, failed
}

func (s *Server) commitOnce(ctx context.Context, work *worktree.WorkTree, author tree.Author, c writing) (*made, *draft, *problem, error) {
	head, err := work.Head()
	if err != nil {
		return nil, nil, nil, err
	}
	root, err := work.Tree(head)
	if err != nil {
		return nil, nil, nil, err
	}
	files, err := work.Package(root, hydration.Reads)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := work.Uncommitted(files, hydration.Package{Dir: s.config.Dir, Files: files}.Ignored()); err != nil {
		return nil, nil, nil, err
	}
	base, err := s.source.at(files)
	if err != nil {
		return nil, nil, nil, err
	}
	d, failed := s.judge(base, c)
	switch {
	case failed != nil:
		return nil, d, failed, nil
	case len(d.change) == 0:
		return nil, d, refuse(http.StatusUnprocessableEntity, "findings", "nothing would change, so there is nothing to commit"), nil
	}
	subject := c.subject
	if utf8.RuneCountInString(subject) > mostSubject {
		subject = string([]rune(subject)[:mostSubject-1]) + "…"
	}
	message := fmt.Sprintf("%s\n\n%s\n\nPoolwright-Risk: %s\n", subject, d.after.Plan.Summary(), d.risk())
	hash, err := work.Commit(ctx, worktree.Commit{Base: head, Before: files, Changes: d.change, Author: author, Time: s.config.Now(), Message: message})
	if err != nil {
		return nil, d, nil, err
	}
	return &made{d, hash, subject}, d, nil, nil
}

// mostSubject is the length of the first line of a commit, in characters.
const mostSubject = 72

// etag is that of a document: it changes with each of its bytes.
func etag(o *krm.Object) string {
	sum := sha256.Sum256(o.Raw)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// fresh is the problem of a spec that is no longer what a person saw, or nil.
func fresh(o *krm.Object, seen string) *problem {
	if now := etag(o); seen != now && seen != "*" {
		return refuse(http.StatusPreconditionFailed, "stale", "%s was changed meanwhile: its ETag is %s now", o.Ref, now)
	}
	return nil
}

// addSpec is the change that adds a spec, given its text.
func addSpec(o *krm.Object, text []byte) writing {
	return writing{"Add " + called(o), func(base *view.View) (edit.Files, *problem) {
		if other, _ := base.SpecNamed(o.Kind, o.Namespace, o.Name); other != nil {
			return nil, refuse(http.StatusConflict, "exists", "%s exists, in %s:%d; choose another name, or change that", o.Ref, other.File, other.Line)
		}
		return edited(edit.Create(base.Files, base.SpecObjects(), o, text))
	}}
}

// editSpec is the change of a spec, of which a person has seen one state. made edits the files.
func editSpec(kind, namespace, name, seen string, made func(files edit.Files, o *krm.Object) (edit.Files, error)) writing {
	return writing{"Change " + strings.TrimSpace(kind+" "+name), func(base *view.View) (edit.Files, *problem) {
		s, near := base.SpecNamed(kind, namespace, name)
		if s == nil {
			return nil, missing("spec "+kind+" "+name, near, "specs", kind, nameSpace(namespace))
		}
		if stale := fresh(s.Object, seen); stale != nil {
			return nil, stale
		}
		return edited(made(base.Files, s.Object))
	}}
}

// removeSpecs is the change that takes a spec out, with the volumes of a group if a person wants that.
func removeSpecs(kind, namespace, name, seen string, cascade bool) writing {
	return writing{"Delete " + kind + " " + name, func(base *view.View) (edit.Files, *problem) {
		s, near := base.SpecNamed(kind, namespace, name)
		if s == nil {
			return nil, missing("spec "+kind+" "+name, near, "specs", kind, nameSpace(namespace))
		}
		if stale := fresh(s.Object, seen); stale != nil {
			return nil, stale
		}
		gone := []*krm.Object{s.Object}
		if cascade {
			gone = append(gone, base.Inside(s.Object.Ref)...)
		}
		return edited(edit.Remove(base.Files, gone...))
	}}
}

// renderOnly is the change that brings the output up to date.
func renderOnly() writing {
	return writing{"Render", func(*view.View) (edit.Files, *problem) { return edit.Files{}, nil }}
}

func edited(files edit.Files, err error) (edit.Files, *problem) {
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "findings", "%v", err)
	}
	return files, nil
}

// called names an object for the subject of a commit.
func called(o *krm.Object) string { return o.Kind + " " + o.Name }

// nameSpace is a namespace in a path.
func nameSpace(namespace string) string {
	if namespace == "" {
		return "-"
	}
	return namespace
}
