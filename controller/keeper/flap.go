package keeper

import (
	"crypto/sha256"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/schema/document"
)

const (
	mostHistory = 10  // publications that a status remembers
	mostFields  = 100 // that a status remembers of one
)

// field is one that a plan changes or removes.
type field struct {
	name  string            // with its object
	value [sha256.Size]byte // digest of what it is to be; zero for nothing
}

// names are those of fields.
func names(fields []field) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.name)
	}
	return all
}

// changedFields are the fields that a plan changes or removes. What is added is none: renders in steps do
// that.
func changedFields(changes []*change.Change) []field {
	var fields []field
	for _, c := range changes {
		switch c.Action {
		case change.Remove:
			fields = append(fields, field{name: c.Ref.String()})
		case change.Modify:
			for i := range c.Fields {
				f := &c.Fields[i]
				if f.Action == change.Add {
					continue
				}
				changed := field{name: c.Ref.String() + ": " + f.Path}
				if f.New != nil {
					changed.value = sha256.Sum256(document.AppendJSON(nil, f.New))
				}
				fields = append(fields, changed)
			}
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	fields = slices.CompactFunc(fields, func(a, b field) bool { return a.name == b.name })
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

// flaps says of fields whether each would change for the third time within the window.
func flaps(history []hydrations.Entry, fields []field, now time.Time, window time.Duration) map[string]bool {
	times := map[string]int{}
	for _, e := range history {
		if now.Sub(e.Time) < window {
			for _, name := range e.Changed {
				times[name]++
			}
		}
	}
	found := map[string]bool{}
	for _, f := range fields {
		found[f.name] = times[f.name] >= 2
	}
	return found
}

// rests are the fields that facts alone would change, and those that flap, by name: since when each rests.
type rests map[string]*rest

// rest is one field.
type rest struct {
	field
	published bool // it is as it was published
	since     time.Time
	flaps     bool // it is held back until it rests for the window
}

// see takes down what facts alone would change now. What flaps stays known until it rests, if it is as it was
// published, too.
func (r *rests) see(fields []field, now time.Time, window time.Duration) {
	if *r == nil {
		*r = rests{}
	}
	seen := map[string]bool{}
	for _, f := range fields {
		seen[f.name] = true
		if old := (*r)[f.name]; old == nil || old.published || old.value != f.value {
			(*r)[f.name] = &rest{field: f, since: now, flaps: old != nil && old.flaps}
		}
	}
	for name, old := range *r {
		switch {
		case seen[name]:
		case !old.published:
			old.published, old.since = true, now
		}
		if rested := now.Sub(old.since) >= window; rested {
			old.flaps = false
		}
		if !seen[name] && !old.flaps {
			delete(*r, name)
		}
	}
}

// hold holds back what flaps, until it rests.
func (r rests) hold(fields []field, flapping map[string]bool, window time.Duration) (name string, until time.Time) {
	for _, f := range fields {
		known := r[f.name]
		if known.flaps = known.flaps || flapping[f.name]; !known.flaps {
			continue
		}
		if name == "" {
			name = f.name
		}
		if at := known.since.Add(window); at.After(until) {
			until = at
		}
	}
	return name, until
}

func (a *attempt) flapWindow() time.Duration { return time.Duration(a.object.Spec.Facts.FlapWindow) }

// hold holds back a field that changes again and again, until it rests.
func (a *attempt) hold(fields []field, now time.Time) (v verdict, waits bool) {
	window := a.flapWindow()
	if a.lift || window <= 0 {
		a.flapping = nil
		return verdict{}, false
	}
	again := flaps(a.status.History, fields, now, window)
	if a.flapping == nil && a.object.Status.Condition("Ready").Reason == string(flapping) {
		for _, f := range fields { // of a process before, which knew which of them
			again[f.name] = true
		}
	}
	a.flapping.see(fields, now, window)
	name, until := a.flapping.hold(fields, again, window)
	if name == "" {
		return verdict{}, false
	}
	a.agenda.later = until
	return say(flapping, "facts alone change %s for the third time within %v; nothing is published until it stays the same for as long; find out why it changes, or publish now with kubectl annotate hydration %s -n %s %s=\"$(date)\" --overwrite",
		name, window, a.object.Metadata.Name, a.object.Metadata.Namespace, hydrations.AnnotationReconcileAt), true
}

// remember puts a publication first.
func remember(history []hydrations.Entry, e hydrations.Entry) []hydrations.Entry {
	history = append([]hydrations.Entry{e}, history...)
	return history[:min(len(history), mostHistory)]
}
