package disk

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// Hold is a claim on disks, in the words of the object that makes it. One of the ways to
// name them is set; an Identity may stand beside a Device, as what is known of it.
type Hold struct {
	Device   inventory.Key    // a BlockDevice
	Identity Identity         // a disk by what it is known by, or by its node and path
	Matches  func(*Disk) bool // every disk that a filter can match,
	Node     string           // and that is on this node, given by name or hostname label; "" for any
	Role     string           // what for: data, cache, spare ..., or ""
}

// Holder is an object that holds disks.
type Holder struct {
	Object finding.Ref // as messages name it
	Owner  string      // the owner key of the spec that it belongs to, or ""
	Source Source
	Role   string
	// Assumed, of a holder that exists in the cluster, says that no inventory shows it: it was
	// rendered, and nothing proves yet that it is gone.
	Assumed bool
}

// Source is where an object that holds disks was found.
type Source int

// The sources.
const (
	Lock     Source = iota // rendered by an earlier run
	Live                   // among the facts
	Manifest               // written by a person
	Chosen                 // by this run
)

// String names the holder as messages do.
func (h Holder) String() string {
	switch {
	case h.Assumed:
		return h.Object.String() + " until the inventory shows that it is gone; run poolwright inventory"
	case h.Source == Live:
		return "the live " + h.Object.String()
	}
	return h.Object.String()
}
