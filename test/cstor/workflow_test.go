package cstor

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

var update = flag.Bool("update", false, "rewrite the table of docs/day2.md")

// workflow is something that a person does to a cluster at rest: five nodes, of which four
// have a pool with three mirrors' room, and volumes with three replicas.
type workflow struct {
	name    string
	change  func(h *history) error
	deletes bool // the spec, after which a commit takes out what is left
}

// workflows are those of the document that the system comes from, and what day 2 adds.
func workflows() []workflow {
	c := func(h *history) *config { return h.configs[0] }
	return []workflow{
		{name: "A pool is added (`minPoolCount` raised)", change: func(h *history) error { c(h).minimum = 5; return nil }},
		{name: "Every pool gets one more RAID group (`minCount` raised)", change: func(h *history) error { c(h).groups = 2; return nil }},
		{name: "A full pool grows", change: func(h *history) error { return h.cluster.Fill("n1", 82) }},
		{name: "A failed disk is replaced", change: func(h *history) error {
			c(h).replace = []string{"n2-0"}
			return h.cluster.Befall(func() error { return h.cluster.Break("n2-0", true) })
		}},
		{name: "A node is drained (`poolwright.io/drain`, with consent)", change: func(h *history) error {
			c(h).minimum, c(h).drain = 3, []string{"n4"}
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return nil
		}},
		{name: "A node is lost for good, with consent", change: func(h *history) error {
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return h.cluster.Lose("n4")
		}},
		{name: "The selector changes from one node to another, with consent", change: func(h *history) error {
			c(h).label = "a"
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return h.cluster.Label("n4", "pool", "b")
		}},
		{name: "There are fewer pools (`maxPoolCount` lowered, with consent)", change: func(h *history) error {
			c(h).minimum, c(h).maximum = 3, 3
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return nil
		}},
		{name: "Settings change (`compression`)", change: func(h *history) error { c(h).compression = "lz4"; return nil }},
		{name: "The config is deleted, with consent, after its volumes", change: func(h *history) error {
			for i := range h.cluster.VolumeConfigs {
				h.cluster.Unprovision(i)
			}
			h.configs = nil
			for _, o := range h.rendered {
				o.SetAnnotation("poolwright.io/allow-removal", "CStorPoolCluster/prod")
			}
			return nil
		}, deletes: true},
	}
}

// restful makes the cluster of the workflows, with volumes, at rest.
func restful(t *testing.T, volumes int) *history {
	t.Helper()
	h := bare(1)
	h.cluster.SetWebhookTimeout(30)
	for i := range 5 {
		node := fmt.Sprintf("n%d", i+1)
		h.cluster.AddNode(node, "", map[string]string{"pool": "a"})
		for d := range 6 {
			h.cluster.AddDisk(node, fmt.Sprintf("%s-%d", node, d), 1<<40)
		}
	}
	h.cluster.Advance(1)
	h.configs = []*config{{name: "prod", raid: "mirror", minimum: 4, groups: 1}}
	h.toRest(t)
	for i := range volumes {
		h.cluster.Provision(fmt.Sprintf("pvc-%d", i), "prod", 3, "")
	}
	h.cluster.Advance(5)
	return h
}

// commits are the renders that changed something, and those of them that an engine sees.
type commits struct{ all, seen int }

// toRest takes turns until nothing changes, and counts the commits.
func (h *history) toRest(t *testing.T) (made commits) {
	t.Helper()
	before, applied, quiet := textOf(h.rendered), textOf(h.manifests()), 0
	for range 500 {
		h.snapshot()
		h.render()
		if finding.Failed(h.findings) {
			t.Fatal(h.said())
		}
		if refused := h.apply(); len(refused) > 0 {
			t.Fatal(refused)
		}
		h.cluster.Advance(6)
		if _, err := unfinalized(h, event{}); err != nil { // a warning says how
			t.Fatal(err)
		}
		now := textOf(h.rendered)
		if now == before {
			if quiet++; quiet == restTurns {
				break
			}
			continue
		}
		before, quiet = now, 0
		made.all++
		if now := textOf(h.manifests()); now != applied {
			applied = now
			made.seen++
		}
	}
	if err := h.cluster.Watch.Err(); err != nil {
		t.Fatal(err)
	}
	return made
}

// manifests are what is rendered for the cluster: all but what Poolwright remembers.
func (h *history) manifests() []*krm.Object {
	return slices.DeleteFunc(slices.Clone(h.rendered), func(o *krm.Object) bool { return o.Annotation(krm.AnnotationLocalConfig) == "true" })
}

// TestWorkflows counts how many commits of a workflow an engine sees, and compares the table of the page with
// that: it grows no faster than the volumes. There are no others but, once the spec is gone, that of the rest.
func TestWorkflows(t *testing.T) {
	if testing.Short() {
		t.Skip("not short")
	}
	t.Parallel()
	sizes := []int{3, 10, 100}
	var b strings.Builder
	b.WriteString("| workflow | 3 volumes | 10 volumes | 100 volumes |\n|---|---|---|---|\n")
	for _, w := range workflows() {
		b.WriteString("| " + w.name)
		var took []int
		for _, volumes := range sizes {
			made := w.run(t, restful(t, volumes))
			took = append(took, made.seen)
			fmt.Fprintf(&b, " | %d", made.seen)
			if made.all != made.seen && !w.deletes {
				t.Errorf("%s, %d volumes: an engine sees %d of %d commits", w.name, volumes, made.seen, made.all)
			}
		}
		b.WriteString(" |\n")
		if took[0] == 0 || took[2] > took[1]*10 {
			t.Errorf("%s: %v commits for %v volumes", w.name, took, sizes)
		}
	}
	checkTable(t, "../../docs/day2.md", b.String())
}

