package cstor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// An inventory in which the same CStorPoolCluster has changed less often than in the one that
// the output was last changed from changes nothing; any other is rendered.
func TestOlderInventory(t *testing.T) {
	const settings = "\n    compression: lz4"
	// given is the package with its CStorPoolCluster as it was counted, and more settings.
	given := func(counted, settings string) []*krm.Object {
		objects := parse(t, apply(t, factsOf(t, local), []edit{{cspc, "  name: prod\n", "  name: prod\n" + counted}}))
		for _, o := range objects {
			o.Path = inventory.Folder + "/facts.yaml"
		}
		return append(objects, parse(t, apply(t, specOf(t, local), []edit{{"cstor", "raidType: mirror", "raidType: mirror" + settings}}))...)
	}
	render := func(counted, settings string, output []*krm.Object) ([]*krm.Object, fn.Result) {
		r := poolwright().Render(fn.Package{Objects: given(counted, settings), Output: output})
		var all []*krm.Object
		for _, o := range r.Objects {
			again := parse(t, map[string]string{o.Path: string(o.Object.Raw)})[0]
			again.Path = o.Path
			all = append(all, again)
		}
		if len(all) == 0 {
			t.Fatal(r.Findings)
		}
		return all, r
	}
	counted := func(uid string, generation int) string {
		return fmt.Sprintf("  uid: %s\n  generation: %d\n", uid, generation)
	}
	text := func(objects []*krm.Object) string {
		var b strings.Builder
		for _, o := range objects {
			b.Write(o.Raw)
		}
		return b.String()
	}
	first, _ := render(counted("u1", 7), "", nil)
	if !strings.Contains(text(first), "generation: 7") {
		t.Fatalf("the plan does not remember the generation:\n%s", text(first))
	}
	for _, c := range []struct {
		name, counted string
		older         bool
	}{
		{"the same", counted("u1", 7), false},
		{"newer", counted("u1", 8), false},
		{"older", counted("u1", 6), true},
		{"made anew", counted("u2", 1), false},
		{"of another tool, without a generation", "  uid: u1\n", false},
		{"of another tool, without a uid", "  generation: 6\n", false},
		{"of another tool, with neither", "", false},
	} {
		// Where nothing else is to change, the output stays as it is, whatever is counted.
		if quiet, r := render(c.counted, "", first); text(quiet) != text(first) {
			t.Errorf("%s: nothing is to change, and it does: %v\n%s", c.name, r.Findings, text(quiet))
		}
		now, r := render(c.counted, settings, first)
		held := slices.ContainsFunc(r.Findings, isOlder)
		if held != c.older || c.older != (text(now) == text(first)) {
			t.Errorf("%s: held %v, changed %v", c.name, held, text(now) != text(first))
		}
		if again, _ := render(c.counted, settings, now); text(again) != text(now) {
			t.Errorf("%s: to render again changes the output", c.name)
		}
		// What is remembered of an object outlasts facts that do not tell.
		if _, r := render(counted("u1", 6), "", now); !c.older && c.name != "made anew" && !slices.ContainsFunc(r.Findings, isOlder) {
			t.Errorf("%s: then an older one is not known any more", c.name)
		}
	}
}

func isOlder(f finding.Finding) bool { return f.Rule == "inventory-old" }
