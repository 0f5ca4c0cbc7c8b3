package apply

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/poolwright/poolwright/test/tool"
)

// TestVolumesOfMetalK8s applies valid Volumes strictly against the definition of MetalK8s:
// where it has the source, what is accepted here is accepted there, whole.
func TestVolumesOfMetalK8s(t *testing.T) {
	define(t, tool.Upstream(t, "metalk8s-volume.yaml"))
	applied := 0
	for _, o := range read(t, "../../testdata/documents/volume/valid/sources.yaml") {
		spec := o.Node.Get("spec")
		status, _, answer := tryApply(t, "poolwright", o)
		theirs := spec.Get("sparseLoopDevice") != nil || spec.Get("rawBlockDevice", "devicePath") != nil || spec.Get("lvmLogicalVolume") != nil
		switch {
		case theirs && status >= 300:
			t.Errorf("%s: %d %s", o.Ref, status, answer)
		case theirs:
			applied++
		case status < 300:
			t.Errorf("%s: MetalK8s takes a source that it does not know", o.Ref)
		case !strings.Contains(string(answer), "unknown field") && !strings.Contains(string(answer), "not declared") && !strings.Contains(string(answer), "Required"):
			t.Errorf("%s: refused for another reason: %s", o.Ref, answer)
		}
	}
	if applied < 3 {
		t.Errorf("%d of its three sources applied", applied)
	}
}

// TestVolumesOfItsExamples applies the Volumes of a script, of the shapes that the examples and tests of MetalK8s
// have, strictly against its definition: what the script says is taken is what MetalK8s takes.
func TestVolumesOfItsExamples(t *testing.T) {
	define(t, tool.Upstream(t, "metalk8s-volume.yaml"))
	script, err := txtar.ParseFile("../../cmd/poolwright/testdata/script/local-metalk8s-volumes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, file := range script.Files {
		if file.Name != "pkg/taken.yaml" {
			continue
		}
		for _, o := range parse(t, file.Name, file.Data) {
			applied++
			if status, _, answer := tryApply(t, "poolwright", o); status >= 300 {
				t.Errorf("%s: %d %s", o.Ref, status, answer)
			}
		}
	}
	if applied != 21 {
		t.Errorf("%d Volumes were applied, not 21", applied)
	}
}
