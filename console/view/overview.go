package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/schema/finding"
)

// Waiting is something that needs a person.
type Waiting struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Link string `json:"link"` // a page of the console
}

// Counts are the specs by state.
type Counts struct {
	OK          int `json:"ok"`
	Progressing int `json:"progressing"`
	Error       int `json:"error"`
}

// Zone is the nodes with one value of the zone label.
type Zone struct {
	Zone  Text  `json:"zone"`
	Nodes int   `json:"nodes"`
	Down  int   `json:"down"` // nodes that are not ready
	Disks int   `json:"disks"`
	Free  int   `json:"free"` // disks that may be used
	Size  Bytes `json:"size"` // of all disks
	Room  Bytes `json:"room"` // of those that may be used
}

// Overview is the package in a few numbers.
type Overview struct {
	Waiting []Waiting `json:"waiting"`
	Specs   Counts    `json:"specs"`
	Zones   []Zone    `json:"zones"`
}

// Overview sums up.
func (v *View) Overview() Overview {
	o := Overview{Waiting: []Waiting{}, Zones: []Zone{}}
	errors, about := 0, Waiting{}
	unread := v.Unread()
	isUnread := func(f finding.Finding) bool { return slices.Contains(unread, f) }
	for _, f := range append(unread, slices.DeleteFunc(slices.Clone(v.Findings), isUnread)...) { // what cannot be read is why the rest is wrong
		if f.Severity != finding.Error {
			continue
		}
		if errors++; errors == 1 {
			about = Waiting{What: f.Object.String(), Why: f.Message, Link: "/plan"}
			if f.Object == (finding.Ref{}) {
				about.What = "A file"
			}
			if f.Pos.File != "" {
				about.What += fmt.Sprintf(", %s:%d", f.Pos.File, f.Pos.Line)
			}
		}
	}
	if errors > 1 {
		about.Why += fmt.Sprintf(" (and %s)", finding.Count(errors-1, "other error"))
	}
	if errors > 0 {
		o.Waiting = append(o.Waiting, about)
	}
	if n := len(v.Plan.Changes) + v.Plan.Files; n > 0 {
		o.Waiting = append(o.Waiting, Waiting{What: "A render", Why: v.Plan.Summary() + "; the output is out of date", Link: "/plan"})
	}
	for _, s := range v.Statuses() {
		switch s.Phase {
		case health.OK:
			o.Specs.OK++
		case health.Progressing:
			o.Specs.Progressing++
		default:
			o.Specs.Error++
			o.Waiting = append(o.Waiting, Waiting{What: s.Spec.String(), Why: s.Reason + ": " + s.Message, Link: SpecLink(s.Spec)})
		}
	}
	o.Zones = v.zones()
	return o
}

// zones counts nodes and disks by zone.
func (v *View) zones() []Zone {
	at, in := map[string]int{}, map[string]string{}
	zones := []Zone{}
	zoneOf := func(name string) *Zone {
		i, found := at[name]
		if !found {
			i, at[name] = len(zones), len(zones)
			zones = append(zones, Zone{Zone: Text(name)})
		}
		return &zones[i]
	}
	for _, n := range v.index().Nodes {
		in[n.Name] = n.Zone
		z := zoneOf(n.Zone)
		if z.Nodes++; n.Down() {
			z.Down++
		}
	}
	for i := range v.disks() {
		d := &v.disks()[i]
		z := zoneOf(in[string(d.Node)])
		z.Disks++
		z.Size += max(d.Size, 0)
		if d.Usable {
			z.Free++
			z.Room += max(d.Size, 0)
		}
	}
	slices.SortFunc(zones, func(a, b Zone) int { return cmp.Compare(a.Zone, b.Zone) })
	return zones
}
