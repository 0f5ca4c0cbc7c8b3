package place

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/poolwright/poolwright/schema/finding"
)

// Tally is what became of the candidates of one kind: Node, BlockDevice.
type Tally struct {
	Kind     string          `json:"kind"`
	Total    int             `json:"total"`
	Verdicts map[Verdict]int `json:"verdicts"`
	Causes   []Cause         `json:"refusedFor,omitempty"`

	refusals []Refusal
}

// Final leaves out what was decided otherwise for the same spec later on: a node that
// is kept, and then held, is held.
func Final(choices []Choice) []Choice {
	type decision struct{ spec, subject finding.Ref }
	last := make(map[decision]int, len(choices))
	for i := range choices {
		last[decision{choices[i].Spec, choices[i].Subject}] = i
	}
	var final []Choice
	for i := range choices {
		if last[decision{choices[i].Spec, choices[i].Subject}] == i {
			final = append(final, choices[i])
		}
	}
	return final
}

// Tallies counts choices, kind by kind in the order in which they come. Of what was
// decided twice, the last word counts. size gives the bytes of a disk, or 0.
func Tallies(choices []Choice, size func(subject finding.Ref) int64) []Tally {
	var tallies []Tally
	for _, c := range Final(choices) {
		at := slices.IndexFunc(tallies, func(t Tally) bool { return t.Kind == c.Subject.Kind })
		if at < 0 {
			at = len(tallies)
			tallies = append(tallies, Tally{Kind: c.Subject.Kind, Verdicts: map[Verdict]int{}})
		}
		t := &tallies[at]
		t.Total++
		t.Verdicts[c.Verdict]++
		if c.Verdict == Refused {
			t.refusals = append(t.refusals, Refusal{Reason: c.Reason, Size: size(c.Subject)})
		}
	}
	for i := range tallies {
		tallies[i].Causes = Causes(tallies[i].refusals)
	}
	return tallies
}

// String gives "32 block devices: 6 chosen, 14 free, 12 refused: 9 too small with
// 512Gi at most, 3 with a filesystem".
func (t Tally) String() string {
	var counts []string
	for _, v := range Verdicts() {
		if n := t.Verdicts[v]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	text := finding.Count(t.Total, inWords(t.Kind)) + ": " + strings.Join(counts, ", ")
	if len(t.refusals) > 0 {
		text += ": " + Summarize(t.refusals)
	}
	return text
}

// inWords writes a kind as a person says it: block device, cstor pool instance.
func inWords(kind string) string {
	var b strings.Builder
	last := 'A'
	for _, r := range kind {
		if unicode.IsUpper(r) && !unicode.IsUpper(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return b.String()
}
