package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/schema/finding"
)

// postpone takes back moves that are rendered and known not to be applied, where a pool has a disk that is
// not well, or no node: the webhook refuses the edit, and with it what would mend it. follow judges
// them anew.
func (r *relocation) postpone(of *standing.Cluster) {
	if !r.steps(of).told() || r.standing.IsAdopted() {
		return
	}
	pools := r.standing.PoolsOf(of)
	from := map[*standing.Pool]string{} // the host that a pool that moves is on
	for _, p := range pools {
		if host := r.livesOn(p); host != p.Hostname {
			from[p] = host
		}
	}
	if len(from) == 0 {
		return
	}
	why := ""
	for _, p := range pools {
		// Of what is apart from its disks follow says what becomes.
		if why == "" && (from[p] != "" || r.live.lives(p.Pool)) && len(r.displaced([]*standing.Pool{p})) == 0 {
			why = r.ails(p, nil)
		}
	}
	if why == "" {
		return
	}
	for _, p := range pools {
		if from[p] != "" {
			r.report(finding.Warning, "step-postponed", "", "the move of the pool on node %s from host %s is rendered and not applied, and waits %s", p.Node, from[p], refusedWhile(why))
			r.standing.MoveBack(p, from[p])
			of.Forget(isDrain)
		}
	}
}
