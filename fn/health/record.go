package health

import (
	"time"

	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
)

// StatusRecord is a Status as programs read it. The names of its fields stay.
type StatusRecord struct {
	Spec    finding.Object `json:"spec"`
	Phase   Phase          `json:"phase"`
	Reason  string         `json:"reason"`
	Message string         `json:"message"`
	Since   string         `json:"since,omitempty"`
	Details []DetailRecord `json:"details,omitempty"`

	Transitions []transition.Record `json:"transitions,omitempty"`
}

// DetailRecord is a Detail as programs read it.
type DetailRecord struct {
	Object  finding.Object `json:"object"`
	Node    string         `json:"node,omitempty"`
	Phase   Phase          `json:"phase"`
	Reason  string         `json:"reason"`
	Message string         `json:"message"`
	Since   string         `json:"since,omitempty"`
}

// StatusRecords are statuses for programs; never nil.
func StatusRecords(statuses []Status) []StatusRecord {
	out := make([]StatusRecord, len(statuses))
	for i := range statuses {
		out[i] = statuses[i].Record()
	}
	return out
}

// Record is the status for programs.
func (s *Status) Record() StatusRecord {
	r := StatusRecord{finding.Object(s.Spec), s.Phase, s.Reason, s.Message, stamp(s.Since), nil, transition.Records(s.Transitions)}
	for _, d := range s.Details {
		r.Details = append(r.Details, DetailRecord{finding.Object(d.Object), d.Node, d.Phase, d.Reason, d.Message, stamp(d.Since)})
	}
	return r
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// TreeRecord is a Tree as programs read it.
type TreeRecord struct {
	finding.Object `json:",inline"`
	Health         Phase        `json:"health,omitempty"`
	State          string       `json:"state,omitempty"`
	Details        string       `json:"details,omitempty"`
	Children       []TreeRecord `json:"children,omitempty"`
}

// TreeRecords are trees for programs; never nil.
func TreeRecords(trees []*Tree) []TreeRecord {
	out := make([]TreeRecord, len(trees))
	for i, t := range trees {
		out[i] = TreeRecord{finding.Object(t.Object), t.Phase, t.State, t.Note, nil}
		if len(t.Children) > 0 {
			out[i].Children = TreeRecords(t.Children)
		}
	}
	return out
}
