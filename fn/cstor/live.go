package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/finding"
)

// livePools is what the facts show of one cluster.
type livePools struct {
	cluster   *pool.Cluster             // nil if it is not among the facts
	pools     map[string]*pool.Pool     // of the cluster, by host
	all       []*pool.Instance          // by name
	instances map[string]*pool.Instance // by host
}

func newLivePools(live *pool.Live, n names) *livePools {
	l := &livePools{
		cluster:   live.Cluster(n.namespace, n.name),
		pools:     map[string]*pool.Pool{},
		all:       live.Instances(n.namespace, n.name),
		instances: map[string]*pool.Instance{},
	}
	if l.cluster != nil {
		l.pools = pool.ByHost(l.cluster.Pools)
	}
	for _, i := range l.all {
		l.instances[i.Hostname] = i
	}
	return l
}

// pool is the pool that lives on a host: of the live CStorPoolCluster, or, where
// nothing is known of that, of an instance; or nil.
func (l *livePools) pool(hostname string) *pool.Pool {
	if p := l.pools[hostname]; p != nil {
		return p
	}
	i := l.instances[hostname]
	if i == nil || i.Object.Deleting() || l.cluster != nil {
		return nil
	}
	return i.Pool
}

// compareLive warns where the cluster has what the lock does not know. What the
// lock has more is only not applied yet.
func compareLive(in *input) {
	live := in.live.cluster
	if live == nil || in.lock.adopted || in.lock.cluster == nil {
		return
	}
	for _, p := range live.Pools {
		mine := in.lock.host(p.Hostname)
		if mine == nil {
			in.report(finding.Warning, "lock-differs", "",
				"the live CStorPoolCluster has a pool on %s that the rendered one lacks; the rendered one stands, apply it or restore the pool there", p.Hostname)
			continue
		}
		known := mine.Disks()
		for _, name := range p.Disks() {
			if !slices.Contains(known, name) {
				in.report(finding.Warning, "lock-differs", "",
					"the live CStorPoolCluster has block device %s in the pool on %s and the rendered one has not; the rendered one stands, apply it or restore the device there", name, p.Hostname)
			}
		}
	}
	if host := regrouped(in.lock.cluster, live); host != "" {
		in.report(finding.Warning, "lock-differs", "",
			"the live CStorPoolCluster has the disks of the pool on %s in other RAID groups than the rendered one, and no pool can follow that; restore the groups there", host)
	}
}
