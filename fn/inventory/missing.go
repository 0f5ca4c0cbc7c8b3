package inventory

import (
	"strings"
	"time"
)

// Missing is a node that objects of a snapshot name, and of which it has no Node.
type Missing struct {
	Since time.Time // the first snapshot without it
	Again time.Time // the first of those that confirm that, or zero
}

// ParseMissing reads the annotation poolwright.io/missing-nodes of an Inventory, by the name of a node or its
// hostname label. What is no time is left out.
func ParseMissing(text string) map[string]Missing {
	all := map[string]Missing{}
	for entry := range strings.SplitSeq(text, ",") {
		name, times, found := strings.Cut(entry, "=")
		since, again, _ := strings.Cut(times, "/")
		m := Missing{Since: parseTime(since), Again: parseTime(again)}
		if found && !m.Since.IsZero() {
			all[name] = m
		}
	}
	return all
}

func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Entry is the entry of the annotation for a node.
func (m Missing) Entry(name string) string {
	text := name + "=" + m.Since.Format(time.RFC3339)
	if !m.Again.IsZero() {
		text += "/" + m.Again.Format(time.RFC3339)
	}
	return text
}

// MissingTwice reports whether two snapshots of different times lack the Node of a name or hostname label.
func (f *Facts) MissingTwice(name string) bool {
	m := f.missing[name]
	return m.Again.After(m.Since)
}
