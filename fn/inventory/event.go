package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// EventKind is the kind, of the core group, of what controllers report about objects.
const EventKind = "Event"

// EventNormal is the type of the events that are no warning. Beside Warning, of which
// Kubernetes knows, operators write types of their own, such as Warn and Critical.
const EventNormal = "Normal"

// IsWarning reports whether an event reports something that is wrong.
func IsWarning(event *document.Node) bool {
	kind := event.Str("type")
	return kind != "" && kind != EventNormal
}

// EventAbout is the object that an event is about.
func EventAbout(event *document.Node) krm.ID {
	of := event.Get("involvedObject")
	group, _, found := strings.Cut(of.Str("apiVersion"), "/")
	if !found {
		group = ""
	}
	return krm.ID{Group: group, Kind: of.Str("kind"), Namespace: of.Str("namespace"), Name: of.Str("name")}
}

// SeenLast is when an event was seen last; zero where it is unknown, as in a snapshot.
func SeenLast(event *document.Node) time.Time {
	var last time.Time
	for _, path := range [][]string{{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"firstTimestamp"}, {"metadata", "creationTimestamp"}} {
		if at, err := time.Parse(time.RFC3339, event.Str(path...)); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// Warning is an event that reports a problem.
type Warning struct{ Reason, Message string }

func (w Warning) String() string { return strings.Trim(w.Reason+": "+w.Message, ": ") }

// Warnings are the events that report a problem of an object, the newest first, each reason once. Those of an earlier
// object of its name do not count.
func (f *Facts) Warnings(o *krm.Object) []Warning {
	if o == nil {
		return nil
	}
	uid := o.Node.Str("metadata", "uid")
	var all []Warning
	for _, event := range Once(f, warningsKey{}, (*Facts).warnings)[o.ID()] {
		w := Warning{event.Str("reason"), strings.TrimSpace(event.Str("message"))}
		its := event.Str("involvedObject", "uid")
		known := slices.ContainsFunc(all, func(earlier Warning) bool { return earlier.Reason == w.Reason })
		if (uid == "" || its == "" || uid == its) && !known {
			all = append(all, w)
		}
	}
	return all
}

type warningsKey struct{}

// warnings are the events that report a problem, by what they are about, the newest first.
func (f *Facts) warnings() map[krm.ID][]*document.Node {
	of := map[krm.ID][]*document.Node{}
	for _, o := range f.Objects("", EventKind) {
		if IsWarning(o.Node) {
			id := EventAbout(o.Node)
			of[id] = append(of[id], o.Node)
		}
	}
	for _, events := range of {
		slices.SortStableFunc(events, func(a, b *document.Node) int { return SeenLast(b).Compare(SeenLast(a)) })
	}
	return of
}
