package fn

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImports holds the direction of imports (ARCHITECTURE.md, Packages), that what
// renders can reach neither a cluster, nor a program, nor the network, and that
// the product does not need what only its proofs need.
func TestImports(t *testing.T) {
	const module = "github.com/poolwright/poolwright/"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := map[string]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		importer := strings.TrimPrefix(fields[0], module)
		room, _, _ := strings.Cut(importer, "/")
		packages[room]++
		for _, imported := range fields[1:] {
			if reason := refuseImport(importer, room, strings.TrimPrefix(imported, module)); reason != "" {
				t.Errorf("%s imports %s, %s", importer, imported, reason)
			}
		}
	}
	for _, room := range []string{"schema", "fn", "folder", "plan", "live", "service", "controller", "console", "nodeagent", "cmd", "test"} {
		if packages[room] == 0 {
			t.Errorf("saw no package in %s:\n%s", room, out)
		}
	}
}

// refuseImport says why a package of a room may not import another, or "".
// Imports in the same module are relative to it.
func refuseImport(importer, room, imported string) string {
	root, _, _ := strings.Cut(imported, "/")
	order := []string{"schema", "fn", "terminal", "folder", "plan", "live", "service", "controller", "console", "cmd"}
	if room == "nodeagent" {
		return refuseAgent(importer, imported)
	}
	place, target := slices.Index(order, room), slices.Index(order, root)
	pure := room == "schema" || room == "fn"
	switch {
	case pure && (imported == "os" || imported == "os/exec" || root == "net" && imported != "net/url" || strings.HasPrefix(imported, "k8s.io/client-go")):
		return "which reaches out of the function"
	case place >= 0 && target > place:
		return "which is above it"
	case room == "service" && (root == "live" || strings.HasPrefix(imported, "k8s.io/client-go") || imported == "os/exec"):
		return "and the service has no cluster and runs no program"
	case room != "live" && room != "test" && importer != "cmd/nodeagent" && !strings.HasPrefix(importer, "cmd/internal/bench/") && strings.HasPrefix(imported, "k8s.io/client-go"):
		return "and only live and nodeagent talk to the API server"
	case room == "controller" && imported == "os/exec":
		return "and the controller runs no program"
	case room == "console" && (imported == "os/exec" || strings.HasPrefix(imported, "k8s.io/")):
		return "and the console has no cluster and runs no program"
	case room == "console" && slices.Contains(systemPackages(), imported):
		return "and the console knows no system"
	// The benchmarks are programs that are not shipped, over packages of cmd.
	case root == "nodeagent" && room != "test" && importer != "cmd/nodeagent":
		return "which may touch disks"
	case root == "test" && room != "test" && !strings.HasPrefix(importer, "cmd/internal/bench/"):
		return "which is for tests only"
	}
	return ""
}

// systemPackages are those of the storage systems.
func systemPackages() []string {
	return []string{"fn/systems", "fn/cstor", "fn/cstorvolume", "fn/diskpool", "fn/localvolume", "fn/hypercloud"}
}

// refuseAgent says the same for a package of the node agent. It renders nothing, so that of fn
// and schema it has what a disk, a size and an option of mkfs are, and its own packages are in layers: what is
// looked at knows nothing of what is done. Two know of the API server: what reconciles with it, and what asks it who may
// read the metrics.
func refuseAgent(importer, imported string) string {
	layers := [][]string{
		{"apart", "access"}, {"host", "gpt", "mark"}, {"device", "lvm", "raid", "probe"}, {"api", "facts", "step"}, {"guard"}, {"source", "inventory"}, {"controller"},
	}
	layer := func(path string) int {
		return slices.IndexFunc(layers, func(names []string) bool { return slices.Contains(names, strings.TrimPrefix(path, "nodeagent/")) })
	}
	root, _, _ := strings.Cut(imported, "/")
	switch {
	case imported == "fn/disk", imported == "schema/quantity", imported == "schema/mkfs", importer == "nodeagent/internal/fixture":
		return ""
	case slices.Contains([]string{"fn", "schema", "live", "cmd", "test"}, root), strings.HasPrefix(imported, "cuelang.org/"), strings.HasPrefix(imported, "sigs.k8s.io/kustomize/"):
		return "which an agent on a node has no use for"
	case imported == "os/exec" && importer != "nodeagent/host" && importer != "nodeagent/apart": // which runs the agent itself
		return "and programs of the node are run by nodeagent/host"
	case (strings.HasPrefix(imported, "k8s.io/client-go") || strings.HasPrefix(imported, "net/")) && importer != "nodeagent/controller" && importer != "nodeagent/access":
		return "and only nodeagent/controller and nodeagent/access talk to the API server"
	case root == "nodeagent" && layer(importer) < 0 && importer != "nodeagent":
		return "and is in no layer"
	case root == "nodeagent" && layer(imported) >= layer(importer):
		return "which is not below it"
	}
	return ""
}

// TestNoClock: times may be read from facts, but what is now is nobody's
// business here (ARCHITECTURE.md, rule 1).
func TestNoClock(t *testing.T) {
	clock := regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)\b`)
	files := 0
	for _, root := range []string{".", "../schema"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
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
