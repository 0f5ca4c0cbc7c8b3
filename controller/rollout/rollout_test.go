package rollout

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

func object(t testing.TB, text string, stage int, needs ...krm.ID) fn.Rendered {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return fn.Rendered{Object: objects[0], Stage: stage, Needs: needs}
}

func names(all []Object) string {
	var names []string
	for _, o := range all {
		names = append(names, o.Object.Name)
	}
	return strings.Join(names, " ")
}

// TestOrder: stages, then what is needed, then names; a namespace and a definition come before what is in them.
func TestOrder(t *testing.T) {
	claim := krm.ID{Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	all := Order([]fn.Rendered{
		object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z, namespace: other}\n", 1),
		object(t, "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: toy}\n", 0),
		object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: ns}\n", 0, claim, krm.ID{Kind: "Secret", Name: "elsewhere"}),
		object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n", 0),
		object(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\nspec: {group: example.com, names: {kind: Gadget}}\n", 0),
		object(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n", 0),
	})
	if got, want := names(all), "ns gadgets.example.com a toy b z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestProgress: nothing goes before what it needs, nor before a lower stage of its spec; other specs go on.
func TestProgress(t *testing.T) {
	owned := func(name, owner string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  labels: {app.kubernetes.io/managed-by: poolwright}\n  annotations: {poolwright.io/owner: " + owner + "}\n"
	}
	id := func(name string) krm.ID { return krm.ID{Kind: "ConfigMap", Name: name} }
	all := Order([]fn.Rendered{
		object(t, owned("a0", "a"), 0), object(t, owned("a1", "a"), 1), object(t, owned("a2", "a"), 2),
		object(t, owned("b1", "b"), 1), object(t, owned("c2", "c"), 2, id("a1")),
	})
	var p Progress
	var applied []string
	for _, o := range all {
		if by, blocked := p.Blocked(o); blocked {
			if by != id("a1") && o.Object.Name != "c2" {
				t.Errorf("%s is blocked by %v", o.Object.Name, by)
			}
			p.Wait(o)
			continue
		}
		applied = append(applied, o.Object.Name)
		if o.Object.Name == "a1" {
			p.Wait(o)
		}
	}
	if got := strings.Join(applied, " "); got != "a0 a1 b1" {
		t.Errorf("applied %s", got)
	}
	if !p.Waits("a") || p.Waits("b") || !p.Waits("c") {
		t.Errorf("waiting are %v", p.lowest)
	}
}

// TestOrderProperty: every need of the same stage, or a lower one, stands before what needs it, and the order does not
// depend on that of the input.
func TestOrderProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "n")
		var in []fn.Rendered
		for i := range n {
			var needs []krm.ID
			stage := rapid.IntRange(0, 3).Draw(rt, "stage")
			for j := range i {
				if in[j].Stage <= stage && rapid.Bool().Draw(rt, "needs") {
					needs = append(needs, in[j].Object.ID())
				}
			}
			in = append(in, object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o"+string(rune('a'+i))+"}\n", stage, needs...))
		}
		all := Order(in)
		place := map[krm.ID]int{}
		for i, o := range all {
			place[o.Object.ID()] = i
			for _, need := range o.Needs {
				if at, before := place[need]; !before || at >= i {
					rt.Fatalf("%v stands after what needs it", need)
				}
			}
		}
		slices.Reverse(in)
		if names(Order(in)) != names(all) {
			rt.Fatal("the order depends on that of the input")
		}
	})
}
