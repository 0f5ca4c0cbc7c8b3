package schema

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/mutation"
)

// A document in which anything may have gone wrong gives JSON or an error,
// never both, never a panic, and the walk and CUE agree on it.
func TestCompleteMutated(t *testing.T) {
	seeds := documents(t, "../testdata/documents/*/*valid/*.yaml")
	s := Load()
	rapid.Check(t, func(t *rapid.T) {
		n := mutation.Clone(rapid.SampledFrom(seeds).Draw(t, "seed"))
		ref := refOf(&n)
		for range rapid.IntRange(0, 4).Draw(t, "mistakes") {
			mutation.Mutate(t, &n)
		}
		text := document.Append(nil, &n, 0)
		completed, findings := s.Complete(nil, ref, &n)
		if !bytes.Equal(text, document.Append(nil, &n, 0)) {
			t.Fatal("the document itself was changed")
		}
		s.Check(nil, ref, &n)
		for _, f := range findings {
			if f.Rule == "schema" {
				t.Fatalf("%v\n%s", f, text)
			}
		}
		if completed != nil && (!json.Valid(completed) || finding.Failed(findings)) {
			t.Fatalf("completed %s with %v", completed, findings)
		}
		if completed == nil && !finding.Failed(findings) && ref.Kind != "Inventory" {
			t.Fatalf("neither completed nor an error\n%s", text)
		}
	})
}
