package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestDumpInAnyForm holds that it does not matter how objects were dumped: in which
// order, in how many files, as single objects, as Lists or in an Inventory, or twice.
func TestDumpInAnyForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []string
		for i := range rapid.IntRange(1, 8).Draw(t, "objects") {
			kind := rapid.SampledFrom([]string{
				`"apiVersion":"v1","kind":"Node","metadata":{"name":"o%d","uid":"u"}`,
				`"apiVersion":"openebs.io/v1alpha1","kind":"BlockDevice","metadata":{"namespace":"openebs","name":"o%d","uid":"u"}`,
			}).Draw(t, "kind")
			objects = append(objects, fmt.Sprintf("{"+kind+"}", i))
		}
		want := filesOf(t, objects)
		var dumps []string
		left := rapid.Permutation(append(objects, rapid.SampledFrom(objects).Draw(t, "twice"))).Draw(t, "order")
		for len(left) > 0 {
			n := rapid.IntRange(1, len(left)).Draw(t, "in a dump")
			items := strings.Join(left[:n], ",")
			switch rapid.IntRange(0, 2).Draw(t, "form") {
			case 0:
				dumps = append(dumps, `{"apiVersion":"v1","kind":"List","items":[`+items+`]}`)
			case 1:
				dumps = append(dumps, `{"apiVersion":"poolwright.io/v1alpha1","kind":"Inventory","metadata":{"name":"some"},"items":[`+items+`]}`)
			default:
				dumps = append(dumps, left[:n]...)
			}
			left = left[n:]
		}
		if got := filesOf(t, dumps); got != want {
			t.Fatalf("from\n%s\ngot\n%s\nwant\n%s", strings.Join(dumps, "\n"), got, want)
		}
	})
}

// filesOf writes all files of the snapshot of some dumps.
func filesOf(t *rapid.T, dumps []string) string {
	objects, err := krm.Parse(&document.Source{Name: "dump", Data: []byte(strings.Join(dumps, "\n---\n"))})
	if err != nil {
		t.Fatal(err)
	}
	s, findings := Dump(objects, "", Options{Kinds: system.NewKinds(systems.All()...).Read()})
	if finding.Failed(findings) {
		t.Fatal(findings)
	}
	var files bytes.Buffer
	for i := range s.Kinds {
		if err := s.Kinds[i].Write(&files, YAML); err != nil {
			t.Fatal(err)
		}
	}
	return files.String()
}

// TestDumpScope holds which namespaces a limited inventory has of a kind.
func TestDumpScope(t *testing.T) {
	limited := func(namespace string) string {
		return `{"apiVersion":"poolwright.io/v1alpha1","kind":"Inventory","metadata":{"name":"blockdevices","annotations":{"poolwright.io/namespace":"` + namespace + `"}},"items":[]}`
	}
	whole := `{"apiVersion":"openebs.io/v1alpha1","kind":"BlockDeviceList","items":[]}`
	for _, c := range []struct {
		name, namespace string
		dumps           []string
		want            string // "error" for a refusal
	}{
		{"one namespace", "", []string{limited("a")}, "a"},
		{"the same twice", "", []string{limited("a"), limited("a")}, "a"},
		{"two", "", []string{limited("a"), limited("b")}, "error"},
		{"two, and one is meant", "b", []string{limited("a"), limited("b")}, "b"},
		{"another is meant", "c", []string{limited("a")}, "error"},
		{"all of them, too", "", []string{limited("a"), whole}, ""},
		{"one of all is meant", "c", []string{whole}, "c"},
	} {
		objects, err := krm.Parse(&document.Source{Name: "dump", Data: []byte(strings.Join(c.dumps, "\n---\n"))})
		if err != nil {
			t.Fatal(err)
		}
		s, findings := Dump(objects, c.namespace, Options{Kinds: system.NewKinds(systems.All()...).Read()})
		got := "error"
		if s != nil {
			got = s.Kinds[0].Scope
		}
		if got != c.want || (s == nil) != finding.Failed(findings) {
			t.Errorf("%s: %q, want %q: %v", c.name, got, c.want, findings)
		}
	}
}
