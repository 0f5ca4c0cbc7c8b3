package health

import (
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// Tree is an object and what hangs on it.
type Tree struct {
	Object   finding.Ref
	Phase    Phase  // "" where nothing is known of its health
	State    string // in the words of its own system: Bound, ONLINE, Active; Missing for an object that others name; "" where it says none
	Note     string // what a person wants to know of it: size, place, what it means to others
	Children []*Tree
	Place    Place
	// Unused says of a disk that its own system knows nobody who uses it. Others may: who
	// puts the trees of all systems together finds out.
	Unused bool
}

// Place is where an object is in a picture of the storage; zero for what none shows.
type Place struct {
	Role        Role
	Node        string // that it is on; "" where that is not known, or goes without saying
	Used, Total int64  // bytes of a pool; a Total of 0 is not known
}

// Role is what an object is to a picture.
type Role string

// The roles. A pool is also all that one system has on one node, where it has no pools.
const (
	Pool    Role = "pool"
	Volume  Role = "volume" // without a place of its own: its replicas are called after it
	Replica Role = "replica"
	Disk    Role = "disk"
)

// Missing is the State of an object that others name and that is not there.
const Missing = "Missing"

// Unnamed ends the name of an object that is not there and whose name nobody knows.
// Several may be called the same.
const Unnamed = "-?"

// IsUnnamed reports whether the object has such a name.
func (t *Tree) IsUnnamed() bool { return strings.HasSuffix(t.Object.Name, Unnamed) }

// Absent makes the place of an object that is not there.
func Absent(object finding.Ref, note string) *Tree {
	return &Tree{Object: object, Phase: Error, State: Missing, Note: note}
}
