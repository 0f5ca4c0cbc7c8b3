package schema

import (
	"testing"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/expected"
)

// TestBounds: what is said of a number that is too low or too high.
func TestBounds(t *testing.T) {
	one, nine := bound{value: 1, text: "1"}, bound{value: 9, text: "9"}
	over, under := one, nine
	over.exclusive, under.exclusive = true, true
	for _, test := range []struct {
		shape  shape
		number int64
		want   expected.Text
	}{
		{shape{min: &one, max: &nine}, 0, "must be at least 1, not 0"},
		{shape{min: &one, max: &nine}, 1, ""},
		{shape{min: &one, max: &nine}, 9, ""},
		{shape{min: &one, max: &nine}, 10, "must be at most 9, not 10"},
		{shape{min: &over, max: &under}, 1, "must be above 1, not 1"},
		{shape{min: &over, max: &under}, 5, ""},
		{shape{min: &over, max: &under}, 9, "must be below 9, not 9"},
		{shape{min: &one, want: "a share"}, 0, "must be a share, not 0"},
	} {
		p := &pass{shape: &test.shape}
		n := document.Int(test.number)
		at := rootPlace(&n)
		p.checkBounds(&test.shape, &at, float64(test.number))
		said := ""
		for _, f := range p.findings {
			said += f.Message
		}
		if test.want.In(t, said); len(said) != len(test.want) {
			t.Errorf("%v: %q, not %q", test.number, said, test.want)
		}
	}
}
