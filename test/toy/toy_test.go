package toy_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/expected"
	"github.com/poolwright/poolwright/test/toy"
)

// function is that of all systems and one more: the line that adds a system.
var function = sync.OnceValue(func() *fn.Function {
	return fn.New(schema.Load(toy.Definitions()), append(systems.All(), toy.System{})...)
})

const specs = `
apiVersion: toy.example/v1
kind: Tank
metadata:
  name: small
  namespace: garden
spec:
  sign: true
---
apiVersion: water.example/v1
kind: Reservoir
metadata:
  name: large
spec:
  disks: 2
`

// disks are those of a node, as facts.
func disks(names ...string) string {
	text := `
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels:
    kubernetes.io/hostname: n1
`
	for _, name := range names {
		text += fmt.Sprintf(`---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata:
  name: %[1]s
  namespace: openebs
  labels:
    kubernetes.io/hostname: n1
spec:
  path: /dev/%[1]s
  capacity:
    storage: 107374182400
  details:
    deviceType: disk
    serial: serial-%[1]s
status:
  claimState: Unclaimed
  state: Active
`, name)
	}
	return text
}

func parse(t testing.TB, texts ...string) []*krm.Object {
	t.Helper()
	var all []*krm.Object
	for i, text := range texts {
		objects, err := parseText(i, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}

func parseText(i int, text string) ([]*krm.Object, error) {
	return krm.Parse(&document.Source{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(strings.TrimPrefix(text, "\n"))})
}

// render renders without an error, and reads the output as the next run does.
func render(t testing.TB, p fn.Package) (lock []*krm.Object, r fn.Result) {
	t.Helper()
	r = function().Render(p)
	for _, f := range r.Findings {
		if f.Severity == finding.Error {
			t.Fatal(f)
		}
	}
	return parse(t, written(r)), r
}

func written(r fn.Result) string {
	texts := make([]string, len(r.Objects))
	for i, o := range r.Objects {
		texts[i] = string(o.Object.Raw)
	}
	return strings.Join(texts, "---\n")
}

// rules are the rules of the findings.
func rules(fs []finding.Finding) []string {
	var rules []string
	for _, f := range fs {
		rules = append(rules, f.Rule)
	}
	return rules
}

func TestRender(t *testing.T) {
	objects := parse(t, specs, disks("sda", "sdb", "sdc", "sdd"))
	lock, r := render(t, fn.Package{Objects: objects})
	var paths []string
	for _, o := range r.Objects {
		paths = append(paths, o.Path+" "+o.Object.Name)
		if stateful := o.Object.Annotation("kustomize.toolkit.fluxcd.io/prune") != ""; stateful != (o.Object.Kind == "Basin") {
			t.Errorf("%s: protected is %v", o.Object.Ref, stateful)
		}
	}
	want := []string{
		"reservoir.large/basin.yaml reservoir-large-sda", "reservoir.large/basin.yaml reservoir-large-sdb", "reservoir.large/level.yaml reservoir-large",
		"tank.garden.small/basin.yaml tank-garden-small-sdc", "tank.garden.small/level.yaml tank-garden-small", "tank.garden.small/sign.yaml tank-garden-small",
	}
	if slices.Sort(paths); !slices.Equal(paths, want) {
		t.Errorf("rendered %q", paths)
	}
	if _, again := render(t, fn.Package{Objects: objects, Output: lock}); written(again) != written(r) {
		t.Errorf("rendered again:\n%s\nwant\n%s", written(again), written(r))
	}
}

// What is of the spec's own API group and holds data is not dropped in silence; what
// holds none is.
func TestRemoval(t *testing.T) {
	facts := disks("sda", "sdb", "sdc")
	lock, _ := render(t, fn.Package{Objects: parse(t, specs, facts)})
	fewer := strings.Replace(strings.Replace(specs, "disks: 2", "disks: 1", 1), "sign: true", "sign: false", 1)
	r := function().Render(fn.Package{Objects: parse(t, fewer, facts), Output: lock})
	if got := slices.Sorted(slices.Values(rules(r.Findings))); !slices.Equal(got, []string{"removed", "would-destroy"}) {
		t.Errorf("findings %v", r.Findings)
	}
	const lost expected.Text = "Basin reservoir-large-sdb is no longer wanted, and removing it would lose data; keep the setting that made it, or annotate the config with poolwright.io/allow-removal: Basin/reservoir-large-sdb"
	lost.In(t, fmt.Sprint(r.Findings))
	consent := strings.Replace(fewer, "  name: large", "  name: large\n  annotations:\n    poolwright.io/allow-removal: Basin/reservoir-large-sdb", 1)
	if _, r = render(t, fn.Package{Objects: parse(t, consent, facts), Output: lock}); len(r.Objects) != 5 { // a DiskLock among them
		t.Errorf("rendered with consent:\n%s", written(r))
	}
	orphan := function().Render(fn.Package{Objects: parse(t, facts), Output: lock})
	if got := rules(orphan.Findings); !slices.Equal(got, []string{"orphan", "orphan"}) || !strings.Contains(orphan.Findings[0].Message, "Reservoir/large") {
		t.Errorf("findings %v", orphan.Findings)
	}
}

func TestUnknownField(t *testing.T) {
	fs := function().Vet(fn.Package{Objects: parse(t, strings.Replace(specs, "disks: 2", "diks: 2", 1))})
	if len(fs) != 1 || !strings.Contains(fs[0].Message, `did you mean "disks"`) {
		t.Errorf("findings %v", fs)
	}
}

func TestPlan(t *testing.T) {
	facts := disks("sda", "sdb", "sdc", "sdd")
	lock, _ := render(t, fn.Package{Objects: parse(t, specs, facts)})
	more, r := render(t, fn.Package{Objects: parse(t, strings.Replace(specs, "disks: 2", "disks: 3", 1), facts), Output: lock})
	risks := func(old, new []*krm.Object) map[change.Risk]int {
		count := map[change.Risk]int{}
		for _, c := range function().Assess(fn.Package{Output: old}, r.Facts, change.Between(old, new)) {
			count[c.Risk]++
		}
		return count
	}
	if got := risks(lock, more); got[change.Safe] != 2 || len(got) != 1 {
		t.Errorf("one basin more: %v", got)
	}
	if got := risks(more, lock); got[change.Safe] != 1 || got[change.Destructive] != 1 {
		t.Errorf("one basin less: %v", got)
	}
}

// A snapshot has what the declaration keeps, and statuses and trees are made of it.
func TestSnapshot(t *testing.T) {
	lock, _ := render(t, fn.Package{Objects: parse(t, specs, disks("sda", "sdb", "sdc"))})
	live := disks("sda", "sdb", "sdc") + `---
apiVersion: toy.example/v1
kind: Gauge
metadata:
  name: g
spec:
  key: hunter2
status:
  reading: "7"
`
	for _, o := range lock {
		if o.Kind == "Basin" {
			live += "---\n" + string(o.Raw) + "status:\n  phase: Full\n  key: hunter2\n"
		}
	}
	snap, fs := snapshot.Dump(parse(t, live), "", snapshot.Options{Kinds: function().Kinds().Read()})
	if finding.Failed(fs) {
		t.Fatal(fs)
	}
	facts := snap.Objects()
	for _, o := range facts {
		if text := string(document.AppendJSON(nil, o.Node)); strings.Contains(text, "hunter2") {
			t.Errorf("a snapshot keeps %s", text)
		}
	}
	statuses, _ := function().Status(fn.Package{Objects: parse(t, specs), Output: lock}, inventory.NewLive(facts))
	if len(statuses) != 2 || statuses[0].Phase != health.OK || statuses[0].Message != "all basins are full, at 7" || statuses[1].Phase != health.OK {
		t.Errorf("statuses %v", statuses)
	}
	root, err := function().Kinds().Root("bs")
	if err != nil {
		t.Fatal(err)
	}
	id, err := function().TreeRoot(facts, root.GroupKind, "", "reservoir-large-sda")
	if err != nil {
		t.Fatal(err)
	}
	trees := function().Tree(facts, id)
	if len(trees) != 1 || trees[0].State != "Full" || trees[0].Children[0].Object.Name != "sda" {
		t.Errorf("trees %v", trees)
	}
}

// What-if judges a sixth system by its own rules.
func TestWhatIf(t *testing.T) {
	lock, _ := render(t, fn.Package{Objects: parse(t, specs, disks("sda", "sdb", "sdc"))})
	live := disks("sda", "sdb", "sdc")
	for _, o := range lock {
		if o.Kind == "Basin" {
			live += "---\n" + string(o.Raw)
		}
	}
	ask := func(words ...string) resilience.Answer {
		changes, err := resilience.ParseChanges(words)
		if err != nil {
			t.Fatal(err)
		}
		w, err := function().WhatIf(fn.Question{Package: fn.Package{Objects: parse(t, specs), Output: lock}, Facts: parse(t, live), Changes: changes})
		if err != nil {
			t.Fatal(err)
		}
		return w.Answer
	}
	if a := ask("lose disk/sda"); a.Summary != (resilience.Summary{Total: 3, Lost: 1, Safe: 2}) || a.Volumes[0].Cause != "disk/sda" {
		t.Errorf("without sda: %+v", a)
	}
	if a := ask("stop node/n1"); a.Summary != (resilience.Summary{Total: 3, Stops: 3}) || a.PoolsSummary != a.Summary {
		t.Errorf("n1 stops: %+v", a)
	}
}

// Where two systems want a disk, each says who has it.
func TestCompete(t *testing.T) {
	cluster := fmt.Sprintf(cluster, 1)
	objects := parse(t, specs, cluster, disks("sda", "sdb"))
	lock, r := render(t, fn.Package{Objects: objects})
	said := map[string]string{} // who was refused which disk -> why
	for _, c := range function().Render(fn.Package{Objects: objects, Output: lock}).Choices {
		if c.Verdict == place.Refused {
			said[c.Spec.Kind+" "+c.Subject.Name] = c.Reason
		}
	}
	if why := said["Reservoir sda"]; !strings.Contains(why, "CStor") {
		t.Errorf("the reservoir lacks sda since %q\n%s", why, written(r))
	}
	// Now the toy is first, and keeps what it has.
	lock, _ = render(t, fn.Package{Objects: parse(t, specs, disks("sda", "sdb"))})
	_, r = render(t, fn.Package{Objects: objects, Output: lock})
	if !slices.ContainsFunc(r.Choices, func(c place.Choice) bool {
		return c.Spec.Kind == "CStorClusterConfig" && strings.Contains(c.Reason, "taken by Reservoir large")
	}) {
		t.Errorf("choices %v", r.Choices)
	}
}
