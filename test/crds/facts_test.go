package crds_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestNodeInventory writes the status of each example as a node agent does, and
// wants the verdict of the definition.
func TestNodeInventory(t *testing.T) {
	schemas := schema.Load()
	kind := deployed(t, schemas)["NodeInventory"]
	files, err := filepath.Glob("../../testdata/documents/nodeinventory/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	verdicts := map[bool]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := krm.Parse(&document.Source{Name: file, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			bare := document.Object(
				document.F("apiVersion", document.Text(o.APIVersion)), document.F("kind", document.Text(o.Kind)),
				document.F("metadata", document.Object(document.F("name", document.Text(o.Name)))))
			apply(t, kind, &krm.Object{Ref: finding.Ref{Name: o.Name}, Node: &bare}, "")
			_, findings := schemas.Complete(nil, o.Ref, o.Node)
			a := request(t, http.MethodPatch, resource(kind, "")+"/"+o.Name+"/status?dryRun=All&fieldManager=agent&fieldValidation=Strict", asApply, o.Node)
			valid, taken := !finding.Failed(findings), a.status == http.StatusOK
			if valid != taken {
				t.Errorf("%s %s: vet: %v\nAPI server: %d %s", file, o.Name, findings, a.status, a.message())
			}
			sameWords(t, findings, a)
			verdicts[valid]++
		}
	}
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("%d valid and %d invalid examples", verdicts[true], verdicts[false])
	}
}
