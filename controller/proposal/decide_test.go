package proposal

import (
	"reflect"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/controller/forge"
)

var (
	me  = Identity{"Poolwright", "poolwright@example.com"}
	ann = Identity{"Ann", "ann@example.com"}
)

// own is a commit of the controller with this output.
func own(id, output string) Commit {
	return Commit{ID: id, Author: me, Committer: me, Trailer: output, Output: output}
}

// base is a branch of specs with output old.
var base = Side{Commit: "b1", Output: "old", Package: "p1"}

// headOf is a head on top of the base, with these commits; it has the output of the last one.
func headOf(commits ...Commit) *Head {
	last := commits[len(commits)-1]
	return &Head{Side: Side{Commit: last.ID, Output: last.Output}, Fork: base, Commits: commits}
}

// written is a pull request as the controller wrote it.
func written(state forge.State, head, output string) forge.Request {
	t, _ := Compose("title", "body", output)
	return forge.Request{Number: 1, State: state, Head: head, Text: t}
}

func withdrawn(r forge.Request) forge.Request {
	r.Text = Withdrawn(&r)
	return r
}

// TestDuplicates: of two of its own for one head and base the controller keeps the older one, whatever else there is
// to do. One of a person stays.
func TestDuplicates(t *testing.T) {
	number := func(n int, r forge.Request) forge.Request {
		r.Number = n
		return r
	}
	theirs := forge.Request{Number: 3, State: forge.Open, Head: "h1", Text: forge.Text{Title: "mine", Body: "by hand"}}
	requests := []forge.Request{theirs, number(2, written(forge.Open, "h1", "new")), number(1, written(forge.Open, "h1", "new"))}
	for judged, want := range map[string]Decision{
		"new":   {Verdict: AwaitingMerge},
		"newer": {Verdict: AwaitingMerge, Push: true, Edit: true},
		"old":   {Verdict: UpToDate, Withdraw: true, Delete: true},
	} {
		text := ""
		if judged == "new" {
			_, text = Compose("title", "body", "new")
		}
		d := Decide(&State{Base: base, Judged: judged, Text: text, Me: me, Head: headOf(own("h1", "new")), Request: requests})
		if d.Request == nil || d.Request.Number != 1 || len(d.Duplicates) != 1 || d.Duplicates[0].Number != 2 {
			t.Fatalf("%s: %+v", judged, d)
		}
		twin := requests[1]
		twin.State, twin.Text = forge.Closed, Duplicate(d.Duplicates[0], d.Request)
		if again := Decide(&State{Base: base, Judged: "new", Me: me, Head: headOf(own("h1", "new")), Request: []forge.Request{twin}}); again.Verdict != AwaitingMerge {
			t.Errorf("%s: the duplicate is taken as declined: %+v", judged, again)
		}
		d.Request, d.Duplicates = nil, nil
		if !reflect.DeepEqual(d, want) {
			t.Errorf("%s: %+v instead of %+v", judged, d, want)
		}
	}
}

