package keeper

import (
	"testing"
	"time"

	"github.com/poolwright/poolwright/live/hydrations"
)

// TestSameTargets: of two that write the same, the younger one waits.
func TestSameTargets(t *testing.T) {
	type one struct{ mode, branch, path, head string }
	for _, c := range []struct {
		name     string
		old, new one
		want     bool
	}{
		{"the same package", one{"Branch", "main", "a", ""}, one{"Branch", "main", "./a", ""}, true},
		{"the same package in two modes", one{"Branch", "main", "a", ""}, one{"PullRequest", "main", "a", ""}, true},
		{"two packages", one{"PullRequest", "main", "a", ""}, one{"PullRequest", "main", "b", ""}, false},
		{"two packages with one head", one{"PullRequest", "main", "a", "x"}, one{"PullRequest", "main", "b", "x"}, true},
		{"two branches with one head", one{"PullRequest", "main", "a", "x"}, one{"PullRequest", "next", "a", "x"}, true},
		{"the root, and a folder of that name", one{"PullRequest", "main", ".", ""}, one{"PullRequest", "main", "root", ""}, true},
		{"a name that is like a default", one{"PullRequest", "main", "a", ""}, one{"PullRequest", "main", "b", "poolwright/main/a"}, true},
		{"a head without its mode", one{"PullRequest", "main", "a", "x"}, one{"Branch", "main", "b", "x"}, false},
	} {
		all := map[hydrations.Key]*hydrations.Hydration{}
		for i, o := range []one{c.old, c.new} {
			h := &hydrations.Hydration{}
			h.Metadata.Name = []string{"old", "new"}[i]
			h.Metadata.CreationTimestamp = time.Unix(int64(i), 0)
			h.Spec.Source.URL, h.Spec.Source.Branch, h.Spec.Source.Path = "https://git.example.com/team/storage.git", o.branch, o.path
			h.Spec.Publish.Mode, h.Spec.Publish.Branch = o.mode, o.head
			all[h.Key()] = h
		}
		found := rivals(all)
		if rival, is := found[hydrations.Key{Name: "new"}]; is != c.want || is && rival.Name != "old" || len(found) > 1 {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}

// TestRivalsAtTheStart: of two Hydrations with one target the younger knows the older before it begins, in
// whatever order they are read.
func TestRivalsAtTheStart(t *testing.T) {
	young, old := &hydrations.Hydration{}, &hydrations.Hydration{}
	young.Metadata.Name, young.Metadata.UID, young.Metadata.CreationTimestamp = "young", "2", time.Unix(2, 0)
	old.Metadata.Name, old.Metadata.UID, old.Metadata.CreationTimestamp = "old", "1", time.Unix(1, 0)
	k := &Keeper{workers: map[hydrations.Key]*worker{}}
	begin := k.register([]*hydrations.Hydration{young, old})
	if len(begin) != 2 || begin[0].rival.Key != old.Key() || begin[1].rival != (rival{}) {
		t.Errorf("%d workers begin, the younger beside %v", len(begin), begin[0].rival)
	}
	if again := k.register([]*hydrations.Hydration{young}); len(again) != 0 {
		t.Errorf("%d workers begin for what is known", len(again))
	}
}
