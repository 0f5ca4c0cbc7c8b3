package selector

import (
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

func TestMatchesAny(t *testing.T) {
	src := &document.Source{Data: []byte(`
metadata: {name: n, labels: {disk: ssd, rack: "10", empty: ""}, annotations: {team: blue}}
spec: {details: {driveType: HDD, model: null}, capacity: {storage: 4000787030016}}
`)}
	docs, err := document.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	o := krm.NewObject(src, &docs[0].Node)
	label := func(key, operator string, values ...string) Term {
		return Term{MatchExpressions: []Requirement{{key, operator, values}}}
	}
	field := func(key, operator string, values ...string) Term {
		return Term{MatchFields: []Requirement{{key, operator, values}}}
	}
	tests := []struct {
		name  string
		terms []Term
		want  bool
	}{
		{"no terms", nil, true},
		{"label", []Term{{MatchLabels: map[string]string{"disk": "ssd"}}}, true},
		{"empty label", []Term{{MatchLabels: map[string]string{"empty": ""}}}, true},
		{"no label is not an empty one", []Term{{MatchLabels: map[string]string{"other": ""}}}, false},
		{"annotation", []Term{{MatchAnnotations: map[string]string{"team": "blue"}}}, true},
		{"all of a term", []Term{{MatchLabels: map[string]string{"disk": "ssd"}, MatchAnnotations: map[string]string{"team": "red"}}}, false},
		{"any of the terms", []Term{{MatchLabels: map[string]string{"disk": "hdd"}}, {MatchAnnotations: map[string]string{"team": "blue"}}}, true},
		{"In", []Term{label("disk", "In", "hdd", "ssd")}, true},
		{"In, absent", []Term{label("other", "In", "")}, false},
		{"NotIn", []Term{label("disk", "NotIn", "ssd")}, false},
		{"NotIn, absent", []Term{label("other", "NotIn", "ssd")}, true},
		{"Exists", []Term{label("empty", "Exists")}, true},
		{"Exists, absent", []Term{label("other", "Exists")}, false},
		{"DoesNotExist", []Term{label("other", "DoesNotExist")}, true},
		{"Gt", []Term{label("rack", "Gt", "9")}, true},
		{"Gt, equal", []Term{label("rack", "Gt", "10")}, false},
		{"Lt", []Term{label("rack", "Lt", "11")}, true},
		{"Lt of no number", []Term{label("disk", "Lt", "11")}, false},
		{"Lt, absent", []Term{label("other", "Lt", "11")}, false},
		{"unknown operator", []Term{label("disk", "Like", "ssd")}, false},
		{"field", []Term{field("spec.details.driveType", "In", "HDD")}, true},
		{"amount", []Term{field("spec.capacity.storage", "Gt", "4000000000000")}, true},
		{"field without a value", []Term{field("spec.details.model", "Exists")}, false},
		{"no such field", []Term{field("spec.details.vendor.name", "DoesNotExist")}, true},
	}
	for _, test := range tests {
		if got := MatchesAny(test.terms, o); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
