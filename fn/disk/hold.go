package disk

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// Hold is a claim on disks, in the words of the object that makes it. One of the ways to
// name them is set.
type Hold struct {
	Device   inventory.Key    // a BlockDevice
	Identity Identity         // a disk by what it is known by, or by its node and path
	Matches  func(*Disk) bool // every disk that a filter can match
	Role     string           // what for: data, cache, spare ..., or ""
}

// Holder is an object that holds disks.
type Holder struct {
	Object finding.Ref
	Owner  string // the owner annotation: the spec that it was rendered for, or ""
	Source Source
}

// Source is where an object that holds disks was found.
type Source int

// The sources, the most trusted first.
const (
	Live     Source = iota // among the facts
	Lock                   // rendered by an earlier run
	Manifest               // written by a person
	Chosen                 // by this run
)

// String names the holder as messages do: what is not live stands alone.
func (h Holder) String() string {
	if h.Source == Live {
		return "the live " + h.Object.String()
	}
	return h.Object.String()
}
