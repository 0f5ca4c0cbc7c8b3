package finding_test

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

func TestCount(t *testing.T) {
	for _, test := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "node", "0 nodes"},
		{1, "copy", "1 copy"},
		{2, "copy", "2 copies"},
		{2, "key", "2 keys"},
		{2, "class", "2 classes"},
		{3, "CStorVolumePolicy", "3 CStorVolumePolicies"},
	} {
		if got := finding.Count(test.n, test.noun); got != test.want {
			t.Errorf("Count(%d, %q) is %q, not %q", test.n, test.noun, got, test.want)
		}
	}
	for n, want := range []string{"have", "has", "have"} {
		if got := finding.Agree(n, "has", "have"); got != want {
			t.Errorf("Agree(%d) is %q, not %q", n, got, want)
		}
	}
}

// TestNames: a list is cut to the first ten, and says how many more there are.
func TestNames(t *testing.T) {
	ten := strings.Split("a b c d e f g h i j", " ")
	for _, test := range []struct {
		names          []string
		named, clauses string
	}{
		{nil, "", ""},
		{ten[:2], "a, b", "a; b"},
		{ten, "a, b, c, d, e, f, g, h, i, j", "a; b; c; d; e; f; g; h; i; j"},
		{append(ten, "k", "l"), "a, b, c, d, e, f, g, h, i, j and 2 more", "a; b; c; d; e; f; g; h; i; j and 2 more"},
	} {
		if got := finding.Names(test.names); got != test.named {
			t.Errorf("Names(%q) is %q", test.names, got)
		}
		if got := finding.Clauses(test.names); got != test.clauses {
			t.Errorf("Clauses(%q) is %q", test.names, got)
		}
	}
}
