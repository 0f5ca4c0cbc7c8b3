package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports holds that only the controller of Hydrations has what a registry of artifacts needs: poolwright
// would be larger, and start later.
func TestImports(t *testing.T) {
	for program, want := range map[string]bool{".": true, "../poolwright": false, "../nodeagent": false} {
		out, err := exec.Command("go", "list", "-deps", program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.Contains(string(out), "github.com/google/go-containerregistry/"); got != want {
			t.Errorf("%s: %v", program, got)
		}
	}
}
