package mark_test

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/mark"
)

// TestMarks: a mark is the same for ever, and another one for whatever differs.
func TestMarks(t *testing.T) {
	const want = "5fad2ae3-84c8-5ec8-a66f-a2f28da863d2"
	if got := mark.Cluster("test").Of("Volume", "gone", "n1"); got != want {
		t.Errorf("the mark is %s and was %s: no data would be known again", got, want)
	}
	seen := map[string]bool{}
	for _, got := range []string{
		mark.Cluster("prod").Of("Volume", "a", "n1"), mark.Cluster("test").Of("Volume", "a", "n1"), mark.Cluster("test").Of("VolumeGroup", "a", "n1"),
		mark.Cluster("test").Of("Volume", "a", "n2"), mark.Cluster("test").Of("Volume", "b", "n1"), mark.Cluster("test").Of("Volume", "an", "1"),
		mark.Cluster("test").Table("n1", "0x5", "S"), mark.Cluster("test").Table("n1", "0x5S", ""),
	} {
		if seen[got] {
			t.Errorf("%s is the mark of two things", got)
		}
		seen[got] = true
	}
}

func TestTags(t *testing.T) {
	for _, test := range []struct {
		tags []string
		want string
	}{
		{[]string{"tier=fast", mark.Tag("u1")}, "u1"}, {[]string{mark.Tag("u1"), mark.Tag("u2")}, ""}, {nil, ""}, {[]string{mark.New}, ""},
	} {
		if got := mark.FromTags(test.tags); got != test.want {
			t.Errorf("%v: %q", test.tags, got)
		}
	}
	if !strings.HasPrefix(mark.Tag("u"), mark.Prefix) {
		t.Error(mark.Tag("u"))
	}
}

func TestIs(t *testing.T) {
	ours, other := mark.Cluster("c").Of("Volume", "data", "n1"), mark.Cluster("c").Of("Volume", "logs", "n1")
	for text, want := range map[string]bool{ours: true, mark.Short(ours): true, other: false, mark.Short(other): false, "": false} {
		if got := mark.Is(ours, text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
