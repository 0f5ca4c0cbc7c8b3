package fn

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
			case imported == "os", imported == "os/exec", root == "net",
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

// TestNoClock: times may be read from facts, but what is now is nobody's
// business here (design, section 4, rule 1).
func TestNoClock(t *testing.T) {
	clock := regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)\b`)
	files := 0
	for _, root := range []string{".", "../schema"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			source, err := os.ReadFile(path)
			if call := clock.Find(source); call != nil {
				t.Errorf("%s calls %s", path, call)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Fatalf("saw %d files only", files)
	}
}
