package crds_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestLargest sends the largest selectors that vet takes, one term a node: the
// cost of the checks has a limit in the API server too.
func TestLargest(t *testing.T) {
	schemas := schema.Load()
	k := deployed(t, schemas)["CStorClusterConfig"]
	for _, terms := range []int{1000, 1001} {
		var nodes strings.Builder
		for i := range terms {
			fmt.Fprintf(&nodes, "    - {matchLabels: {kubernetes.io/hostname: node%d, example.com/zone: a}, matchExpressions: [{key: example.com/age, operator: Gt, values: [\"4\"]}, {key: example.com/pool, operator: In, values: [a, b]}]}\n", i)
		}
		o := parse(t, fmt.Sprintf(config, "large"))
		o.Node.Get("spec").Set("allowedNodes", *parse(t, "kind: x\nspec:\n  allowedNodes:\n    nodeSelectorTerms:\n"+nodes.String()).Node.Get("spec", "allowedNodes"))
		_, findings := schemas.Complete(nil, o.Ref, o.Node)
		a := create(t, k, o.Node)
		if taken := a.status == http.StatusCreated; taken != (terms <= 1000) || finding.Failed(findings) == taken {
			t.Errorf("%d terms: vet: %v\nAPI server: %s", terms, findings, a.message())
		}
	}
}
