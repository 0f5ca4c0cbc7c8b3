package system

// Consent is the annotation poolwright.io/allow-removal: what a person allows
// to be lost (ARCHITECTURE.md, rule 3).
type Consent struct {
	entries map[string]bool // <kind>/<name> -> whether it names anything that exists
	order   []string
}

// NewConsent is consent to the entries of the annotation.
func NewConsent(entries []string) *Consent {
	c := &Consent{entries: map[string]bool{}, order: entries}
	for _, entry := range entries {
		c.entries[entry] = false
	}
	return c
}

// Covers reports whether an existing object may be removed.
func (c *Consent) Covers(kind, name string) bool {
	entry := kind + "/" + name
	_, found := c.entries[entry]
	if found {
		c.entries[entry] = true
	}
	return found
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
