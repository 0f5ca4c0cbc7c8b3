package system

import (
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
)

// declared is a system that only declares.
type declared struct {
	FactsOnly
	Declaration
}

func (d declared) Declare() Declaration { return d.Declaration }

func kind(name string) krm.GroupKind { return krm.GroupKind{Group: "example.com", Kind: name} }

// What a kind is to one system adds to what another says that it is.
func TestKindsJoin(t *testing.T) {
	describes := declared{Declaration: Declaration{Name: "a", Kinds: []Kind{
		{GroupKind: kind("Well"), Plural: "wells", Names: []string{"w"}, Keep: "spec", Reports: true},
		{GroupKind: kind("Rain"), Plural: "rains", Role: RoleFact},
	}, Facts: []krm.GroupKind{kind("Well")}}}
	renders := declared{Declaration: Declaration{Name: "b", Kinds: []Kind{
		{GroupKind: kind("Well"), Role: RoleRendered, Stateful: true},
		{GroupKind: kind("Order"), Plural: "orders", Role: RoleSpec, Whole: "Well"},
	}, Facts: []krm.GroupKind{kind("Rain")}, Roots: []krm.GroupKind{kind("Well")}}}
	for _, order := range [][]System{{describes, renders}, {renders, describes}} {
		kinds := NewKinds(order...)
		well, found := kinds.Find(kind("Well"))
		if !found || well.Role != RoleRendered || !well.Stateful || well.Plural != "wells" || !well.Reports {
			t.Errorf("joined to %+v", well)
		}
		for _, name := range []string{"w", "well", "Well", "wells"} {
			if root, err := kinds.Root(name); err != nil || root.Kind != "Well" {
				t.Errorf("%s is %v, %v", name, root.Kind, err)
			}
		}
		if _, err := kinds.Root("wel"); err == nil || !strings.Contains(err.Error(), `did you mean "Well"`) {
			t.Errorf("an unknown root: %v", err)
		}
		if status := kinds.Status(); len(status) != 1 || status[0].Kind != "Well" {
			t.Errorf("for a status is read %v", status) // nothing is kept of Rain
		}
		order := krm.Make("example.com/v1", "Order", "", "x")
		if facts := kinds.FactsOf([]*krm.Object{order}); !slices.Equal(facts, []krm.GroupKind{kind("Rain")}) {
			t.Errorf("an order looks at %v", facts)
		}
		if rain := krm.Make("example.com/v1", "Rain", "", "x"); !kinds.IsFact(rain) || kinds.IsFact(order) || !kinds.IsSpec(order.GroupKind()) {
			t.Error("facts and specs are not told apart")
		}
	}
	// What a system no longer declares may hold data.
	d := renders.Declare()
	if gone := krm.Make("example.com/v1", "Gone", "", "x"); !d.Stateful(gone) || d.Stateful(krm.Make("example.com/v1", "Order", "", "x")) {
		t.Error("what may hold data is not told from what does not")
	}
}

func TestCheck(t *testing.T) {
	for want, d := range map[string]Declaration{
		"both describe":        {Kinds: []Kind{{GroupKind: kind("A"), Plural: "as"}, {GroupKind: kind("A"), Plural: "as"}}},
		"nobody describes":     {Kinds: []Kind{{GroupKind: kind("A")}}},
		"no health check for":  {Kinds: []Kind{{GroupKind: kind("A"), Plural: "as", Role: RoleLock}}},
		"for the whole of a A": {Kinds: []Kind{{GroupKind: kind("A"), Plural: "as", Role: RoleSpec, Health: true}}},
		"of spec are called A": {Kinds: []Kind{spec("A"), {GroupKind: krm.GroupKind{Group: "other.example", Kind: "A"}, Plural: "as", Role: RoleSpec, Whole: "A", Health: true}}},
		"keeps anything of it": {Kinds: []Kind{{GroupKind: kind("A"), Plural: "as"}}, Facts: []krm.GroupKind{kind("A")}},
		"are both called a":    {Kinds: []Kind{{GroupKind: kind("A"), Plural: "as", Keep: "spec"}, {GroupKind: kind("B"), Plural: "bs", Names: []string{"a"}, Keep: "spec"}}, Roots: []krm.GroupKind{kind("A"), kind("B")}},
	} {
		err := NewKinds(declared{Declaration: d}).Check()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want only: %s; got %v", want, err)
		}
	}
	if err := NewKinds(declared{Declaration: Declaration{Kinds: []Kind{spec("A")}}}).Check(); err != nil {
		t.Error(err)
	}
}

func spec(name string) Kind {
	return Kind{GroupKind: kind(name), Plural: strings.ToLower(name) + "s", Role: RoleSpec, Whole: name, Health: true}
}
