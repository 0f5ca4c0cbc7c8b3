package localvolume

import (
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
)

// Assess implements system.Assessor.
func (System) Assess(_ *inventory.Facts, _ *disk.Ledger, c *change.Change) {
	if c.Ref.GroupKind() == lockGroupKind() {
		c.Judge(change.Safe, "", "remembers what the object is, and does nothing in a cluster")
	}
}