func TestDecide(t *testing.T) {
	_, text := Compose("title", "body", "new")
	foreign := Commit{ID: "x", Author: ann, Committer: ann, Output: "new"}
	merge := Commit{ID: "m", Author: ann, Committer: Identity{"Gitea", "noreply@example.com"}, Output: "new", MergesBase: true}
	moved := Side{Commit: "b2", Output: "old", Package: "p1"}
	changed := Side{Commit: "b2", Output: "old", Package: "p2"}
	conflict := written(forge.Open, "h1", "new")
	conflict.Conflict = true
	edited := written(forge.Open, "h1", "new")
	edited.Title, edited.Body = "a better title", "A note.\r\n"+strings.ReplaceAll(edited.Body, "\n", "\r\n")
	unmarked := written(forge.Closed, "h1", "new")
	unmarked.Body = "gone"

	for _, c := range []struct {
		name     string
		judged   string
		base     Side
		head     *Head
		requests []forge.Request
		want     Decision // without Request
		number   bool     // the verdict is about a pull request
	}{
		{"nothing to propose", "old", base, nil, nil, Decision{Verdict: UpToDate}, false},
		{"the first proposal", "new", base, nil, nil, Decision{Verdict: AwaitingMerge, Push: true, Create: true}, false},
		{"stopped between push and create", "new", base, headOf(own("h1", "new")), nil, Decision{Verdict: AwaitingMerge, Create: true}, false},
		{"nothing is new", "new", base, headOf(own("h1", "new")), []forge.Request{written(forge.Open, "h1", "new")}, Decision{Verdict: AwaitingMerge}, true},
		{"stopped between push and edit", "new", base, headOf(own("h2", "new")), []forge.Request{written(forge.Open, "h2", "older")}, Decision{Verdict: AwaitingMerge, Edit: true}, true},
		{"a person edited the text", "new", base, headOf(own("h1", "new")), []forge.Request{edited}, Decision{Verdict: AwaitingMerge}, true},
		{"another output", "new", base, headOf(own("h1", "older")), []forge.Request{written(forge.Open, "h1", "older")}, Decision{Verdict: AwaitingMerge, Push: true, Edit: true}, true},
		{"another folder changed on the base", "new", moved, headOf(own("h1", "new")), []forge.Request{written(forge.Open, "h1", "new")}, Decision{Verdict: AwaitingMerge}, true},
		{"the package changed on the base", "new", changed, headOf(own("h1", "new")), []forge.Request{written(forge.Open, "h1", "new")}, Decision{Verdict: AwaitingMerge, Push: true}, true},
		{"the forge sees a conflict", "new", moved, headOf(own("h1", "new")), []forge.Request{conflict}, Decision{Verdict: AwaitingMerge, Push: true}, true},
		{"a conflict that cannot be", "new", base, headOf(own("h1", "new")), []forge.Request{conflict}, Decision{Verdict: AwaitingMerge}, true},
		{"the head was deleted", "new", base, nil, []forge.Request{written(forge.Open, "h1", "new")}, Decision{Verdict: AwaitingMerge, Push: true}, true},
		{"the head has nothing", "new", base, &Head{Side: base, Fork: base}, nil, Decision{Verdict: AwaitingMerge, Push: true, Create: true}, false},
		{"the base is merged into the head", "new", base, headOf(own("h1", "new"), merge), []forge.Request{written(forge.Open, "m", "new")}, Decision{Verdict: AwaitingMerge}, true},
		{"the base is merged into the head, and the output differs", "newer", base, headOf(own("h1", "new"), merge), []forge.Request{written(forge.Open, "m", "new")}, Decision{Verdict: AwaitingMerge, Push: true, Edit: true}, true},
		{"a commit of a person", "newer", base, headOf(own("h1", "new"), foreign), []forge.Request{written(forge.Open, "x", "new")}, Decision{Verdict: ForeignCommits, Foreign: []string{"x"}}, true},
		{"a commit of a person, and nothing to propose", "old", base, headOf(own("h1", "new"), foreign), []forge.Request{written(forge.Open, "x", "new")}, Decision{Verdict: ForeignCommits, Foreign: []string{"x"}}, true},
		{"a branch of a person under the name", "new", base, headOf(foreign), nil, Decision{Verdict: ForeignCommits, Foreign: []string{"x"}}, false},
		{"a branch of a person, and nothing to propose", "old", base, headOf(foreign), nil, Decision{Verdict: UpToDate}, false},
		{"squashed with the commit of a person", "newer", base, headOf(own("h1", "new"), foreign), []forge.Request{written(forge.Merged, "x", "new")}, Decision{Verdict: AwaitingMerge, Push: true, Create: true}, true},
		{"pushed after the merge", "newer", base, headOf(own("h1", "new"), foreign), []forge.Request{written(forge.Merged, "h1", "new")}, Decision{Verdict: ForeignCommits, Foreign: []string{"x"}}, false},
		{"back to the output of the base", "old", base, headOf(own("h1", "new")), []forge.Request{written(forge.Open, "h1", "new")}, Decision{Verdict: UpToDate, Withdraw: true, Delete: true}, true},
		{"stopped after the mark", "old", base, headOf(own("h1", "new")), []forge.Request{withdrawn(written(forge.Open, "h1", "new"))}, Decision{Verdict: UpToDate, Withdraw: true, Delete: true}, true},
		{"marked, and proposed after all", "new", base, headOf(own("h1", "new")), []forge.Request{withdrawn(written(forge.Open, "h1", "new"))}, Decision{Verdict: AwaitingMerge, Edit: true}, true},
		{"stopped before the branch was deleted", "old", base, headOf(own("h1", "new")), []forge.Request{withdrawn(written(forge.Closed, "h1", "new"))}, Decision{Verdict: UpToDate, Delete: true}, true},
		{"withdrawn is not declined", "new", base, nil, []forge.Request{withdrawn(written(forge.Closed, "h1", "new"))}, Decision{Verdict: AwaitingMerge, Push: true, Create: true}, true},
		{"stopped before create, and nothing to propose", "old", base, headOf(own("h1", "new")), nil, Decision{Verdict: UpToDate, Delete: true}, false},
		{"closed by a person", "new", base, headOf(own("h1", "new")), []forge.Request{written(forge.Closed, "h1", "new")}, Decision{Verdict: Declined}, true},
		{"closed by a person before others", "new", base, nil, []forge.Request{written(forge.Merged, "h2", "other"), written(forge.Closed, "h1", "new")}, Decision{Verdict: Declined}, true},
		{"closed by a person, and another output", "newer", base, headOf(own("h1", "new")), []forge.Request{written(forge.Closed, "h1", "new")}, Decision{Verdict: AwaitingMerge, Push: true, Create: true}, true},
		{"closed by a person, and nothing to propose", "old", base, headOf(own("h1", "new")), []forge.Request{written(forge.Closed, "h1", "new")}, Decision{Verdict: UpToDate}, true},
		{"closed by a person, who removed the marks", "new", base, headOf(own("h1", "new")), []forge.Request{unmarked}, Decision{Verdict: AwaitingMerge, Create: true}, true},
		{"merged by squashing", "old", base, headOf(own("h1", "old")), []forge.Request{written(forge.Merged, "h1", "old")}, Decision{Verdict: UpToDate, Delete: true, Merged: true}, true},
		{"merged", "old", base, &Head{Side: Side{Commit: "h1"}, Fork: base}, []forge.Request{written(forge.Merged, "h1", "old")}, Decision{Verdict: UpToDate, Delete: true, Merged: true}, true},
		{"merged, and reverted on the base", "new", base, nil, []forge.Request{written(forge.Merged, "h1", "new")}, Decision{Verdict: AwaitingMerge, Push: true, Create: true}, true},
		{"merged with the commit of a person", "old", base, headOf(own("h1", "new"), foreign), []forge.Request{written(forge.Merged, "x", "new")}, Decision{Verdict: UpToDate, Merged: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Decide(&State{Base: c.base, Judged: c.judged, Text: text, Me: me, Head: c.head, Request: c.requests})
			if number := got.Request != nil; number != c.number && got.Verdict != AwaitingMerge {
				t.Errorf("it is about %v", got.Request)
			}
			got.Request = nil
			// A text is written for the output that is judged.
			if c.judged != "new" && c.want.Edit != got.Edit {
				t.Errorf("edit is %v", got.Edit)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestOwn: a commit is the controller's by its author, its committer, and the output that it names.
func TestOwn(t *testing.T) {
	good := own("h1", "new")
	for name, change := range map[string]func(*Commit){
		"author":          func(c *Commit) { c.Author = ann },
		"author's name":   func(c *Commit) { c.Author.Name = "Ann" },
		"committer":       func(c *Commit) { c.Committer = ann },
		"no trailer":      func(c *Commit) { c.Trailer = "" },
		"another trailer": func(c *Commit) { c.Trailer = "other" },
		"another output":  func(c *Commit) { c.Output = "other" },
		"neither":         func(c *Commit) { c.Trailer, c.Output = "", "" },
	} {
		c := good
		change(&c)
		d := Decide(&State{Base: base, Judged: "newer", Me: me, Head: headOf(c)})
		if d.Verdict != ForeignCommits || d.Push || d.Create {
			t.Errorf("%s: %+v", name, d)
		}
		c.MergesBase = true
		if d := Decide(&State{Base: base, Judged: "newer", Me: me, Head: headOf(c)}); d.Verdict != AwaitingMerge {
			t.Errorf("%s, of a mere merge: %+v", name, d)
		}
	}
}

// TestMarks: marks are read on lines of their own, as forges give them back.
func TestMarks(t *testing.T) {
	text, digest := Compose("title", "| `<!-- poolwright: withdrawn -->` |\n+ <!-- poolwright: output sha256:1 -->", "sha256:2")
	want := Marks{Output: "sha256:2", Text: digest}
	for _, body := range []string{text.Body, strings.ReplaceAll(text.Body, "\n", "\r\n"), strings.TrimSpace(text.Body)} {
		if got := ReadMarks(body); got != want {
			t.Errorf("%+v in\n%s", got, body)
		}
	}
	r := forge.Request{Text: text}
	r.Text = Withdrawn(&r)
	want.Withdrawn = true
	if got := ReadMarks(r.Body); got != want || Withdrawn(&r) != r.Text {
		t.Errorf("%+v in\n%s", got, r.Body)
	}
	if added := len(r.Body) - len("| `<!-- poolwright: withdrawn -->` |\n+ <!-- poolwright: output sha256:1 -->") + 64; added > Room {
		t.Errorf("%d bytes are added", added)
	}
	if !strings.Contains(r.Body, "\n<!-- poolwright: withdrawn -->\n") || !strings.Contains(r.Body, "\n<!-- poolwright: output sha256:2 -->\n") {
		t.Errorf("the marks in\n%s", r.Body)
	}
	for _, c := range []struct{ title, body string }{{"another", "body"}, {"title", "another"}} {
		if _, other := Compose(c.title, c.body, "sha256:2"); other == digest {
			t.Errorf("%+v has the same digest", c)
		}
	}
}
