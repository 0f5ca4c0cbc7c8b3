package system

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Newest is the newest release of a product that is known, as 2.12.
type Newest struct{ Product, Release string }

// Newer is a warning about a release that is newer, and says what is assumed of it: a clause that follows "it is
// assumed". It is "" for any other release, and for text that is none. A release has numbers with dots between
// them, of which the first two count, perhaps with a v before them.
func (n Newest) Newer(release, assumed string) string {
	if compareReleases(release, n.Release) <= 0 {
		return ""
	}
	return fmt.Sprintf("%s is newer than %s, the newest release of %s that is known; it is assumed %s; read its release notes before you apply this", release, n.Release, n.Product, assumed)
}

// compareReleases compares the first two numbers.
func compareReleases(a, b string) int {
	of := func(release string) (major, minor int) {
		parts := strings.SplitN(strings.TrimPrefix(release, "v"), ".", 3)
		major, _ = strconv.Atoi(parts[0]) // no number is the oldest of all
		if len(parts) > 1 {
			digits, _, _ := strings.Cut(parts[1], "-")
			minor, _ = strconv.Atoi(digits)
		}
		return major, minor
	}
	majorA, minorA := of(a)
	majorB, minorB := of(b)
	return cmp.Or(cmp.Compare(majorA, majorB), cmp.Compare(minorA, minorB))
}
