package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Refusal is why one candidate must not be used.
type Refusal struct {
	Reason string // as in a Choice
	Size   int64  // of a disk, in bytes; 0 where it is not known or does not matter
}

// Cause is what the reasons of several refusals have in common.
type Cause struct {
	Reason  string `json:"reason"` // "too small", "with a filesystem"
	Count   int    `json:"count"`
	Largest int64  `json:"largest,omitempty"` // of those that are too small, in bytes
}

const tooSmall = "too small"

// Causes counts refusals by reason, the most frequent first.
func Causes(refusals []Refusal) []Cause {
	var causes []Cause
	for _, r := range refusals {
		reason := common(r.Reason)
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.Reason == reason })
		if i < 0 {
			i = len(causes)
			causes = append(causes, Cause{Reason: reason})
		}
		causes[i].Count++
		if reason == tooSmall {
			causes[i].Largest = max(causes[i].Largest, r.Size)
		}
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return causes
}

// common is the part of a reason that says what is wrong, without what is said of
// this one candidate: its name, its size, who has it.
func common(reason string) string {
	switch about, ok := strings.CutPrefix(reason, "it "); {
	case strings.HasPrefix(about, "is PersistentVolume "):
		return "used as a PersistentVolume"
	case strings.HasPrefix(about, "is "):
		reason = strings.TrimPrefix(about, "is ")
	case strings.HasPrefix(about, "has "):
		reason = "with " + strings.TrimPrefix(about, "has ")
	case ok:
		reason = about
	case strings.HasPrefix(reason, "its "):
		reason = "whose " + strings.TrimPrefix(reason, "its ")
	default:
		reason = "where " + reason
	}
	end := len(reason)
	for _, detail := range []string{": ", "; ", ", ", ` "`, " as ", " at ", " by "} {
		if i := strings.Index(reason, detail); i > 0 {
			end = min(end, i)
		}
	}
	return reason[:end]
}

// Summarize says in a few words why candidates are refused: how many for which
// reason, the most frequent first, and how near the largest of those came that are
// too small. It is "" where there are none.
func Summarize(refusals []Refusal) string {
	const most = 5
	causes := Causes(refusals)
	var parts []string
	rest := 0
	for i, c := range causes {
		if i >= most {
			rest += c.Count
			continue
		}
		part := fmt.Sprintf("%d %s", c.Count, c.Reason)
		if c.Largest > 0 {
			part += " with " + quantity.Size(c.Largest) + " at most"
		}
		parts = append(parts, part)
	}
	if rest > 0 {
		parts = append(parts, finding.Count(rest, "other"))
	}
	return strings.Join(parts, ", ")
}
