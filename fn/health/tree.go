package health

import "github.com/poolwright/poolwright/schema/finding"

// Tree is an object and what hangs on it.
type Tree struct {
	Object   finding.Ref
	Phase    Phase  // "" where nothing is known of its health
	State    string // in the words of its own system: Bound, ONLINE, Active; Missing for an object that others name
	Note     string // what a person wants to know of it: size, place, what it means to others
	Children []*Tree
}

// Missing is the State of an object that others name and that is not there.
const Missing = "Missing"

// Absent makes the place of an object that is not there.
func Absent(object finding.Ref, note string) *Tree {
	return &Tree{Object: object, Phase: Error, State: Missing, Note: note}
}

// Kind is a kind of object that a tree may start at.
type Kind struct {
	Group, Kind string
	Names       []string // by which people also call it, lower case
}
