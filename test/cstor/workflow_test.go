package cstor

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

var update = flag.Bool("update", false, "rewrite the table of docs/day2-renders.md")

// workflow is something that a person does to a cluster at rest: five nodes, of which four
// have a pool with three mirrors' room, and volumes with three replicas.
type workflow struct {
	name   string
	change func(h *history) error
}

// workflows are those of the document that the system comes from, and what day 2 adds.
func workflows() []workflow {
	c := func(h *history) *config { return h.configs[0] }
	return []workflow{
		{"A pool is added (`minPoolCount` raised)", func(h *history) error { c(h).minimum = 5; return nil }},
		{"Every pool gets one more RAID group (`minCount` raised)", func(h *history) error { c(h).groups = 2; return nil }},
		{"A full pool grows", func(h *history) error { return h.cluster.Fill("n1", 82) }},
		{"A failed disk is replaced", func(h *history) error {
			c(h).replace = []string{"n2-0"}
			return h.cluster.Befall(func() error { return h.cluster.Break("n2-0", true) })
		}},
		{"A node is drained (`poolwright.io/drain`, with consent)", func(h *history) error {
			c(h).minimum, c(h).drain = 3, []string{"n4"}
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return nil
		}},
		{"A node is lost for good, with consent", func(h *history) error {
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return h.cluster.Lose("n4")
		}},
		{"The selector changes from one node to another, with consent", func(h *history) error {
			c(h).label = "a"
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return h.cluster.Label("n4", "pool", "b")
		}},
		{"There are fewer pools (`maxPoolCount` lowered, with consent)", func(h *history) error {
			c(h).minimum, c(h).maximum = 3, 3
			c(h).allow("CStorClusterStorageSet/prod-n4")
			return nil
		}},
		{"Settings change (`compression`)", func(h *history) error { c(h).compression = "lz4"; return nil }},
		{"The config is deleted, with consent, after its volumes", func(h *history) error {
			for i := range h.cluster.VolumeConfigs {
				h.cluster.Unprovision(i)
			}
			h.configs = nil
			for _, o := range h.rendered {
				o.SetAnnotation("poolwright.io/allow-removal", "CStorPoolCluster/prod")
			}
			return nil
		}},
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

// toRest takes turns until nothing changes, and counts the renders that changed something.
func (h *history) toRest(t *testing.T) (renders int) {
	t.Helper()
	before, quiet := textOf(h.rendered), 0
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
		if now := textOf(h.rendered); now != before {
			before, quiet, renders = now, 0, renders+1
		} else if quiet++; quiet == restTurns {
			break
		}
	}
	if err := h.cluster.Watch.Err(); err != nil {
		t.Fatal(err)
	}
	return renders
}

// TestWorkflows counts how many renders each workflow takes, and holds the table in the
// documents to it: it grows no faster than the volumes.
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
			h := restful(t, volumes)
			if err := w.change(h); err != nil {
				t.Fatal(err)
			}
			h.cluster.Advance(1)
			took = append(took, h.toRest(t))
			fmt.Fprintf(&b, " | %d", took[len(took)-1])
		}
		b.WriteString(" |\n")
		if took[0] == 0 || took[2] > took[1]*10 {
			t.Errorf("%s: %v renders for %v volumes", w.name, took, sizes)
		}
	}
	checkTable(t, "../../docs/day2-renders.md", b.String())
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
