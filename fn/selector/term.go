// Package selector reads and matches selector terms: which objects a spec means.
package selector

import (
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Term is one selector term: everything in it must hold. Terms of a list are
// alternatives.
type Term struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchAnnotations map[string]string `json:"matchAnnotations"`
	MatchExpressions []Requirement     `json:"matchExpressions"` // over labels
	MatchFields      []Requirement     `json:"matchFields"`      // over fields, by dotted path
}

// Requirement compares one value. Operator is In, NotIn, Exists, DoesNotExist,
// Gt or Lt, with the meaning that Kubernetes gives them in node affinity.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// MatchesAny reports whether any term selects the object. No terms select
// everything.
func MatchesAny(terms []Term, o *krm.Object) bool {
	return len(terms) == 0 || slices.ContainsFunc(terms, func(t Term) bool { return t.matches(o) })
}

func (t Term) matches(o *krm.Object) bool {
	for key, want := range t.MatchLabels {
		if got := o.Node.Get("metadata", "labels", key); got == nil || got.Value() != want {
			return false
		}
	}
	for key, want := range t.MatchAnnotations {
		if got := o.Node.Get("metadata", "annotations", key); got == nil || got.Value() != want {
			return false
		}
	}
	for _, r := range t.MatchExpressions {
		got := o.Node.Get("metadata", "labels", r.Key)
		if !r.holds(got != nil, got.Str()) {
			return false
		}
	}
	for _, r := range t.MatchFields {
		got := o.Node.Get(strings.Split(r.Key, ".")...)
		if !r.holds(got != nil && got.Kind() != document.Null, got.Str()) {
			return false
		}
	}
	return true
}

// Excluded lists the fields by whose absence terms select.
func Excluded(terms []Term) []string {
	var keys []string
	for _, t := range terms {
		for _, r := range t.MatchFields {
			if r.Operator == "NotIn" || r.Operator == "DoesNotExist" {
				keys = append(keys, r.Key)
			}
		}
	}
	return keys
}

func (r Requirement) holds(present bool, value string) bool {
	switch r.Operator {
	case "In":
		return present && slices.Contains(r.Values, value)
	case "NotIn":
		return !present || !slices.Contains(r.Values, value)
	case "Exists":
		return present
	case "DoesNotExist":
		return !present
	case "Gt", "Lt":
		got, err := strconv.ParseInt(value, 10, 64)
		if !present || err != nil || len(r.Values) != 1 {
			return false
		}
		bound, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return false
		}
		if r.Operator == "Gt" {
			return got > bound
		}
		return got < bound
	}
	return false
}
