package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// mishaps are what else may become of the facts of a script: a text in their JSON,
// and what takes its place.
var mishaps = [][2]string{
	{"", ""},
	{`"status":"True"`, `"status":"False"`},
	{`"phase":"Bound"`, `"phase":"Lost"`},
	{`"phase":"ONLINE"`, `"phase":"DEGRADED","conditions":[{"type":"DiskUnavailable","status":"True","message":"sdb","lastTransitionTime":"2026-04-01T00:00:00Z"}]`},
	{`"phase":"Healthy"`, `"phase":"Degraded"`},
	{`"readOnly":false`, `"readOnly":true`},
	{`"healthyInstances":3`, `"healthyInstances":2`},
	{`"attached":true`, `"attached":false,"attachError":{"message":"in use"}`},
	{`"kind":"CStorPoolInstance"`, `"kind":"Gone"`},
	{`"cstorpoolinstance.openebs.io/hostname":"n1"`, `"cstorpoolinstance.openebs.io/hostname":"n9"`},
}

// TestSnapshotHasAllThatIsShown holds for status and tree what
// TestSnapshotHasAllThatIsRead does for the renderer: what the scripts show of whole
// facts, they would of slimmed ones, also where the rendered objects are those that
// live in the cluster.
func TestSnapshotHasAllThatIsShown(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	same := map[string]bool{} // what several scripts begin with
	for _, script := range scripts {
		if name := filepath.Base(script); !strings.HasPrefix(name, "status-") && !strings.HasPrefix(name, "tree") {
			continue
		}
		var read []folder.Package
		for _, dir := range unpack(t, script) {
			p, _, err := folder.Read(folder.Input{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, p)
		}
		slices.Reverse(read) // files that a script puts in place later come first
		var all []byte
		for _, o := range union(t, read, mishaps[0]) {
			all = document.AppendJSON(all, o.Node)
		}
		if same[string(all)] {
			continue
		}
		same[string(all)] = true
		for i, m := range mishaps {
			if testing.Short() && i != len(same)%len(mishaps) {
				continue // another one for each script
			}
			whole := union(t, read, m)
			asTheyAre := func(_ *testing.T, objects []*krm.Object) []*krm.Object { return objects }
			shown := shows(t, whole, asTheyAre)
			if got := shows(t, whole, slimAll); got != shown {
				t.Errorf("%s with %s: from slimmed facts\n%s\nwant\n%s", script, m[1], got, shown)
			}
			compared += len(shown)
		}
	}
	if compared < 100_000 {
		t.Errorf("compared only %d bytes", compared)
	}
}

// union is all objects of some packages, the first of each identity, after a mishap.
func union(t *testing.T, packages []folder.Package, mishap [2]string) []*krm.Object {
	t.Helper()
	var objects []*krm.Object
	seen := map[krm.ID]bool{}
	for _, p := range packages {
		facts, _ := poolwright().Facts(p.Objects, true) // opens the wrappers
		for _, o := range facts {
			if seen[o.ID()] {
				continue
			}
			seen[o.ID()] = true
			text := document.AppendJSON(nil, o.Node)
			if mishap[0] != "" {
				text = bytes.ReplaceAll(text, []byte(mishap[0]), []byte(mishap[1]))
			}
			objects = append(objects, parsed(t, text))
		}
	}
	return objects
}

// slimAll is what a snapshot would have of objects, whole where it is of no kind
// that one has.
func slimAll(t *testing.T, objects []*krm.Object) []*krm.Object {
	t.Helper()
	var options snapshot.Options
	options.Keep(objects)
	slimmed := slices.Clone(objects)
	for i, o := range objects {
		kind, _ := poolwright().Kinds().Find(o.GroupKind())
		if kind.Keep == "" || !kind.Reads(o.Name) {
			continue
		}
		item, keeps, err := options.Slim(&kind)(document.AppendJSON(nil, o.Node))
		if err != nil {
			t.Fatal(err)
		}
		if keeps {
			slimmed[i] = snapshot.Facts(cluster.Resource{}, &kind, []snapshot.Item{item})[0]
		}
	}
	return slimmed
}

func parsed(t *testing.T, text []byte) *krm.Object {
	t.Helper()
	docs, err := document.Parse(&document.Source{Data: text})
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewObject(nil, &docs[0].Node)
}

// shows is all that status and tree say of facts, whole or as taken. What is
// rendered is what the whole facts render to: as it lies in Git, and as it is taken
// from the cluster.
func shows(t *testing.T, whole []*krm.Object, take func(*testing.T, []*krm.Object) []*krm.Object) string {
	t.Helper()
	facts := take(t, whole)
	output := poolwright().Render(fn.Package{Objects: inInventory(whole)}).Output()
	var b strings.Builder
	for _, lock := range [][]*krm.Object{output, take(t, output)} {
		statuses, _ := poolwright().Status(fn.Package{Objects: poolwright().Kinds().Specs(whole), Output: lock}, inventory.NewLive(facts))
		b.WriteString(asLines(t, statuses))
	}
	b.WriteString(asLines(t, poolwright().Tree(facts, krm.ID{})))
	for _, o := range facts {
		if _, err := poolwright().Kinds().Root(o.Kind); err == nil {
			b.WriteString(asLines(t, poolwright().Tree(facts, o.ID())))
		}
	}
	return b.String()
}

// inInventory says of objects that they are facts, of all but the specs.
func inInventory(objects []*krm.Object) []*krm.Object {
	specs := poolwright().Kinds().Specs(objects)
	placed := make([]*krm.Object, len(objects))
	for i, o := range objects {
		fact := *o
		if !slices.Contains(specs, o) {
			fact.Path = "inventory/f.yaml"
		}
		placed[i] = &fact
	}
	return placed
}

// risks is what plan says of making, changing and removing all that is rendered.
func risks(t *testing.T, facts *inventory.Facts, p folder.Package, r fn.Result) string {
	t.Helper()
	var b strings.Builder
	old, wanted := p.Ours(), r.Output()
	for _, changes := range [][]*change.Change{change.Between(old, wanted), change.Between(wanted, nil), change.Between(smaller(t, wanted), wanted)} {
		for _, c := range poolwright().Assess(fn.Package{Objects: p.Objects, Output: p.Lock}, facts, changes) {
			b.WriteString(asLines(t, c.Reasons))
		}
	}
	return b.String()
}

// smaller are objects when they asked for less storage.
func smaller(t *testing.T, objects []*krm.Object) []*krm.Object {
	t.Helper()
	var before []*krm.Object
	for _, o := range objects {
		text := document.AppendJSON(nil, o.Node)
		before = append(before, parsed(t, bytes.ReplaceAll(text, []byte(`"requests":{"storage":"`), []byte(`"requests":{"storage":"0.`))))
	}
	return before
}

func asLines(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}
