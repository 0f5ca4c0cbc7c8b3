package cstor

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// warnOfCeiling tells who begins, and wants pools that grow by themselves, how far those of one
// CStorPoolCluster can ever grow, and which maxDisksPerCluster goes further.
func warnOfCeiling(in *input) {
	const field = "spec.poolConfig.poolExpansion"
	written := in.spec.Object.Node.Get("spec", "poolConfig", "poolExpansion")
	if written == nil || written.Kind() == document.Null || in.cfg.Spec.PoolConfig.PoolExpansion.Disable || in.limit() > 0 || in.spec.IsRendered() || in.standing.IsRunning() {
		return
	}
	s := in.cfg.general
	kind := admission.Kind{Disks: s.disks(), Growth: s.expansionDisks(), Group: s.groupSize, Replaces: s.raidType != pool.Stripe}
	now := in.state.Timeout
	grows := "can never grow"
	if most := now.Ceiling(kind); most.Grows >= kind.Disks {
		grows = fmt.Sprintf("can grow only while it has at most %s, so that it comes to %d", finding.Count(most.Grows, "disk"), s.whole(most))
	}
	said := fmt.Sprintf("the pools of CStorPoolCluster %s %s: the cStor webhook looks at every disk with every change, and %s", in.name, grows, now.Given())
	write := func(t admission.Timeout) string {
		return fmt.Sprintf("write maxDisksPerCluster: %d", s.whole(t.Ceiling(kind)))
	}
	need := fewestPools*kind.Disks + kind.Growth // three pools, of which one grows
	switch longer, ok := kind.For(need); {
	case !ok:
		in.report(finding.Warning, "growth-limited", field, "%s; three such pools are too many for any timeoutSeconds: make pools of fewer disks", said)
	case s.whole(now.Ceiling(kind)) < need:
		in.report(finding.Warning, "growth-limited", field, "%s; set timeoutSeconds: %d there, or more, and %s, so that three pools can grow, and others come into further CStorPoolClusters", said, longer.Seconds, write(longer))
	default:
		in.report(finding.Warning, "growth-limited", field, "%s; to go further %s, by which other pools come into further CStorPoolClusters%s", said, write(now), in.longer(kind, write))
	}
}

// longer says what the longest timeout would allow, if that is not what is given.
func (in *input) longer(kind admission.Kind, write func(admission.Timeout) string) string {
	longest := admission.Longest()
	if in.state.Timeout.Seconds >= longest.Seconds {
		return ""
	}
	return fmt.Sprintf(", or set timeoutSeconds: %d there, with which it is %s, and %s", longest.Seconds, finding.Count(longest.Ceiling(kind).Grows, "disk"), write(longest))
}

// whole is how many disks a cluster can come to with whole RAID groups.
func (s *settings) whole(c admission.Ceiling) int {
	if s.writeCache != nil {
		return c.Disks
	}
	return c.Disks - c.Disks%s.expansionDisks()
}

// warnOfEdits says of a CStorPoolCluster that nothing of it can be edited any more in the time of
// the webhook, and what would do. A step that waits for that has said it.
func warnOfEdits(in *input, of *standing.Cluster, wanted *pool.Cluster) {
	cost := in.state.Cost(wanted, wanted)
	if in.state.Timeout.Allows(cost) || in.steps(of).isLate() {
		return
	}
	remedy := fmt.Sprintf("timeoutSeconds: %d, the longest, is too short as well: remove pools, and create them again in another CStorClusterConfig", admission.Longest().Seconds)
	if t, ok := admission.Enough(cost); ok {
		remedy = fmt.Sprintf("set timeoutSeconds: %d there", t.Seconds)
	}
	in.report(finding.Warning, "cluster-not-editable", "", "CStorPoolCluster %s cannot be edited: the cStor webhook needs %s, whatever changes, and %s; %s", of.Name, cost.Said(), in.state.Timeout.Given(), remedy)
}
