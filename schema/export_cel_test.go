package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/document"
)

// noCEL are the rules that an API server cannot be given; why stands beside each.
var noCEL = []string{"both-annotations", "whole-groups", "only-listed-nodes", "cache-raidz", "pool-groups", "cache-raidz", "delivery-repository", "delivery-fields"}

// TestEveryRuleHasCEL: a rule that vet knows and the CustomResourceDefinition does
// not would be found too late.
func TestEveryRuleHasCEL(t *testing.T) {
	s := Load()
	rules, without := 0, []string{}
	for _, k := range s.Kinds() {
		if _, err := s.Export(k.Kind, CRD); err != nil {
			continue
		}
		eachShape(s.lookup(k.GroupKind.String()).shape, func(shape *shape) {
			for _, r := range shape.rules {
				rules++
				cel, why := r.cel(), r.text("nocel")
				switch {
				case len(cel) == 0 && why == "":
					t.Errorf("%s: rule %s has neither @cel nor @nocel", k.Kind, r.name)
				case len(cel) > 0 && why != "":
					t.Errorf("%s: rule %s has both @cel and @nocel", k.Kind, r.name)
				case why != "":
					without = append(without, r.name)
				}
				for _, c := range cel {
					if c.expr == "" || (c.message == "") == (c.says == "") {
						t.Errorf("%s: rule %s: want an expression, and either a message or says: %+v", k.Kind, r.name, c)
					}
				}
			}
		})
	}
	if !slices.Equal(without, noCEL) {
		t.Errorf("rules without CEL: %q, want %q", without, noCEL)
	}
	if rules < 20 {
		t.Errorf("saw %d rules only", rules)
	}
}

func eachShape(s *shape, visit func(*shape)) {
	visit(s)
	for i := range s.fields {
		eachShape(s.fields[i].shape, visit)
	}
	if s.elem != nil {
		eachShape(s.elem, visit)
	}
}

// TestRulesReachTheCRD: a rule about an inner object that reads an outer one is
// checked by the outer one, and names the field all the same.
func TestRulesReachTheCRD(t *testing.T) {
	text, err := Load().Export("CStorClusterConfig", CRD)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := document.Parse(&document.Source{Name: "crd.yaml", Data: text})
	if err != nil {
		t.Fatal(err)
	}
	spec := docs[0].Node.Seq("spec", "versions")[0].Get("schema", "openAPIV3Schema", "properties", "spec")
	var paths []string
	for _, v := range spec.Seq("x-kubernetes-validations") {
		paths = append(paths, v.Str("fieldPath"))
	}
	want := ".diskConfig.minCount .diskConfig.groupSize .diskConfig.groupSize .diskConfig.groupSize .diskConfig.minCount .poolConfig.maxDisksPerCluster .maxPoolCount .maxPoolCount .onlyListed .minPoolCount"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("rules of the spec are about %s, want %s", got, want)
	}
}
