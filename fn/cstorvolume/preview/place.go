package preview

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// settle chooses the pools of the replicas that are not there yet, and says how.
func (r *request) settle() {
	vol, size := r.vol, quantity.Bytes(r.vol.Size)
	if vol.Phase != chain.PhaseBound {
		for _, name := range r.made {
			vol.Pools = append(vol.Pools, r.poolOf(vol, name))
		}
	}
	for _, p := range vol.Pools {
		if i := r.live.Instance(inventory.Key{Namespace: vol.Namespace, Name: p.Name}); i != nil && !slices.Contains(r.made, p.Name) {
			r.pool(i).gets(size, true)
		}
	}
	r.chain.Placement = "as it is"
	needs := vol.Replicas - len(vol.Pools)
	if len(r.twice) > 0 {
		needs = len(r.usable)
	}
	if needs > 0 && !r.isPlaced() {
		r.choose(needs, size)
	}
	for _, p := range vol.Pools {
		if isKnown(p.Name) {
			r.chain.On = append(r.chain.On, p.Name)
		}
	}
	if len(r.chain.On) == len(vol.Pools) {
		vol.Budget = r.budgets[budgetKey(vol.Namespace, r.chain.On)]
	}
	r.warnOfZones()
}

// isPlaced reports whether the volume is made and the facts show where its replicas are:
// then it has as many as it is asked to have.
func (r *request) isPlaced() bool {
	if r.vol.Phase != chain.PhaseBound {
		return false
	}
	wanted, has := r.scaling()
	return len(wanted) > 0 || len(has) > 0
}

// choose finds pools for some replicas as the operator does.
func (r *request) choose(needs int, size int64) {
	vol := r.vol
	origin, _ := vol.Origin()
	how := "at random"
	switch {
	case vol.Phase == chain.PhaseBound:
		how = "on pools that the inventory does not contain"
	case len(r.usable) == needs && len(r.pins) > 0:
		how = "on the pools that CStorVolumePolicy " + vol.Policy + " names"
	case len(r.usable) == needs && isKnown(origin):
		how = "on the pools of " + origin + ", which it is made from"
	case len(r.usable) == needs:
		how = "on all pools that take volumes"
	case len(r.usable) == 0:
		how = "at random, of pools that are not there yet"
	}
	r.chain.Placement = how
	if len(r.usable) == needs {
		for _, i := range r.usable {
			vol.Pools = append(vol.Pools, r.poolOf(vol, i.Name))
			r.pool(i).gets(size, true)
		}
		return
	}
	rest := r.usable
	if affine, _ := vol.Settings.Get("provision", "replicaAffinity").Bool(); affine && len(r.usable) > 0 {
		rest = r.chooseNear(size)
		needs = vol.Replicas - len(vol.Pools)
	}
	for range needs {
		n := strconv.Itoa(len(vol.Pools) + 1)
		vol.Pools = append(vol.Pools, chain.Pool{Name: chain.Hole("pool %s of %s", n, vol.Cluster), Host: chain.Hole("host of pool %s", n), UID: chain.Hole("uid of pool %s", n)})
	}
	for _, i := range rest {
		r.chain.Candidates = append(r.chain.Candidates, i.Name)
		r.pool(i).gets(size, false)
	}
}

// chooseNear puts the first replica on the node that the volume is published to, where
// that is known and has a pool, and returns the pools that are left.
func (r *request) chooseNear(size int64) []*pool.Instance {
	node := ""
	if r.config != nil {
		node = r.config.Node.Str("publish", "nodeId")
	}
	at := slices.IndexFunc(r.usable, func(i *pool.Instance) bool { return i.Hostname == node })
	switch {
	case node == "":
		r.chain.Placement = "the first on the node of its pod where that has a pool, else at random"
		return r.usable
	case at < 0:
		return r.usable
	}
	near := r.usable[at]
	r.vol.Pools = append(r.vol.Pools, r.poolOf(r.vol, near.Name))
	r.pool(near).gets(size, true)
	r.chain.Placement = "the first on node " + node + ", the others at random"
	return slices.Delete(slices.Clone(r.usable), at, at+1)
}

// warnOfZones says where a zone that fails would take a volume of three replicas or more
// with it.
func (r *request) warnOfZones() {
	k := len(r.vol.Pools)
	if !chain.HasBudget(k) {
		return
	}
	on, may, zones := map[string]int{}, map[string]int{}, map[string]bool{}
	count := func(names []string, in map[string]int) {
		for _, name := range names {
			if i := r.live.Instance(inventory.Key{Namespace: r.vol.Namespace, Name: name}); i != nil {
				if zone := r.pool(i).Zone; zone != "" {
					in[zone]++
					zones[zone] = true
				}
			}
		}
	}
	count(r.chain.On, on)
	count(r.chain.Candidates, may)
	if len(zones) < 2 {
		return
	}
	random := len(r.vol.Pools) - len(r.chain.On)
	spare := k - chain.Quorum(k) // replicas that it can lose
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		f := finding.Finding{Severity: finding.Warning, Rule: "zone-shared", Object: r.about}
		switch most := on[zone] + min(random, may[zone]); {
		case on[zone] > spare:
			f.Message = fmt.Sprintf("%d of its %d replicas are in zone %s: without that zone it stops", on[zone], k, zone)
		case most > spare:
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("up to %d of its %d replicas may come to be in zone %s, and without that zone it then stops; placement: pinned in its CStorVolumeClass spreads them", most, k, zone)
		default:
			continue
		}
		r.findings = append(r.findings, f)
	}
}

// poolOf is a pool by its name, with what is known of it.
func (v *viewer) poolOf(vol *chain.Volume, name string) chain.Pool {
	p := chain.Pool{Name: name, Host: chain.Hole("host of %s", name), UID: chain.Hole("uid of %s", name)}
	if i := v.live.Instance(inventory.Key{Namespace: vol.Namespace, Name: name}); i != nil {
		p.Host = i.Hostname
		if uid := i.Object.Node.Str("metadata", "uid"); uid != "" {
			p.UID = uid
		}
	}
	return p
}

// pool is what is known of a pool instance, and what it gets.
func (v *viewer) pool(i *pool.Instance) *Pool {
	key := inventory.Key{Namespace: i.Object.Namespace, Name: i.Name}
	if p := v.gets[key]; p != nil {
		return p
	}
	p := &Pool{Instance: i, Node: i.Hostname, Replicas: v.live.Replicas(key.Namespace, key.Name), Free: -1}
	if nodes := v.facts.Host(i.Hostname); len(nodes) > 0 {
		p.Node, p.Zone = nodes[0].Name, nodes[0].Zone
	}
	if free, known := i.Free(); known {
		p.Free = free
	}
	v.gets[key] = p
	return p
}

// gets adds a replica that the pool gets, or may get.
func (p *Pool) gets(size int64, sure bool) {
	p.Possible++
	p.MostBytes += size
	if sure {
		p.Sure++
		p.SureBytes += size
	}
}
