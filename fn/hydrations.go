package fn

import (
	"encoding/json"

	"github.com/poolwright/poolwright/fn/hydration"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// HasHydration reports whether there is a Hydration among objects, or in a List among them.
func (f *Function) HasHydration(objects []*krm.Object) bool {
	return len(classify(Package{Objects: objects}, f.kinds, nil).hydrations) > 0
}

// checkHydrations checks the Hydrations among the files: each by its definition, and that no two of them write
// to the same target. In a cluster the younger of two does nothing; files have no age, so the later one is
// reported.
func (pkg *prepared) checkHydrations() {
	first := map[hydration.Target]*krm.Object{}
	for _, o := range pkg.hydrations {
		if pkg.isTooLarge(o, hydrationKind) {
			continue
		}
		completed, findings := pkg.function.schemas.Complete(o.Position, o.Ref, o.Node)
		pkg.findings = append(pkg.findings, findings...)
		if finding.Failed(findings) {
			continue
		}
		var h struct {
			Spec hydration.Spec `json:"spec"`
		}
		if err := json.Unmarshal(completed, &h); err != nil {
			pkg.report(o, "hydration", "", "%v", err)
			continue
		}
		for _, target := range h.Spec.Targets(o.Namespace) {
			if first[target] == nil {
				first[target] = o
				continue
			}
			pkg.report(o, "one-target", target.Field(), "%s %s writes to the same target: %s; remove one of the two, or write another value", first[target].Ref, whereIs(first[target]), target)
			break
		}
	}
}
