package system

import "github.com/poolwright/poolwright/fn/krm"

// DryRunner is a System whose objects meet an admission webhook that acts even
// where it is only asked.
type DryRunner interface {
	// DryRunEffect says what a server-side dry run, in which wanted takes the place
	// of live, would do to the cluster all the same: one line, "" for nothing.
	DryRunEffect(live, wanted *krm.Object) string
}
