package fn

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestConfigMapDepth: no key of a ConfigMap makes a document that is nested deeper than a RenderConfig: whoever walks
// that would need a stack without bound.
func TestConfigMapDepth(t *testing.T) {
	key := strings.Repeat("a.", 100_000) + "a"
	rl, err := krm.ReadResourceList(&document.Source{Name: "stdin", Data: []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n" +
		"  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data:\n    ? " + key + "\n    : x\n")})
	if err != nil {
		t.Fatal(err)
	}
	depth := 0
	for n := configFromMap(rl.FunctionConfig).Node.Get("spec"); n.Kind() == document.Map; n = &n.Fields()[0].Value {
		depth++
	}
	if depth > 10 {
		t.Errorf("%d levels", depth)
	}
}
