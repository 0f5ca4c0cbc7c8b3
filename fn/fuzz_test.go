package fn

import (
	"bytes"
	"os"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// FuzzProcess feeds the function what a pipeline may hand it: it must answer
// with a ResourceList that it can read again, and never panic.
func FuzzProcess(f *testing.F) {
	for _, name := range []string{"testdata/list/local.yaml", "testdata/list/cloud.yaml", "testdata/list/diskpools.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rl, err := krm.ReadResourceList(&document.Source{Name: "stdin", Data: data})
		if err != nil {
			return
		}
		count := len(rl.Items)
		fs := poolwright().Process(rl)
		if finding.Failed(fs) && len(rl.Items) != count {
			t.Fatalf("errors, and yet %d items became %d", count, len(rl.Items))
		}
		var out bytes.Buffer
		if err := rl.Write(&out, fs); err != nil {
			t.Fatal(err)
		}
		if _, err := krm.ReadResourceList(&document.Source{Name: "stdout", Data: out.Bytes()}); err != nil {
			t.Fatalf("cannot read its own output: %v\n%s", err, out.String())
		}
	})
}
