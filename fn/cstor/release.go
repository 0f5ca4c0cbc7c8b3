package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// newest is the last release of cStor, which OpenEBS 4 does not have.
//
// Source: cstor-operators, releases, 3.6.0.
func newest() system.Newest { return system.Newest{Product: "cStor", Release: "3.6"} }

// checkRelease warns of operators that are newer than what is known of them.
func (c *cluster) checkRelease() {
	live := pool.LiveOf(c.facts)
	for _, of := range c.standing.Clusters() {
		running := live.Version(inventory.Key{Namespace: c.namespace, Name: of.Name})
		if text := newest().Newer(running, "to review and to reconcile a CStorPoolCluster as "+newest().Release+" does"); text != "" {
			c.report(finding.Warning, "newer-release", "", "the operators of CStorPoolCluster %s: %s", of.Name, text)
			return
		}
	}
}
