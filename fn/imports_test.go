package fn

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports holds the direction of imports (design, section 2) and that what
// renders can reach neither a cluster, nor a program, nor the network.
func TestImports(t *testing.T) {
	const module = "github.com/poolwright/poolwright/"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"fn/...", module+"schema/...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		importer := strings.TrimPrefix(fields[0], module)
		packages++
		for _, imported := range fields[1:] {
			root, _, _ := strings.Cut(imported, "/")
			switch {
			case imported == "os", imported == "os/exec", root == "net", imported == "time" && !strings.HasPrefix(importer, "fn/inventory"),
				strings.HasPrefix(imported, "k8s.io/client-go"):
				t.Errorf("%s imports %s", importer, imported)
			case strings.HasPrefix(importer, "schema") && strings.HasPrefix(imported, module+"fn"),
				strings.HasPrefix(imported, module+"cmd"):
				t.Errorf("%s imports %s, which is above it", importer, imported)
			}
		}
	}
	if packages < 8 {
		t.Fatalf("saw %d packages only:\n%s", packages, out)
	}
}
