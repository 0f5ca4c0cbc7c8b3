package localvolume

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Tree implements system.Mapper.
func (System) Tree(*inventory.Facts, *disk.Ledger, krm.ID) []*health.Tree { return nil }
