package scaffold_test

import (
	"reflect"
	"testing"

	"github.com/poolwright/poolwright/cmd/internal/scaffold"
	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// TestNew holds that what a new package of any system says passes, and that it has a
// spec and no facts.
func TestNew(t *testing.T) {
	for _, system := range examples.Systems() {
		files, err := scaffold.New(system, "somewhere/mine", scaffold.Choices{}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		template, err := examples.NewTemplate(system)
		if err != nil {
			t.Fatal(err)
		}
		var p fn.Package
		for _, name := range []string{template.Spec, "poolwright.yaml"} {
			objects, err := krm.Parse(&document.Source{Name: name, Data: files[name]})
			if err != nil || len(objects) == 0 {
				t.Fatalf("%s: %s: %d objects, %v", system, name, len(objects), err)
			}
			p.Objects = append(p.Objects, objects...)
		}
		for _, f := range fn.New(schema.Load(), systems.All()...).Vet(p) {
			t.Errorf("%s: %s", system, f)
		}
	}
}

func TestParseTerms(t *testing.T) {
	for text, want := range map[string][]selector.Term{
		"":                                nil,
		"a=b":                             {{MatchLabels: map[string]string{"a": "b"}}},
		"a!=b":                            {{MatchExpressions: []selector.Requirement{{Key: "a", Operator: "NotIn", Values: []string{"b"}}}}},
		"cpus>4":                          {{MatchExpressions: []selector.Requirement{{Key: "cpus", Operator: "Gt", Values: []string{"4"}}}}},
		"spec.path=sdb":                   {{MatchFields: []selector.Requirement{{Key: "spec.path", Operator: "In", Values: []string{"sdb"}}}}},
		"spec.details.model notin (a, b)": {{MatchFields: []selector.Requirement{{Key: "spec.details.model", Operator: "NotIn", Values: []string{"a", "b"}}}}},
		"spec.example.com/a=b":            {{MatchLabels: map[string]string{"spec.example.com/a": "b"}}},
	} {
		got, err := scaffold.ParseTerms(text)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %+v, %v", text, got, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if _, err := scaffold.ParseTerms("a=b=c"); err == nil {
		t.Error("no error")
	}
}
