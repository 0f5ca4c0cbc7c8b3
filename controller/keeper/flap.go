package keeper

import (
	"path"
	"slices"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/live/hydrations"
)

const (
	mostHistory = 10  // publications that a status remembers
	mostFields  = 100 // that a status remembers of one
)

// changedFields are the fields that a plan changes or removes, with their objects. What is added is
// none: renders in steps do that.
func changedFields(changes []*change.Change) []string {
	var fields []string
	for _, c := range changes {
		switch c.Action {
		case change.Remove:
			fields = append(fields, c.Ref.String())
		case change.Modify:
			for i := range c.Fields {
				if f := &c.Fields[i]; f.Action != change.Add {
					fields = append(fields, c.Ref.String()+": "+f.Path)
				}
			}
		}
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	return fields[:min(len(fields), mostFields)]
}

// committedFacts are the facts that a package has, where given ones would replace them by these
// files.
func committedFacts(p hydration.Package, files map[string][]byte, given hydration.Facts) hydration.Facts {
	committed := hydration.Facts{Files: map[string][]byte{}, Cluster: given.Cluster}
	add := func(name string) {
		if data, found := p.Files[path.Join(inventory.Folder, name)]; found {
			committed.Files[name] = data
		}
	}
	for name := range given.Files {
		add(name)
	}
	for name, data := range files {
		if dir, base := path.Split(name); dir == inventory.Folder+"/" && data == nil {
			add(base)
		}
	}
	return committed
}

// flaps finds a field that would change for the third time within the window, or "".
func flaps(history []hydrations.Entry, fields []string, now time.Time, window time.Duration) string {
	times := map[string]int{}
	for _, e := range history {
		if now.Sub(e.Time) < window {
			for _, field := range e.Changed {
				times[field]++
			}
		}
	}
	for _, field := range fields {
		if times[field] >= 2 {
			return field
		}
	}
	return ""
}

// remember puts a publication first.
func remember(history []hydrations.Entry, e hydrations.Entry) []hydrations.Entry {
	history = append([]hydrations.Entry{e}, history...)
	return history[:min(len(history), mostHistory)]
}
