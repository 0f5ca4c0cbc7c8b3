package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// postpone takes back moves that are rendered and known not to be applied, where a pool has a disk that is
// not well, or no node: the webhook refuses the edit, and with it what would mend it. follow judges
// them anew.
func (r *relocation) postpone(of *poolCluster) {
	if !of.steps.told() || r.lock.adopted {
		return
	}
	moves := admission.NewStep(of.current, r.rendered(of, noPool)).Moved
	moving := map[*nodePool]string{} // to the host that it is on
	for _, m := range moves {
		moving[r.lock.host(m.To.Hostname)] = m.From.Hostname
	}
	why := ""
	for _, p := range r.lock.poolsOf(of) {
		// Of what is apart from its disks follow says what becomes.
		if why == "" && (moving[p] != "" || r.live.lives(p.Pool)) && len(r.displaced([]*nodePool{p})) == 0 {
			why = r.ails(p, nil)
		}
	}
	if why == "" {
		return
	}
	for _, p := range r.lock.poolsOf(of) {
		if from := moving[p]; from != "" {
			r.report(finding.Warning, "step-postponed", "", "the move of the pool on node %s from host %s is rendered and not applied, and waits %s", p.node, from, refusedWhile(why))
			r.lock.move(p, &inventory.Node{Name: p.node, Hostname: from})
			of.takenBack()
		}
	}
}
