package fn

import (
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// DryRunEffect says what a server-side dry run, in which wanted takes the place of
// live, would do to the cluster all the same: one line, "" for nothing. Then the
// API server must not be asked.
func (f *Function) DryRunEffect(live, wanted *krm.Object) string {
	if s := f.of(wanted.Owner()); s != nil {
		if runner, found := s.System.(system.DryRunner); found {
			return runner.DryRunEffect(live, wanted)
		}
	}
	return ""
}
