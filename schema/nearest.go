package schema

import (
	"fmt"
	"strings"
)

// DidYouMean ends a message about a name: " (did you mean "x"?)", or nothing
// where no candidate is near.
func DidYouMean(name string, candidates []string) string {
	if near := nearest(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// nearest is the candidate that a name was probably meant to be, or "" where
// none is near. Of two as near, the one of the same length is more likely, then
// the first.
func nearest(name string, candidates []string) string {
	best, bestDistance := "", 0
	for _, c := range candidates {
		d := distance(fold(name), fold(c))
		if far := (max(len(name), len(c)) + 2) / 3; d > far {
			if !contains(name, c) {
				continue
			}
			d = far + 1 // a part of the name: likely, but less so
		}
		if best == "" || d < bestDistance || d == bestDistance && len(c) == len(name) && len(best) != len(name) {
			best, bestDistance = c, d
		}
	}
	return best
}

// contains reports whether one name is a part of the other, as count of minCount.
func contains(a, b string) bool {
	a, b = fold(a), fold(b)
	return min(len(a), len(b)) >= 4 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// fold drops what people mix up in names: case, -, _, + and spaces.
func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", "+", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the letters that must be added, dropped, changed or swapped
// with their neighbour to turn a into b. Names are short; long ones are cut.
func distance(a, b string) int {
	const longest = 80
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var rows [3][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := &rows[(i+1)%3], &rows[(i-1)%3], &rows[i%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
