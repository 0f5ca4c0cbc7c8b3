package selector

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

func TestNothing(t *testing.T) {
	read := func(text string) []*krm.Object {
		src := &document.Source{Data: []byte(text)}
		docs, err := document.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		var objects []*krm.Object
		for i := range docs {
			objects = append(objects, krm.NewObject(src, &docs[i].Node))
		}
		return objects
	}
	disks := read(`
metadata: {name: d1, labels: {rack: a, slot: ""}}
spec: {details: {driveType: HDD, model: ST 4000}}
---
metadata: {name: d2, labels: {rack: b}, annotations: {team: blue}}
spec: {details: {driveType: HDD, model: null}}
---
metadata: {name: d3, labels: {rack: b}}
spec: {details: {driveType: SSD}}
`)
	many := ""
	for i := range 12 {
		many += fmt.Sprintf("---\nmetadata: {name: n%02d}\n", i)
	}
	fields := func(key, operator string, values ...string) Term {
		return Term{MatchFields: []Requirement{{key, operator, values}}}
	}
	tests := []struct {
		name    string
		terms   []Term
		objects []*krm.Object
		want    string
	}{
		{"no terms", nil, disks, ""},
		{"no objects", []Term{fields("spec.details.driveType", "In", "NVMe")}, nil, ""},
		{"one selected", []Term{fields("spec.details.driveType", "In", "SSD")}, disks, ""},
		{"one selected by another term", []Term{fields("spec.details.driveType", "In", "NVMe"), {MatchLabels: map[string]string{"rack": "a"}}}, disks, ""},
		{"value", []Term{fields("spec.details.driveType", "In", "NVMe")}, disks, "selects 0 of 3 disks; spec.details.driveType is HDD (2), SSD (1)"},
		{"as many of each", []Term{fields("metadata.name", "In", "d4")}, disks[:2], "selects 0 of 2 disks; metadata.name is d1 (1), d2 (1)"},
		{"value with a space, and none", []Term{fields("spec.details.model", "In", "ST")}, disks, `selects 0 of 3 disks; spec.details.model is "ST 4000" (1), not set (2)`},
		{"empty value", []Term{{MatchLabels: map[string]string{"slot": "7"}}}, disks, `selects 0 of 3 disks; label slot is "" (1), not set (2)`},
		{"no such field", []Term{fields("spec.details.drivetype", "In", "SSD")}, disks, `selects 0 of 3 disks; no disk has spec.details.drivetype (did you mean "spec.details.driveType"?)`},
		{"no such label", []Term{{MatchLabels: map[string]string{"racks": "a"}}}, disks, `selects 0 of 3 disks; no disk has label racks (did you mean "rack"?)`},
		{"no such annotation", []Term{{MatchAnnotations: map[string]string{"teams": "blue"}}}, disks, `selects 0 of 3 disks; no disk has annotation teams (did you mean "team"?)`},
		{"each by itself selects", []Term{{MatchLabels: map[string]string{"rack": "a"}, MatchFields: []Requirement{{"spec.details.driveType", "In", []string{"SSD"}}}}}, disks,
			"selects 0 of 3 disks; label rack is b (2), a (1); spec.details.driveType is HDD (2), SSD (1)"},
		{"of two terms, once each", []Term{{MatchAnnotations: map[string]string{"team": "red"}}, {MatchExpressions: []Requirement{{"rack", "In", []string{"c"}}, {"rack", "Exists", nil}}}}, disks,
			"selects 0 of 3 disks; annotation team is blue (1), not set (2); label rack is b (2), a (1)"},
		{"excluded", []Term{fields("spec.details.driveType", "NotIn", "HDD", "SSD")}, disks, "selects 0 of 3 disks; spec.details.driveType is HDD (2), SSD (1)"},
		{"one object", []Term{fields("spec.details.driveType", "In", "SSD")}, disks[:1], "selects 0 of 1 disk; spec.details.driveType is HDD (1)"},
		{"many values", []Term{fields("metadata.name", "In", "n99")}, read(many),
			"selects 0 of 12 disks; metadata.name is n00 (1), n01 (1), n02 (1), n03 (1), n04 (1), n05 (1), n06 (1), n07 (1), n08 (1), n09 (1) and 2 more"},
	}
	for _, test := range tests {
		if got := Nothing(test.terms, slices.Values(test.objects), "disk"); got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", test.name, got, test.want)
		}
	}
}
