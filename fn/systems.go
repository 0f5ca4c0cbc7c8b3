package fn

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// systems lists every storage system: a new one is one more folder and one more
// line here.
func systems() []system.System {
	return []system.System{
		cstor.System{},
	}
}

// kinds lists kinds that the systems name, each once.
func kinds(of func(system.Description) []krm.GroupKind) []krm.GroupKind {
	var ids []krm.GroupKind
	for _, s := range systems() {
		ids = append(ids, of(s.Describe())...)
	}
	slices.SortFunc(ids, krm.GroupKind.Compare)
	return slices.Compact(ids)
}

// FactKinds lists the kinds of fact that the specs among some objects look at.
func FactKinds(objects []*krm.Object) []krm.GroupKind {
	return kinds(func(d system.Description) []krm.GroupKind {
		if slices.ContainsFunc(objects, func(o *krm.Object) bool { return o.GroupKind() == d.Kind }) {
			return d.Facts
		}
		return nil
	})
}
