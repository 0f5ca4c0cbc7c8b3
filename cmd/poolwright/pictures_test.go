package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPictures holds that the pictures in docs/pictures are what the program draws of the
// fixtures. With -update they are drawn.
func TestPictures(t *testing.T) {
	pages, err := filepath.Abs("../../docs/pictures")
	if err != nil {
		t.Fatal(err)
	}
	before, made, planned := filepath.Join(t.TempDir(), "volumes"), filepath.Join(t.TempDir(), "storage"), filepath.Join(t.TempDir(), "nodes")
	for _, fixture := range []struct{ kind, name, dir string }{
		{"packages", "six-volumes", before},
		{"packages", "six-volumes", made}, {"snapshots", "six-volumes-made", filepath.Join(made, "inventory")}, {"snapshots", "six-volumes-ill", filepath.Join(made, "inventory")},
		{"packages", "three-nodes", planned},
	} {
		if err := copyFixture(fixture.kind, fixture.name, fixture.dir); err != nil {
			t.Fatal(err)
		}
	}
	drained := drainInPictures(t)
	for _, c := range []struct {
		name, dir string
		args      []string
		code      int
	}{
		{"drain-before", drained[0], []string{"tree", "--from", "inventory", "-o", "svg"}, exitFine},
		{"drain-added", drained[1], []string{"tree", "--from", "inventory", "-o", "svg"}, exitFine},
		{"drain-gone", drained[2], []string{"tree", "--from", "inventory", "-o", "svg"}, exitFine},
		{"preview", before, []string{"preview", "-o", "svg"}, exitFailed}, // one volume fails
		{"tree", made, []string{"tree", "--from", "inventory", "-o", "svg"}, exitFine},
		{"what-if", made, []string{"what-if", "stop", "node/n2", "--every", "node", "-o", "svg"}, exitFine},
		{"planned", planned, []string{"tree", "--planned", "-o", "svg"}, exitFine},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(c.dir)
			var drawn, said bytes.Buffer
			if code := run(c.args, streams{in: strings.NewReader(""), out: &drawn, err: &said}); code != c.code {
				t.Fatalf("exit %d: %s", code, &said)
			}
			file := filepath.Join(pages, c.name+".svg")
			if *update {
				if err := os.WriteFile(file, drawn.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, drawn.Bytes()) {
				t.Errorf("%s is not what the program draws (%v); run \"make generate\"", file, err)
			}
		})
	}
}
