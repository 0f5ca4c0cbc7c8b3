package system

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/prerequisite"
)

// Needer is a System that says what its specs need of a cluster, beside the software of its
// declaration.
type Needer interface {
	// Needs is what a spec without errors in itself needs. out is what a render gives for it
	// from the same facts, which may be nothing.
	Needs(in Input, spec *Spec, out Output) prerequisite.Needs
}

// NoReports says that the cluster has nothing by which disks are reported: neither the definition of BlockDevices
// nor a NodeInventory. It is "" where that is not so, or not known.
func NoReports(facts *inventory.Facts) string {
	if !facts.Lacks(inventory.DeviceKind()) || len(facts.Objects(ownGroup, "NodeInventory")) > 0 {
		return ""
	}
	ndm := prerequisite.NDM()
	return ndm.Missing(prerequisite.Devices)
}
