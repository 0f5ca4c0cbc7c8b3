package fn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestPlannedTree holds what the facts do not know: a node that is gone, disks that
// nobody reports, a spec for each of several.
func TestPlannedTree(t *testing.T) {
	spec := func(name string) finding.Ref { return finding.Ref{Kind: "Spec", Namespace: "x", Name: name} }
	node := func(name string) finding.Ref { return finding.Ref{APIVersion: "v1", Kind: "Node", Name: name} }
	disk := func(name string) finding.Ref { return finding.Ref{Kind: "Disk", Namespace: "x", Name: name} }
	trees := PlannedTree([]place.Choice{
		{Spec: spec("a"), Subject: disk("d1"), Node: "gone", Role: "data", Verdict: place.Held, Reason: "it is missing"},
		{Spec: spec("a"), Subject: node("gone"), Node: "gone", Verdict: place.Kept, Reason: "it is in the plan"},
		{Spec: spec("a"), Subject: disk("d0"), Node: "gone", Role: "spare", Verdict: place.Kept, Reason: "it is reserved"},
		{Spec: spec("a"), Subject: disk("d2"), Node: "gone", Verdict: place.Refused, Reason: "it is bad"},
		{Spec: spec("b"), Subject: node("gone"), Node: "gone", Verdict: place.Free, Reason: "enough"},
		{Spec: spec("a"), Subject: node("gone"), Node: "gone", Verdict: place.Held, Reason: "it is missing, too"},
		{Spec: spec("b"), Subject: disk("d1"), Node: "other", Verdict: place.Refused, Reason: "it is taken"},
	}, inventory.New(nil))
	var b strings.Builder
	var print func(t *health.Tree, indent string)
	print = func(t *health.Tree, indent string) {
		fmt.Fprintf(&b, "%s%s [%s] %s\n", indent, t.Object, t.State, t.Note)
		for _, c := range t.Children {
			print(c, indent+"  ")
		}
	}
	for _, tree := range trees {
		print(tree, "")
	}
	want := `Spec x/a [] 
  Zone (none) [] 1 of 1 node in use
    Node gone [held] it is missing, too
      Disk x/d1 [data, held] it is missing
      Disk x/d0 [spare] it is reserved
      Disk x/d2 [refused] it is bad
Spec x/b [] 
  Zone (none) [] 0 of 1 node in use
    Node gone [free] enough
  Disk x/d1 [refused] it is taken
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
