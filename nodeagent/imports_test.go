package nodeagent_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports holds that the agent is small: no CUE, no kustomize, and nothing of what
// renders but the identity of a disk.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../cmd/nodeagent").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const module = "github.com/poolwright/poolwright/"
	seen := 0
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		own, isOurs := strings.CutPrefix(path, module)
		switch {
		case strings.HasPrefix(path, "cuelang.org/"), strings.HasPrefix(path, "sigs.k8s.io/kustomize/"):
			t.Errorf("the agent needs %s", path)
		case isOurs && strings.HasPrefix(own, "live/"), own == "fn", own == "schema":
			t.Errorf("the agent needs %s", own)
		case isOurs && strings.HasPrefix(own, "nodeagent/"):
			seen++
		}
	}
	if seen < 5 {
		t.Errorf("saw %d packages of the agent:\n%s", seen, out)
	}
}
