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

// FactKinds lists the kinds of fact that the specs among some objects look at.
func FactKinds(objects []*krm.Object) []krm.ID {
	var ids []krm.ID
	for _, s := range systems() {
		if slices.ContainsFunc(objects, func(o *krm.Object) bool { return krm.ID{Group: o.Group(), Kind: o.Kind} == s.Kind() }) {
			ids = append(ids, s.Facts()...)
		}
	}
	return unique(ids)
}
