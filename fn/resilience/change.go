package resilience

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/schema"
)

// Verb is what a change does.
type Verb string

// The verbs.
const (
	Lose  Verb = "lose"  // for good
	Stop  Verb = "stop"  // down for now: all data survive
	Drain Verb = "drain" // with consent, render by render
	Add   Verb = "add"
	Set   Verb = "set" // a field of a spec
)

// Verbs lists the verbs.
func Verbs() []string {
	return []string{string(Lose), string(Stop), string(Drain), string(Add), string(Set)}
}

// Change is what happens to a cluster, or to a spec.
type Change struct {
	Verb   Verb   `json:"verb"`
	Object string `json:"object"` // as it was written: node/n1, 2 nodes --like node/n1

	kind, name       string // of what is lost, stopped or drained: node, zone, nodes, disk, pool
	count            int    // of add
	like, on         string // of add: the name of a node or a disk, and the node for disks
	File, Path, Text string `json:"-"` // of set
}

// UsageError is a change or a requirement that says nothing.
type UsageError string

func (e UsageError) Error() string { return string(e) }

func misuse(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// IsChange reports whether a word begins a change: a verb alone, or one with its object behind it.
func IsChange(word string) bool {
	verb, _, _ := strings.Cut(strings.TrimSpace(word), " ")
	return slices.Contains(Verbs(), verb)
}

// ParseChanges reads changes: each is several words, or one word with spaces. The error is a UsageError.
func ParseChanges(words []string) ([]Change, error) {
	var changes []Change
	for len(words) > 0 {
		if !IsChange(words[0]) {
			return nil, misuse("%q is no change%s; a change begins with %s", words[0], schema.DidYouMean(words[0], Verbs()), strings.Join(Verbs(), ", "))
		}
		whole, rest := split(words)
		c, err := parseChange(whole)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(changes, c) { // one twice counts once
			changes = append(changes, c)
		}
		words = rest
	}
	return changes, nil
}

// split takes the words of the first change.
func split(words []string) (change, rest []string) {
	if first := strings.TrimSpace(words[0]); strings.Contains(first, " ") {
		verb, object, _ := strings.Cut(first, " ")
		if verb == string(Set) {
			return []string{verb, strings.TrimSpace(object)}, words[1:]
		}
		return append([]string{verb}, strings.Fields(object)...), words[1:]
	}
	end := 1
	for end < len(words) && (end == 1 || !IsChange(words[end])) {
		end++
	}
	return words[:end], words[end:]
}

// parseChange reads the words of a change.
func parseChange(words []string) (Change, error) {
	c := Change{Verb: Verb(words[0]), Object: strings.Join(words[1:], " ")}
	words = words[1:]
	if len(words) == 0 {
		return c, misuse("%s what? write %s", c.Verb, c.form())
	}
	if c.Verb == Add {
		return c, c.parseAdd(words)
	}
	if len(words) > 1 {
		return c, misuse("%s %s: %q is one word too many; write %s", c.Verb, c.Object, words[1], c.form())
	}
	if c.Verb == Set {
		var found bool
		head, text, hasText := strings.Cut(words[0], "=")
		c.File, c.Path, found = strings.Cut(head, ":")
		if c.Text = text; !found || !hasText || c.File == "" || c.Path == "" {
			return c, misuse("set %s: write %s", c.Object, c.form())
		}
		return c, nil
	}
	var found bool
	c.kind, c.name, found = strings.Cut(words[0], "/")
	kinds := map[Verb][]string{Lose: {"node", "zone", "nodes", "disk", "pool"}, Stop: {"node", "zone", "nodes", "pool"}, Drain: {"node"}}[c.Verb]
	switch {
	case !found || c.name == "" || !slices.Contains(kinds, c.kind):
		return c, misuse("%s %s: write %s%s", c.Verb, c.Object, c.form(), schema.DidYouMean(c.kind, kinds))
	case c.kind == "nodes" && !strings.Contains(c.name, "="):
		return c, misuse("%s %s: a label is KEY=VALUE", c.Verb, c.Object)
	}
	return c, nil
}

// parseAdd reads N nodes --like node/NAME, or N disks --like disk/ID --node NAME.
func (c *Change) parseAdd(words []string) error {
	bad := misuse("add %s: write %s", c.Object, c.form())
	if len(words) < 2 {
		return bad
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > mostAdded {
		return misuse("add %s: how many? write a number from 1 to %d", c.Object, mostAdded)
	}
	c.count = n
	noun := strings.TrimSuffix(words[1], "s")
	if noun != "node" && noun != "disk" {
		return bad
	}
	c.kind = noun
	for words = words[2:]; len(words) > 0; words = words[1:] {
		flag, value, given := strings.Cut(words[0], "=")
		if !given {
			if len(words) < 2 {
				return bad
			}
			value, words = words[1], words[1:]
		}
		switch kind, name, _ := strings.Cut(value, "/"); {
		case flag == "--like" && kind == noun && name != "" && c.like == "":
			c.like = name
		case flag == "--node" && noun == "disk" && value != "" && c.on == "":
			c.on = value
		default:
			return bad
		}
	}
	if c.like == "" || noun == "disk" && c.on == "" {
		return bad
	}
	return nil
}

// mostAdded is how many nodes or disks one change adds at most.
const mostAdded = 1000

// form is how a change of the verb is written.
func (c *Change) form() string {
	switch c.Verb {
	case Lose:
		return "lose node/NAME, zone/NAME, nodes/KEY=VALUE, disk/ID or pool/NAME"
	case Stop:
		return "stop node/NAME, zone/NAME, nodes/KEY=VALUE or pool/NAME"
	case Drain:
		return "drain node/NAME"
	case Add:
		return "add N nodes --like node/NAME, or add N disks --like disk/ID --node NAME"
	}
	return "set FILE:PATH=VALUE"
}
