package system

import (
	"slices"
	"strings"
)

// Consent is the annotation poolwright.io/allow-removal: what a person allows
// to be lost (ARCHITECTURE.md, rule 3).
type Consent struct {
	entries map[string]bool // <kind>/<name> -> whether it names anything that exists
	order   []string
	asked   []string // <kind>/<name> of what exists, and is not named
}

// NewConsent is consent to the entries of the annotation.
func NewConsent(entries []string) *Consent {
	c := &Consent{entries: map[string]bool{}, order: entries}
	for _, entry := range entries {
		c.entries[entry] = false
	}
	return c
}

// Given reports whether anything is allowed.
func (c *Consent) Given() bool { return len(c.order) > 0 }

// Covers reports whether an existing object may be removed.
func (c *Consent) Covers(kind, name string) bool {
	entry := kind + "/" + name
	_, found := c.entries[entry]
	if found {
		c.entries[entry] = true
	} else if len(c.order) > 0 {
		c.asked = append(c.asked, entry)
	}
	return found
}

// Meant is what an entry that names nothing was probably to name: what has that name and is of
// another kind; or "". A name that is only near is not suggested: it would be the data of another one.
func (c *Consent) Meant(entry string) string {
	_, name, _ := strings.Cut(entry, "/")
	i := slices.IndexFunc(c.asked, func(asked string) bool {
		_, other, _ := strings.Cut(asked, "/")
		return other == name
	})
	if i < 0 {
		return ""
	}
	return c.asked[i]
}

// Unmatched lists the entries that named nothing.
func (c *Consent) Unmatched() []string {
	var unmatched []string
	for _, entry := range c.order {
		if !c.entries[entry] {
			unmatched = append(unmatched, entry)
		}
	}
	return unmatched
}
