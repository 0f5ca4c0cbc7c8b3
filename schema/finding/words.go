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

// Most is how many of a list a message names.
const Most = 10

// Names joins names for a message, and counts those of a long list that it leaves out.
func Names(names []string) string { return join(names, ", ") }

// Clauses joins parts of a sentence in the same way, which may have commas themselves.
func Clauses(clauses []string) string { return join(clauses, "; ") }

func join(list []string, separator string) string {
	if len(list) > Most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:Most], separator), len(list)-Most)
	}
	return strings.Join(list, separator)
}
