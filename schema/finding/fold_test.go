package finding_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

func many(n int, make func(i int) finding.Finding) []finding.Finding {
	fs := []finding.Finding{}
	for i := range n {
		fs = append(fs, make(i))
	}
	return fs
}

func TestFold(t *testing.T) {
	prod := finding.Ref{APIVersion: "v1", Kind: "Config", Name: "prod"}
	for name, c := range map[string]struct {
		in   []finding.Finding
		kept int
		more []finding.More
	}{
		"few stay": {in: many(5, func(i int) finding.Finding {
			return finding.Finding{Severity: finding.Warning, Rule: "disk", Object: prod, Message: fmt.Sprint(i)}
		}), kept: 5},
		"one a disk": {in: many(802, func(i int) finding.Finding {
			return finding.Finding{Severity: finding.Warning, Rule: "disk", Object: prod, Message: fmt.Sprint(i)}
		}), kept: 5, more: []finding.More{{Severity: finding.Warning, Rule: "disk", Object: prod, Count: 797}}},
		"one an item of a list": {in: many(10, func(i int) finding.Finding {
			return finding.Finding{Severity: finding.Error, Rule: "enum", Object: prod, Field: fmt.Sprintf("spec.list[%d].key", i)}
		}), kept: 5, more: []finding.More{{Severity: finding.Error, Rule: "enum", Object: prod, Count: 5}}},
		"each field is another mistake": {in: many(10, func(i int) finding.Finding {
			return finding.Finding{Severity: finding.Error, Rule: "unknown-field", Object: prod, Field: fmt.Sprintf("spec.f%d", i)}
		}), kept: 10},
		"so is each file": {in: many(10, func(i int) finding.Finding {
			return finding.Finding{Severity: finding.Error, Rule: "read", Pos: document.Position{File: fmt.Sprintf("%d.yaml", i)}}
		}), kept: 10},
		"one an object": {in: many(10, func(i int) finding.Finding {
			return finding.Finding{Severity: finding.Error, Rule: "duplicate", Object: finding.Ref{APIVersion: "v1", Kind: "Node", Name: fmt.Sprint(i)}}
		}), kept: 5, more: []finding.More{{Severity: finding.Error, Rule: "duplicate", Object: finding.Ref{APIVersion: "v1", Kind: "Node"}, Count: 5}}},
		"severities and rules": {in: many(8, func(i int) finding.Finding {
			return finding.Finding{Severity: []finding.Severity{finding.Info, finding.Warning}[i%2], Rule: []string{"a", "b"}[i/4], Object: prod}
		}), kept: 8},
	} {
		kept, more := finding.Fold(c.in, 5)
		if !slices.Equal(kept, c.in[:c.kept]) || !slices.Equal(more, c.more) {
			t.Errorf("%s: kept %d of %d, more %v, want %d and %v", name, len(kept), len(c.in), more, c.kept, c.more)
		}
	}
}

// TestFoldCountsAll: nothing is kept twice, out of order, or lost from the count.
func TestFoldCountsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letter := rapid.SampledFrom([]string{"a", "b", "c"})
		fs := many(rapid.IntRange(0, 60).Draw(t, "n"), func(i int) finding.Finding {
			return finding.Finding{
				Severity: rapid.SampledFrom([]finding.Severity{finding.Error, finding.Info}).Draw(t, "severity"),
				Rule:     letter.Draw(t, "rule"), Message: fmt.Sprint(i),
				Object: finding.Ref{Kind: rapid.SampledFrom([]string{"", "Node"}).Draw(t, "kind"), Name: letter.Draw(t, "name")},
			}
		})
		kept, more := finding.Fold(fs, 2)
		sum := len(kept)
		for _, m := range more {
			sum += m.Count
			if m.Count == 0 || !slices.ContainsFunc(kept, func(f finding.Finding) bool {
				return f.Severity == m.Severity && f.Rule == m.Rule && f.Object.Kind == m.Object.Kind
			}) {
				t.Errorf("%v stands for nothing that was kept", m)
			}
		}
		at := -1
		for _, f := range kept {
			now := slices.Index(fs, f)
			if now <= at {
				t.Errorf("%v is out of order", f)
			}
			at = now
		}
		if sum != len(fs) {
			t.Errorf("%d of %d findings", sum, len(fs))
		}
	})
}
