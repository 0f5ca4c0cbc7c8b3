package keeper

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/hydration"
	"github.com/poolwright/poolwright/live/hydrations"
)

// rival is an older Hydration that writes to the same target; zero if there is none.
type rival struct {
	hydrations.Key
	target hydration.Target
}

// rivals are those of the Hydrations that have one.
func rivals(all map[hydrations.Key]*hydrations.Hydration) map[hydrations.Key]rival {
	byAge := make([]*hydrations.Hydration, 0, len(all))
	for _, h := range all {
		byAge = append(byAge, h)
	}
	slices.SortFunc(byAge, func(a, b *hydrations.Hydration) int {
		return cmp.Or(a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp), strings.Compare(a.Key().String(), b.Key().String()))
	})
	oldest := map[hydration.Target]hydrations.Key{}
	found := map[hydrations.Key]rival{}
	for _, h := range byAge {
		targets := h.Spec.Targets(h.Metadata.Namespace)
		i := slices.IndexFunc(targets, func(t hydration.Target) bool { _, taken := oldest[t]; return taken })
		if i >= 0 {
			found[h.Key()] = rival{oldest[targets[i]], targets[i]}
			continue // what does nothing is in nobody's way
		}
		for _, t := range targets {
			oldest[t] = h.Key()
		}
	}
	return found
}
