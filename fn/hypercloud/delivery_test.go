package hypercloud

import (
	"os"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/schema/document"
)

func TestGraph(t *testing.T) {
	g := graph()
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	for _, l := range levels() {
		if got := g.Folder(l.word()); got != l.String() {
			t.Errorf("level %s lies in %s", l, got)
		}
	}
	if got := strings.Join(g.Removal(), " "); got != "toolbox cdi classes pools cluster operators roles crds" {
		t.Error("removed in the order", got)
	}
}

// TestChecks: the checks that Flux gets with the output are those of deploy/flux/health.
func TestChecks(t *testing.T) {
	const file = "../../deploy/flux/health/exprs.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := document.Parse(&document.Source{Name: file, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]gitops.Check{}
	for _, patch := range docs[0].Node.Items() {
		for _, n := range patch.Seq("value") {
			told[n.Str("kind")] = gitops.Check{InProgress: n.Str("inProgress"), Failed: n.Str("failed"), Current: n.Str("current")}
		}
	}
	for _, c := range checks() {
		want, found := told[c.Kind]
		if !found || squeeze(c.InProgress) != squeeze(want.InProgress) || squeeze(c.Failed) != squeeze(want.Failed) || squeeze(c.Current) != squeeze(want.Current) {
			t.Errorf("of %s Flux is told\n%s\nand in %s\n%s", c.Kind, c.Current, file, want.Current)
		}
	}
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestChartVersion(t *testing.T) {
	for version, want := range map[string]string{"1.20": "1.20.x", "v1.20": "1.20.x", "1.20.1": "v1.20.1", "v1.20.1-rc.1": "v1.20.1-rc.1"} {
		if got := chartVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
