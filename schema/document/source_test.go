package document

import (
	"strings"
	"testing"
)

// TestPosition compares with counting from the start, around the places where
// the index of lines has its entries, and at both ends.
func TestPosition(t *testing.T) {
	text := bom + strings.Repeat("é: x\n", 2*stretch/6) + "end"
	src := &Source{Name: "x.yaml", Data: []byte(text)}
	for _, middle := range []int{0, stretch, 2 * stretch, len(text)} {
		for off := max(middle-9, len(bom)); off <= min(middle+9, len(text)); off++ {
			head := strings.TrimPrefix(text[:off], bom)
			line := strings.Count(head, "\n")
			column := len([]rune(strings.ToValidUTF8(head[strings.LastIndex(head, "\n")+1:], "?")))
			want := Position{"x.yaml", line + 1, column + 1}
			if got := src.Position(int32(off)); got != want {
				t.Errorf("%d: got %+v, want %+v", off, got, want)
			}
		}
	}
	if len(text) < 2*stretch {
		t.Error("the text is too short to try the index")
	}
	for _, off := range []int32{NoOffset, int32(len(text) + 1)} {
		if got := src.Position(off); got != (Position{}) {
			t.Errorf("%d: got %+v", off, got)
		}
	}
}
