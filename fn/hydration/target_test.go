package hydration

import "testing"

// TestHead: the default is a branch that Git takes, whatever the path is.
func TestHead(t *testing.T) {
	for path, want := range map[string]string{
		".": "root", "clusters/prod": "clusters/prod", "./a//b/": "a/b", "a b/c~d^e:f?": "a-b/c-d-e-f-", "prod..old/.x": "prod-old/x", "a.lock": "a-lock", "über": "-ber", "@{x": "--x",
	} {
		var s Spec
		s.Source.Branch, s.Source.Path, s.Publish.Mode = "release/1.2", path, "PullRequest"
		if got := s.Head(); got != "poolwright/release/1.2/"+want {
			t.Errorf("%s: %s", path, got)
		}
		s.Publish.Mode = "Branch"
		if got := s.Head(); got != "" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestTargetNames: what two Hydrations share is named without a user of its repository.
func TestTargetNames(t *testing.T) {
	var s Spec
	s.Source.URL, s.Source.Branch, s.Source.Path, s.Publish.Mode = "ssh://git@git.example.com:22/team/storage.git", "main", "./a/", "PullRequest"
	got := s.Targets("storage")
	want := []string{
		"path a of branch main of ssh://git.example.com/team/storage",
		"branch poolwright/main/a of ssh://git.example.com/team/storage for its pull request",
	}
	if len(got) != 2 || got[0].String() != want[0] || got[1].String() != want[1] {
		t.Errorf("got %q", got)
	}
}
