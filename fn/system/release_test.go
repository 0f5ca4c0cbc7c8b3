package system

import (
	"testing"

	"github.com/poolwright/poolwright/test/expected"
)

// TestNewer: only a newer minor release is one that is not known.
func TestNewer(t *testing.T) {
	known := Newest{"Mayastor", "2.12"}
	for _, release := range []string{"", "develop", "2", "2.9", "2.12", "2.12.7", "v2.12.1-rc.1", "1.99"} {
		if text := known.Newer(release, "to be the same"); text != "" {
			t.Errorf("%s: %s", release, text)
		}
	}
	want := expected.Text("2.13.1 is newer than 2.12, the newest release of Mayastor that is known; it is assumed to be the same; read its release notes before you apply this")
	want.In(t, known.Newer("2.13.1", "to be the same"))
	for _, release := range []string{"2.13", "v2.13.0", "2.13-rc.1", "3.0"} {
		if known.Newer(release, "to be the same") == "" {
			t.Errorf("%s is not newer", release)
		}
	}
}
