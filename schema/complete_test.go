package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every document below testdata/documents/<kind> is completed; what is said about it, and
// what comes of it, stands beside it. A document of invalid/ has an error, one
// of valid/ has none.
func TestComplete(t *testing.T) {
	files, err := filepath.Glob("../testdata/documents/*/*valid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	s := Load()
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "../testdata/documents/"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src := &document.Source{Name: filepath.Base(file), Data: data}
			docs, err := document.Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			failed := false
			for i := range docs {
				n := &docs[i].Node
				before := document.Append(nil, n, 0)
				completed, findings := s.Complete(src.Position, refOf(n), n)
				if !bytes.Equal(before, document.Append(nil, n, 0)) {
					t.Error("the document itself was changed")
				}
				failed = failed || finding.Failed(findings)
				if finding.Failed(findings) != (completed == nil) && refOf(n).Kind != "Inventory" {
					t.Error("want a completed document exactly where there is no error")
				}
				if i > 0 {
					got.WriteString("---\n")
				}
				for _, f := range findings {
					fmt.Fprintf(&got, "%v\n", f)
				}
				if completed != nil {
					if err := json.Indent(&got, completed, "", "  "); err != nil {
						t.Error(err)
					}
					got.WriteByte('\n')
				}
			}
			if failed != strings.Contains(file, "/invalid/") {
				t.Errorf("failed: %v", failed)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", got.Bytes())
		})
	}
}

// A completed document is itself a valid one, and completing it changes nothing.
func TestCompleteTwice(t *testing.T) {
	s := Load()
	for _, n := range documents(t, "../testdata/documents/*/valid/*.yaml") {
		once, _ := s.Complete(nil, refOf(n), n)
		if once == nil {
			continue
		}
		again, err := document.Parse(&document.Source{Name: "completed", Data: once})
		if err != nil {
			t.Fatal(err)
		}
		n = &again[0].Node
		twice, findings := s.Complete(nil, refOf(n), n)
		for _, f := range findings {
			if f.Severity != finding.Warning {
				t.Errorf("%v: %v", refOf(n), f)
			}
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(once, &a), json.Unmarshal(twice, &b)); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v:\nonce  %s\ntwice %s", refOf(n), once, twice)
		}
	}
}

// documents reads every document of the files that match.
func documents(t *testing.T, pattern string) []*document.Node {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	var nodes []*document.Node
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := document.Parse(&document.Source{Name: file, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		for i := range docs {
			nodes = append(nodes, &docs[i].Node)
		}
	}
	return nodes
}