// run does a workflow, and counts the commits until the cluster is at rest.
func (w *workflow) run(t *testing.T, h *history) commits {
	t.Helper()
	if err := w.change(h); err != nil {
		t.Fatal(err)
	}
	h.cluster.Advance(1)
	return h.toRest(t)
}

// TestCommits limits the commits of workflows of other sizes. Four volumes at most are on their way at once, each
// for two commits, and a pool is drained when the one before it is empty: that is the least for those that leave.
func TestCommits(t *testing.T) {
	t.Parallel()
	fewer := func(h *history) error {
		c := h.configs[0]
		c.minimum, c.maximum = 3, 3
		c.allow("CStorClusterStorageSet/prod-n4")
		c.allow("CStorClusterStorageSet/prod-n5")
		return nil
	}
	for _, c := range []struct {
		of                       workflow
		pools, volumes, replicas int
		most                     int
	}{
		{workflow{name: "five pools become three", change: fewer}, 5, 20, 2, 12},
		{workflow{name: "five pools become three", change: fewer}, 5, 20, 3, 15},
		{workflow{name: "a node takes the place of another", change: func(h *history) error {
			h.configs[0].drain = []string{"n4"}
			h.configs[0].allow("CStorClusterStorageSet/prod-n4")
			return nil
		}}, 4, 8, 3, 6},
		{workflow{name: "a node is lost", change: func(h *history) error {
			h.configs[0].allow("CStorClusterStorageSet/prod-n4")
			return h.cluster.Lose("n4")
		}}, 4, 8, 3, 6},
	} {
		h := restful(t, 0)
		if h.configs[0].minimum = c.pools; c.pools > 4 {
			h.toRest(t)
		}
		for i := range c.volumes {
			h.cluster.Provision(fmt.Sprintf("pvc-%d", i), "prod", c.replicas, "")
		}
		h.cluster.Advance(5)
		made := c.of.run(t, h)
		t.Logf("%s, %d volumes of %d replicas: %+v", c.of.name, c.volumes, c.replicas, made)
		if made.all > c.most || made.seen != made.all {
			t.Errorf("%s, %d volumes of %d replicas: %d commits, of which an engine sees %d; %d at most are to be", c.of.name, c.volumes, c.replicas, made.all, made.seen, c.most)
		}
	}
}

// checkTable compares the table of a page with a new one.
func checkTable(t *testing.T, page, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Index(string(text), "| workflow |")
	if start < 0 {
		t.Fatalf("%s has no table of workflows", page)
	}
	end := start + strings.Index(string(text)[start:]+"\n\n", "|\n\n") + 2
	if end > len(text) {
		end = len(text)
	}
	if old := string(text[start:end]); old == table {
		return
	} else if !*update {
		t.Errorf("%s is not up to date; run this test with -update\n%s\nwas\n%s", page, table, old)
		return
	}
	if err := os.WriteFile(page, []byte(string(text[:start])+table+string(text[end:])), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestRenderGrowsLinearly: a render of twice the volumes allocates twice as much, and no
// more.
func TestRenderGrowsLinearly(t *testing.T) {
	if testing.Short() {
		t.Skip("not short")
	}
	allocations := func(volumes int) float64 {
		h := restful(t, volumes)
		h.snapshot()
		return testing.AllocsPerRun(2, h.render)
	}
	a, b, c := allocations(50), allocations(100), allocations(200)
	if c-b > 2.5*(b-a) {
		t.Errorf("50, 100 and 200 volumes take %.0f, %.0f and %.0f allocations", a, b, c)
	}
}

// TestStepsGrowLinearly: a render that asks for a step of every pool, none of which the webhook
// would answer in time, allocates twice as much for twice the pools, and no more.
func TestStepsGrowLinearly(t *testing.T) {
	if testing.Short() {
		t.Skip("not short")
	}
	allocations := func(pools int) float64 {
		h := bare(1)
		h.cluster.SetWebhookTimeout(100 * pools)
		for i := range pools {
			node := fmt.Sprintf("n%d", i+1)
			h.cluster.AddNode(node, "", nil)
			for d := range 4 {
				h.cluster.AddDisk(node, fmt.Sprintf("%s-%d", node, d), 1<<40)
			}
		}
		h.cluster.Advance(1)
		// The limit keeps all pools in one CStorPoolCluster.
		h.configs = []*config{{name: "prod", raid: "mirror", minimum: pools, groups: 1, limit: 4 * pools}}
		for range 2 {
			h.snapshot()
			h.render()
			h.apply()
			h.cluster.Advance(3)
		}
		h.configs[0].groups = 2
		h.snapshot()
		allocated := testing.AllocsPerRun(1, h.render)
		if late := fmt.Sprintf("and %d more", pools-10); !strings.Contains(h.said(), "not rendered: ") || !strings.Contains(whole(h.findings, "webhook-timeout"), late) {
			t.Fatalf("no step is too much for the webhook: %s", h.said())
		}
		return allocated
	}
	a, b, c := allocations(100), allocations(200), allocations(400)
	if c-b > 2.5*(b-a) {
		t.Errorf("100, 200 and 400 pools take %.0f, %.0f and %.0f allocations", a, b, c)
	}
}

// whole is what a rule says.
func whole(findings []finding.Finding, rule string) string {
	i := slices.IndexFunc(findings, func(f finding.Finding) bool { return f.Rule == rule })
	if i < 0 {
		return ""
	}
	return findings[i].Message
}
