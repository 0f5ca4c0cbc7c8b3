package systems

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// TestAwaits: an applied object is ready where Argo CD and Flux take it for healthy: the same tables decide.
func TestAwaits(t *testing.T) {
	kinds := system.NewKinds(All()...)
	rows := 0
	for _, kind := range kinds.All() {
		if kind.Awaits == nil {
			continue
		}
		dir := "../../test/checks/testdata/"
		data, err := os.ReadFile(filepath.Join(dir, kind.Group+"_"+kind.Kind+".yaml"))
		if err != nil {
			data, err = os.ReadFile(filepath.Join(dir, kind.Group+".yaml"))
		}
		if err != nil {
			t.Fatal(err)
		}
		docs, err := document.Parse(&document.Source{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range docs[0].Node.Seq() {
			rows++
			object := row.Get("object").Copy()
			object.Set("apiVersion", document.Text(kind.APIVersion()))
			object.Set("kind", document.Text(kind.Kind))
			got := kinds.Awaits(krm.NewObject(nil, &object))
			current := row.Str("want") == "current"
			if (got == "") != current && row.Str("flux") == "" {
				t.Errorf("%s, %s: awaits %q, and the engines think it is %s", kind.Kind, row.Str("name"), got, row.Str("want"))
			}
			if strings.Contains(got, "  ") || strings.HasSuffix(got, ": ") {
				t.Errorf("%s, %s: %q", kind.Kind, row.Str("name"), got)
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows", rows)
	}
}
