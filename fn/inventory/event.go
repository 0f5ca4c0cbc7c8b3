package inventory

import (
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// EventKind is the kind, of the core group, of what controllers tell of objects.
const EventKind = "Event"

// EventNormal is the type of the events that are no warning. Beside Warning, of which
// Kubernetes knows, operators write types of their own, such as Warn and Critical.
const EventNormal = "Normal"

// IsWarning reports whether an event tells of something that is wrong.
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

// SeenLast is when an event was seen last; zero where it does not tell, as in a snapshot.
func SeenLast(event *document.Node) time.Time {
	var last time.Time
	for _, path := range [][]string{{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"firstTimestamp"}, {"metadata", "creationTimestamp"}} {
		if at, err := time.Parse(time.RFC3339, event.Str(path...)); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// Warning is the newest warning about an object, as "Reason: message", or "". One about an
// earlier object of its name does not count.
func (f *Facts) Warning(o *krm.Object) string {
	if o == nil {
		return ""
	}
	var newest *document.Node
	for _, event := range Once(f, warningsKey{}, (*Facts).warnings)[o.ID()] {
		uid, its := o.Node.Str("metadata", "uid"), event.Str("involvedObject", "uid")
		if (uid == "" || its == "" || uid == its) && (newest == nil || SeenLast(event).After(SeenLast(newest))) {
			newest = event
		}
	}
	if newest == nil {
		return ""
	}
	return strings.Trim(newest.Str("reason")+": "+strings.TrimSpace(newest.Str("message")), ": ")
}

type warningsKey struct{}

// warnings are the events that tell of something wrong, by what they are about.
func (f *Facts) warnings() map[krm.ID][]*document.Node {
	of := map[krm.ID][]*document.Node{}
	for _, o := range f.Objects("", EventKind) {
		if IsWarning(o.Node) {
			id := EventAbout(o.Node)
			of[id] = append(of[id], o.Node)
		}
	}
	return of
}
