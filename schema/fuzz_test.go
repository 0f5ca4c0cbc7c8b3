package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Whatever is written, Complete says something about it, in place, or gives JSON.
func FuzzComplete(f *testing.F) {
	files, err := filepath.Glob("../testdata/documents/*/*valid/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	s, uses := Load(), 0
	f.Fuzz(func(t *testing.T, data []byte) {
		src := &document.Source{Name: "fuzz.yaml", Data: data}
		docs, err := document.Parse(src)
		if err != nil || len(data) > 10_000 {
			return
		}
		if uses++; uses%1000 == 0 {
			s = Load() // a CUE context only grows
		}
		for i := range docs {
			n := &docs[i].Node
			ref := refOf(n)
			if ref.Kind == "" {
				ref.Kind = "CStorClusterConfig"
			}
			completed, findings := s.Complete(src.Position, ref, n)
			s.Check(nil, ref, n)
			if completed != nil && (!json.Valid(completed) || finding.Failed(findings)) {
				t.Fatalf("completed %q with %v", completed, findings)
			}
			for _, f := range findings {
				if f.Message == "" || f.Rule == "" || f.Pos.File != src.Name {
					t.Fatalf("a finding without message, rule or place: %+v", f)
				}
				if f.Rule == "schema" {
					t.Fatalf("the walk and CUE do not agree: %v", f)
				}
			}
		}
	})
}
