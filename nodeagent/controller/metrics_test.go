package controller

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestMetricsPage holds that docs/node-agent.md lists every metric with its labels, and no other.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/node-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, are []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(poolwright_agent_\\w+)` \\| \\w+ \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1]+" "+strings.NewReplacer("`", "", " ", "").Replace(m[2]))
	}
	descs := make(chan *prometheus.Desc, 100)
	for _, c := range NewMetrics().collectors() {
		c.Describe(descs)
	}
	close(descs)
	of := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([^}]*)\}`)
	for d := range descs {
		m := of.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s is not understood", d)
		}
		are = append(are, m[1]+" "+m[2])
	}
	slices.Sort(listed)
	slices.Sort(are)
	if !slices.Equal(listed, are) {
		t.Errorf("docs/node-agent.md lists\n%s\nand the agent has\n%s", strings.Join(listed, "\n"), strings.Join(are, "\n"))
	}
}
