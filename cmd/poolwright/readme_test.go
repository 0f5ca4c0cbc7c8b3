package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestReadme holds that the README shows what the program prints.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, command string }{
		{"../..", "poolwright status examples/cstor-local --from inventory"},
		{"../../examples/cstor-cloud", "poolwright tree pvc/prod-gke-prod-storage-a-1f3c-0 --from inventory"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Chdir(c.dir)
			var out, talk bytes.Buffer
			if code := run(strings.Fields(c.command)[1:], streams{in: strings.NewReader(""), out: &out, err: &talk}); code != exitFine {
				t.Fatalf("exit code %d: %s", code, talk.String())
			}
			session := "    $ " + c.command + "\n"
			for line := range strings.Lines(out.String()) {
				session += "    " + strings.TrimRight(line, " \n") + "\n"
			}
			if !strings.Contains(string(readme), session) {
				t.Errorf("the README does not have\n%s", session)
			}
		})
	}
}
