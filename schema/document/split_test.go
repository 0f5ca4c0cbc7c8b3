package document

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The lines that end a document are found in one pass with the check of the text; here
// they are looked for line by line.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{
			"---", "...", "--- ", "----", "-", ".", "..", "\n", "\n", "\r\n", "\t", " ", "key: value", "\u00e4\u20ac", "\ufeff", "a longer piece of text",
		})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		got, _, err := checkText(&Source{Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		var want []int
		at := bomLen(text)
		for line := range strings.Lines(text[at:]) {
			if mark, rest := line[:min(3, len(line))], line[min(3, len(line)):]; (mark == "---" || mark == "...") && (rest == "" || isBlank(rest[0])) {
				want = append(want, at)
			}
			at += len(line)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v in %q", got, want, text)
		}
	})
}
