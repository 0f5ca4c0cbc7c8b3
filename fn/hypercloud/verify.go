package hypercloud

import (
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
)

// Verify implements system.Verifier: each spec by its status, then what Rook has against what
// was rendered, and what Ceph warns of.
func (System) Verify(facts *inventory.Facts, specs []system.Followed) []conformance.Check {
	var checks []conformance.Check
	for _, spec := range specs {
		c := system.Conformance(System{}, facts, spec)
		for _, o := range spec.Before {
			if o.Group() != cephGroup {
				continue
			}
			c.Rendered(facts, o)
			if live := facts.Object(o.ID()); live != nil && o.Kind == clusterKind {
				if warning := readCluster(live).warning(); warning != "" {
					c.Warn("ceph-warns", live.Ref, "serves, and says %s", warning)
				}
			}
		}
		checks = append(checks, *c)
	}
	return checks
}
