package cstor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// stillLive names the pools that are live and no longer wanted, by host, and then the
// instances of pools that went.
func stillLive(in *input, members []*member) []string {
	wanted := make(map[string]bool, len(members))
	left := &pool.Cluster{Namespace: in.namespace, Name: in.name}
	for _, m := range members {
		wanted[m.hostname] = true
		if m.before != nil {
			left.Pools = append(left.Pools, m.before.Pool)
		}
	}
	var names []string
	for _, host := range slices.Sorted(maps.Keys(in.live.pools)) {
		p := in.live.pools[host]
		moves := slices.ContainsFunc(left.Pools, func(kept *pool.Pool) bool { return kept.Shares(p) })
		if !wanted[host] && !moves {
			names, left.Pools = append(names, "the pool on "+host), append(left.Pools, p)
		}
	}
	for _, i := range in.state.Leftover(left) {
		names = append(names, "CStorPoolInstance "+i.Name+" of the pool that was on "+i.Hostname)
	}
	return names
}

// stillMoving says which pool is not on its new host yet, or "". That it waits for is done
// by the operators, one change at a time.
func stillMoving(in *input, members []*member) string {
	for _, m := range members {
		if m.before == nil {
			continue
		}
		if from := in.live.elsewhere(m.before.Pool); from != "" {
			return fmt.Sprintf("the pool that moves from host %s to host %s is there", from, m.hostname)
		}
	}
	return ""
}

// growthWaits says why no pool may grow now, or "": until what it names is done, the cStor
// webhook refuses the edit, or the operator does not carry it out.
func growthWaits(in *input, members []*member) string {
	if why := in.ailing(); why != "" {
		return "while " + why + ": the cStor webhook refuses every edit of the CStorPoolCluster until then"
	}
	if moving := stillMoving(in, members); moving != "" {
		return "until " + moving + ": apply this, and take the inventory anew"
	}
	if removed := stillLive(in, members); len(removed) > 0 {
		return "until " + removed[0] + " is gone from the live cluster: the cStor operator ignores an addition until a removal is done"
	}
	return ""
}
