package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestReadme holds that the README's spec passes, and that its mistake is answered as
// it shows; the commands of the pages in docs are run by test/tutorial.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/cstor-local/cstor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, spec, _ := strings.Cut(string(readme), "```yaml\n")
	spec, _, _ = strings.Cut(spec, "```")
	if talk, code := vetted(t, spec); code != exitFine {
		t.Errorf("the spec of the README: %s", talk)
	}
	talk, code := vetted(t, strings.Replace(string(example), "raidType: mirror", "raidType: raidz9", 1))
	if code != exitFailed || !strings.Contains(string(readme), "\n    "+talk) {
		t.Errorf("the README does not have\n%s", talk)
	}
}

// vetted checks a spec, and returns what is said about it.
func vetted(t *testing.T, spec string) (talk string, code int) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("cstor.yaml", []byte(spec), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	code = run([]string{"vet"}, streams{in: strings.NewReader(""), out: &out, err: &said})
	return said.String(), code
}
