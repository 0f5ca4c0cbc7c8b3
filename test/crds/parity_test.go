package crds_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// exceptions are the examples of which an API server and vet think differently,
// by file and document, with the reason.
var exceptions = map[string]string{
	"hypercloudstorage/invalid/delivery.yaml#1":                 "CEL does not look into a value of two types; who applies a wrong delivery has it refused at the next render",
	"hypercloudstorage/invalid/delivery.yaml#3":                 "CEL does not look into a value of two types; who applies a wrong delivery has it refused at the next render",
	"hypercloudstorage/invalid/delivery.yaml#4":                 "CEL does not look into a value of two types; who applies a wrong delivery has it refused at the next render",
	"hypercloudstorage/invalid/delivery.yaml#5":                 "CEL does not look into a value of two types; who applies a wrong delivery has it refused at the next render",
	"hypercloudstorage/valid/document.yaml#0":                   "vet reads one mapping where a list is meant and says so; a list in a CRD has one type",
	"cstorclusterconfig/valid/numbers-as-text.yaml#0":           "vet reads 3 where a person wrote \"3\" and says so; a count in a CRD has one type",
	"cstorclusterconfig/valid/fractions.yaml#0":                 "a quantity in a CRD is a text or a whole number; write \"0.1\" or 100m",
	"cstorclusterconfig/valid/empty-keys-in-a-file.yaml#0":      "vet takes a form of which no line is filled in for none; an API server drops the empty lines only, and what is left is an unsupported field and a write cache without source",
	"cstorclusterconfig/invalid/map-form-of-matchfields.yaml#7": "the keys of a list in map form: CEL does not look into a value of two types, and OpenAPI has no rule for keys",
	"cspcauto/invalid/values.yaml#0":                            "a CRD cannot restrict annotations; who applies one of the two has it refused at the next render",
	"cspcauto/invalid/values.yaml#1":                            "the groups of a pool depend on poolType, which CEL would have to look at for every one; who applies it has it refused at the next render",
	"cstorclusterconfig/invalid/listed-pools.yaml#8":            "the groups of an entry depend on diskConfig and poolConfig, which CEL would have to look at for every one; who applies it has it refused at the next render",
	"cstorclusterconfig/invalid/one-rule-each.yaml#11":          "a CRD cannot restrict annotations; who applies a wrong consent has it refused at the next render",
}

// TestParity sends every example of testdata/documents to the API server, strictly,
// and wants the verdict of vet.
func TestParity(t *testing.T) {
	schemas := schema.Load()
	kinds := deployed(t, schemas)
	sent := map[bool]int{}
	needed := map[string]bool{}
	for _, e := range examples(t, kinds) {
		t.Run(e.name, func(t *testing.T) {
			_, findings := schemas.Complete(e.src.Position, e.Ref, e.Node)
			a := create(t, kinds[e.Kind], e.Node)
			valid, taken := !finding.Failed(findings), a.status == http.StatusCreated
			sent[valid]++
			if _, excepted := exceptions[e.name]; excepted {
				if valid == taken {
					t.Error("is an exception no longer; remove it from the table")
				}
				needed[e.name] = true
				return
			}
			if valid != taken {
				t.Fatalf("vet: %v\nAPI server: %d %s", findings, a.status, a.message())
			}
			if taken && len(a.warnings) > 0 {
				t.Errorf("warnings %q", a.warnings)
			}
			sameWords(t, findings, a)
		})
	}
	for name := range exceptions {
		if !needed[name] {
			t.Errorf("there is no example %s", name)
		}
	}
	t.Logf("%d valid and %d invalid examples, %d exceptions", sent[true], sent[false], len(exceptions))
	if sent[true] < 30 || sent[false] < 50 {
		t.Fatal("there are more examples than this")
	}
}

// sameWords wants the message of every broken rule in the answer. The API server
// looks at no rule where a value has a wrong type or is not known.
func sameWords(t *testing.T, findings []finding.Finding, a answer) {
	t.Helper()
	if a.status != http.StatusUnprocessableEntity || strings.Contains(a.message(), "some validation rules were not checked") {
		return
	}
	for _, f := range findings {
		isRule := strings.Contains(f.Rule, "-") || f.Rule == "alias" || f.Rule == "key"
		if isRule && f.Severity == finding.Error && !strings.Contains(f.Field, "matchFields") && !strings.Contains(a.message(), f.Message) {
			t.Errorf("vet: %s: %s\nAPI server: %s", f.Field, f.Message, a.message())
		}
	}
}

// TestGroups sends the counts and sizes of RAID groups that a person may write.
func TestGroups(t *testing.T) {
	schemas := schema.Load()
	config := deployed(t, schemas)["CStorClusterConfig"]
	given := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	for _, raid := range []string{"stripe", "mirror", "raidz", "raidz2"} {
		for _, count := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 17, 20, 999} {
			for _, size := range []int{0, 1, 2, 3, 4, 5, 6, 9, 10, 514, 1000} {
				o := parse(t, fmt.Sprintf(`{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: a, namespace: openebs},
spec: {diskConfig: {local: {}, minCount: %s, groupSize: %s}, poolConfig: {raidType: %s}}}`, given(count), given(size), raid))
				_, findings := schemas.Complete(nil, o.Ref, o.Node)
				a := create(t, config, o.Node)
				if valid, taken := !finding.Failed(findings), a.status == http.StatusCreated; valid != taken {
					t.Fatalf("%s minCount %s groupSize %s: vet: %v\nAPI server: %s", raid, given(count), given(size), findings, a.message())
				}
				sameWords(t, findings, a)
			}
		}
	}
}

// example is one document of testdata/documents.
type example struct {
	*krm.Object
	name string // file#document
	src  *document.Source
}

// examples are the documents of the kinds that have a definition, but for facts:
// what those say is their status.
func examples(t *testing.T, kinds map[string]schema.Kind) []example {
	t.Helper()
	files, err := filepath.Glob("../../testdata/documents/*/*valid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	var list []example
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src := &document.Source{Name: filepath.Base(file), Data: data}
		docs, err := document.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		for i := range docs {
			o := krm.NewObject(src, &docs[i].Node)
			if k, ours := kinds[o.Kind]; ours && k.Role != schema.Fact {
				name := strings.TrimPrefix(filepath.ToSlash(file), "../../testdata/documents/")
				list = append(list, example{o, fmt.Sprintf("%s#%d", name, i), src})
			}
		}
	}
	return list
}

// parse reads one object.
func parse(t *testing.T, text string) *krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "object.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}
