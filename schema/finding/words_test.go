package finding_test

import (
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
