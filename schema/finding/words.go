package finding

import (
	"fmt"
	"strings"
)

// Count writes a number of things: 1 node, 2 nodes, 2 classes, 2 copies.
func Count(n int, noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return "1 " + noun
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeou"):
		noun = stem + "ie"
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Agree is the form of a verb, or of a pronoun, that goes with a number: has or have, it or they.
func Agree(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Names joins names for a message, and cuts a long list.
func Names(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
