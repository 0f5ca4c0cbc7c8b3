package fn

import (
	"cmp"
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
func kinds(of func(system.Description) []krm.ID) []krm.ID {
	var ids []krm.ID
	for _, s := range systems() {
		ids = append(ids, of(s.Describe())...)
	}
	slices.SortFunc(ids, func(a, b krm.ID) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(ids)
}

// FactKinds lists the kinds of fact that the specs among some objects look at.
func FactKinds(objects []*krm.Object) []krm.ID {
	return kinds(func(d system.Description) []krm.ID {
		if slices.ContainsFunc(objects, func(o *krm.Object) bool { return krm.ID{Group: o.Group(), Kind: o.Kind} == d.Kind }) {
			return d.Facts
		}
		return nil
	})
}
