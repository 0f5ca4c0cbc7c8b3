package system

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Grower is a System whose specs say how full their pools are to be, and whose pools may grow by themselves.
type Grower interface {
	// Threshold is how full a pool of a spec is to be at most, in percent; 0 if the spec does not say so.
	Threshold(spec *Spec) float64
	// Expands says how many bytes a pool of a spec gets at once, and how often free disks allow that; false for one that does
	// not grow by itself.
	Expands(facts *inventory.Facts, disks *disk.Ledger, spec *Spec, pool *krm.Object) (adds int64, times int, expands bool)
}
