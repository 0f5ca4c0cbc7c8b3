package fn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// warnOfStrays warns where a spec of which nothing was rendered, and of which nothing is running, gets
// new objects, while objects of another spec of the same kind are running that the package knows nothing
// of: the spec may have been renamed, and its output deleted.
func (pkg *prepared) warnOfStrays(facts *inventory.Facts, o *output) []finding.Finding {
	spec := o.spec.Object
	made := slices.ContainsFunc(o.Objects, func(made gitops.Object) bool { return o.system.Stateful(made.Object) })
	if len(o.spec.Before) > 0 || pkg.partial || !made {
		return nil
	}
	strays := map[string][]string{} // by owner
	for _, kind := range o.system.Kinds {
		if !kind.Stateful || !kind.Holds {
			continue
		}
		for _, live := range facts.Objects(kind.Group, kind.Kind) {
			owner := live.Owner()
			id, valid := krm.ParseOwner(owner)
			switch {
			case owner == spec.OwnerKey():
				return nil
			case !valid, live.Deleting(), id.GroupKind() != spec.GroupKind(), id.Namespace != spec.Namespace:
			case slices.ContainsFunc(o.Objects, func(made gitops.Object) bool { return made.ID() == live.ID() }):
				return nil // it is in the way, which is an error
			case pkg.spec(owner) == nil && pkg.lock[owner] == nil:
				strays[owner] = append(strays[owner], live.Ref.String())
			}
		}
	}
	var findings []finding.Finding
	for _, owner := range slices.Sorted(maps.Keys(strays)) {
		was := pkg.function.specRef(owner)
		findings = append(findings, o.spec.Finding(finding.Warning, "other-spec-running", "metadata.name", fmt.Sprintf(
			"makes new objects beside %s of %s, which is not in this package, nor is its output; if this spec was renamed, name it %s again, and it adopts them",
			finding.Names(strays[owner]), was, was.Name)))
	}
	return findings
}
