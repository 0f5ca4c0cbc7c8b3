package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

var _ system.DryRunner = System{}

// DryRunEffect implements system.DryRunner. The webhook, version 3.6.0, claims the
// new disk while it validates a replacement, and was seen to do so in a dry run.
func (System) DryRunEffect(live, wanted *krm.Object) string {
	if wanted.Kind != poolClusterKind {
		return ""
	}
	if disks := admission.Claims(pool.DecodeCluster(live), pool.DecodeCluster(wanted)); len(disks) > 0 {
		return "the admission webhook of cStor claims " + finding.Names(disks) + " even then"
	}
	return ""
}
