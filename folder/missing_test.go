package folder

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNotedMissing: what the last snapshot noted is read from its file of Nodes, and from no file of a person.
func TestNotedMissing(t *testing.T) {
	const noted = "n2=2026-11-28T16:00:00Z"
	yaml := func(label, items string) string {
		return "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: nodes\n  labels:\n    app.kubernetes.io/managed-by: " + label +
			"\n  annotations:\n    poolwright.io/missing-nodes: \"" + noted + "\"\nitems:" + items + "\n"
	}
	for _, c := range []struct{ what, file, text, want string }{
		{"YAML", "nodes.yaml", yaml("poolwright", "\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}"), noted},
		{"none left", "nodes.yaml", yaml("poolwright", " []"), noted},
		{"JSON", "nodes.json", `{"apiVersion":"poolwright.io/v1alpha1","kind":"Inventory","metadata":{"name":"nodes","labels":{"app.kubernetes.io/managed-by":"poolwright"},"annotations":{"poolwright.io/missing-nodes":"` + noted + `"}},"items":[` + "\n" + `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}` + "\n]}\n", noted},
		{"a person's", "nodes.yaml", yaml("me", " []"), ""},
		{"another", "pods.yaml", yaml("poolwright", " []"), ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := NotedMissing(dir); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
