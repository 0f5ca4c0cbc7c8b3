package system

import (
	"github.com/poolwright/poolwright/fn/prerequisite"
)

// Needer is a System that says what its specs need of a cluster, beside the software of its
// declaration.
type Needer interface {
	// Needs is what a spec without errors in itself needs. out is what a render gives for it
	// from the same facts, which may be nothing.
	Needs(in Input, spec *Spec, out Output) prerequisite.Needs
}
