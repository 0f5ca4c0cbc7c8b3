package fn

import (
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/expected"
)

func applier(path string) *krm.Object {
	o := krm.Make("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system", "x-3-cluster",
		document.F("spec", document.Object(document.F("path", document.Text(path)))))
	return owned(o)
}

func owned(o *krm.Object) *krm.Object {
	o.SetLabel(krm.LabelManagedBy, krm.ManagedBy)
	o.SetAnnotation(krm.AnnotationOwner, "example.com/Kitchen/home/x")
	return o
}

func TestApart(t *testing.T) {
	apart := Apart([]*krm.Object{applier("./clusters/a/rendered/kitchen.home.x/3-cluster")})
	for file, want := range map[string]bool{
		"kitchen.home.x/3-cluster/stove.yaml": true,
		"kitchen.home.x/4-pots/pot.yaml":      false,
		"kitchen.home.x/flux.yaml":            false,
		"kitchen.home.y/3-cluster/stove.yaml": false,
		"3-cluster/stove.yaml":                true,
		"flux.yaml":                           false,
	} {
		if got := apart(file); got != want {
			t.Errorf("%s is applied apart: %v", file, got)
		}
	}
}

// TestApartWithoutLock: a function of kustomize that sees only what configures the engine does
// not choose again.
func TestApartWithoutLock(t *testing.T) {
	stove := owned(krm.Make("example.com/v1", "Stove", "home", "x"))
	if findings := apartWithoutLock([]*krm.Object{applier("./rendered/kitchen.home.x/3-cluster"), stove}); len(findings) != 0 {
		t.Error(findings)
	}
	findings := apartWithoutLock([]*krm.Object{applier("./a/3-cluster"), applier("./a/4-pots")})
	const want expected.Text = "applies what is not among the items, and there it says what was chosen: kustomize shows the function only what is listed; use poolwright build, or poolwright render and no function"
	if len(findings) != 1 || !want.In(t, findings[0].Message) {
		t.Error(findings)
	}
}
