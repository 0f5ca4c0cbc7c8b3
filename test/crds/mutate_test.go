package crds_test

import (
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/mutation"
)

// TestMutated makes mistakes in the spec of valid examples, and wants the verdict
// of vet from the API server.
func TestMutated(t *testing.T) {
	schemas := schema.Load()
	kinds := deployed(t, schemas)
	var seeds []example
	for _, e := range examples(t, kinds) {
		if strings.Contains(e.name, "/valid/") && exceptions[e.name] == "" {
			seeds = append(seeds, e)
		}
	}
	sent, known := 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(seeds).Draw(t, "seed")
		n := mutation.Clone(e.Node)
		for range rapid.IntRange(1, 2).Draw(t, "mistakes") {
			mutation.Mutate(t, n.Get("spec"))
		}
		// vet is given what the API server is given: JSON writes 6. as 6.
		docs, err := document.Parse(&document.Source{Name: "sent.json", Data: document.AppendJSON(nil, &n)})
		if err != nil {
			t.Fatal(err)
		}
		read := &docs[0].Node
		_, findings := schemas.Complete(nil, e.Ref, read)
		a, err := send(http.MethodPost, resource(kinds[e.Kind], e.Ref.Namespace)+"?dryRun=All&fieldValidation=Strict", asJSON, &n)
		if err != nil {
			t.Fatal(err)
		}
		sent++
		if (a.status == http.StatusCreated) != finding.Failed(findings) {
			return
		}
		reason := difference(read, findings)
		if reason == "" {
			t.Fatalf("vet: %v\nAPI server: %d %s\n%s", findings, a.status, a.message(), document.Append(nil, read, 0))
		}
		known[reason]++
	})
	t.Logf("%d objects sent; of these are known to differ: %v", sent, known)
}

// difference is why vet and an API server think differently of an object; "" if
// they should not.
func difference(n *document.Node, findings []finding.Finding) string {
	for _, f := range findings {
		switch {
		case f.Rule == "number":
			return "a number as text"
		case f.Severity == finding.Error && strings.Contains(f.Field, "matchFields"):
			return "a list in map form"
		case f.Severity == finding.Error && (strings.HasPrefix(f.Field, "spec.delivery") || strings.Contains(f.Field, ".devices[")):
			return "a text in the place of a mapping"
		case f.Rule == "pool-groups", f.Rule == "whole-groups" && strings.Contains(f.Field, ".items["):
			return "RAID groups in a list, of a type that stands above it"
		case strings.HasPrefix(f.Field, "spec.pools[") && strings.Contains(f.Field, "elector"):
			return "a selector in a list of lists"
		}
	}
	switch {
	case holds(n, func(n *document.Node) bool { return n.Kind() == document.Null }):
		return "a key without a value"
	case holds(n, func(n *document.Node) bool {
		return n.Kind() == document.Scalar && !n.Quoted && strings.Contains(n.Value(), ".")
	}):
		return "a fraction as a quantity"
	}
	return ""
}

// holds reports whether a value of a document is of a sort.
func holds(n *document.Node, is func(*document.Node) bool) bool {
	if is(n) {
		return true
	}
	for i := range n.Fields() {
		if holds(&n.Fields()[i].Value, is) {
			return true
		}
	}
	for i := range n.Items() {
		if holds(&n.Items()[i], is) {
			return true
		}
	}
	return false
}
