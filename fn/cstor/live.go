package cstor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// livePools is what the facts show of the CStorPoolClusters of a config.
type livePools struct {
	clusters  []*pool.Cluster           // those that are among the facts
	pools     map[string]*pool.Pool     // of the clusters, by host
	all       []*pool.Instance          // by name
	instances map[string]*pool.Instance // by host
	named     map[string]*pool.Instance // by name
	on        map[string][]*pool.Pool   // by block device: of the clusters, then of the instances
	claimed   map[string][]string       // block devices that are claimed for the clusters, by host
	claimedBy map[string]string         // the cluster that they are claimed for, by host
	claims    map[string]bool           // the same, and those that are missing from the snapshot
	unclear   map[string]bool           // block devices that are claimed, nobody knows for whom

	knows         bool // the facts tell of all kinds that show a pool
	knowsReplicas bool // and of those on it
}

func newLivePools(live *pool.Live, facts *inventory.Facts, clusters []*standing.Cluster, n names, owner string) *livePools {
	l := &livePools{
		pools:     map[string]*pool.Pool{},
		instances: map[string]*pool.Instance{},
		named:     map[string]*pool.Instance{},
		on:        map[string][]*pool.Pool{},
		claimed:   map[string][]string{},
		claimedBy: map[string]string{},
		claims:    map[string]bool{},
		unclear:   map[string]bool{},
	}
	for _, c := range clusters {
		if c.Current != nil {
			l.clusters = append(l.clusters, c.Current)
			maps.Copy(l.pools, pool.ByHost(c.Current.Pools))
		}
		l.all = append(l.all, live.Instances(n.namespace, c.Name)...)
	}
	for _, c := range l.clusters {
		l.index(c.Pools...)
	}
	shown := map[string]string{} // hosts, by block device of an instance
	for _, i := range l.all {
		l.instances[i.Hostname], l.named[i.Name] = i, i
		l.index(i.Pool)
		for _, name := range i.Pool.Disks() {
			shown[name] = i.Hostname
		}
	}
	// A disk that waits to take the place of another is in no pool yet. One that an instance
	// shows is in the pool of that, wherever the disk is now.
	isOurs := map[string]bool{}
	for _, c := range clusters {
		isOurs[c.Name] = true
		for _, d := range live.ClaimedBy(n.namespace, c.Name) {
			if claim := facts.ClaimOf(d); claim.Predecessor == "" && d.ClaimState == "Claimed" {
				if host := shown[d.Name]; host == "" || host == d.Hostname {
					l.claimed[d.Hostname], l.claimedBy[d.Hostname] = append(l.claimed[d.Hostname], d.Name), c.Name
				}
				l.claims[d.Name] = true
			}
		}
	}
	for _, claim := range facts.Objects(deviceGroup, blockDeviceClaimKind) {
		name, replaces := claim.Node.Str("spec", "blockDeviceName"), claim.Annotation(inventory.AnnotationPredecessor) != ""
		if claim.Namespace == n.namespace && isOurs[claim.Label(inventory.LabelPoolCluster)] && !replaces &&
			claim.Node.Str("status", "phase") == "Bound" && facts.Device(n.namespace, name) == nil {
			l.claims[name] = true
		}
	}
	for _, d := range facts.Devices {
		if d.Namespace == n.namespace && d.ClaimState == "Claimed" && facts.ClaimOf(d) == nil {
			l.unclear[d.Name] = true
		}
	}
	l.addVolumes(facts, n, owner)
	instances := facts.Tells(cstorGroup, poolInstanceKind, n.namespace)
	l.knows = instances && facts.Tells(cstorGroup, poolClusterKind, n.namespace) && facts.Tells(deviceGroup, blockDeviceClaimKind, n.namespace)
	l.knowsReplicas = instances && facts.Tells(cstorGroup, cstorVolumeReplicaKind, n.namespace)
	return l
}

// index notes on which block devices pools are.
func (l *livePools) index(pools ...*pool.Pool) {
	for _, p := range pools {
		for _, name := range p.Disks() {
			l.on[name] = append(l.on[name], p)
		}
	}
}

// addVolumes counts as claimed for the cluster the block devices that are claimed, nobody
// knows for whom, and are volumes of its PersistentVolumeClaims; in the order of these.
func (l *livePools) addVolumes(facts *inventory.Facts, n names, owner string) {
	ours := map[string]string{} // claims by PersistentVolume
	for _, o := range boundFor(owner, facts) {
		ours[facts.VolumeClaim(o.Namespace, o.Name).VolumeName] = o.Name
	}
	if len(ours) == 0 {
		return
	}
	claims := map[string]string{} // by block device
	for _, d := range facts.Devices {
		if d.Namespace != n.namespace {
			continue
		}
		for _, v := range disk.VolumesOn(facts, d) {
			if claim := ours[v.Name]; claim != "" {
				claims[d.Name] = claim
			}
		}
		if claims[d.Name] != "" && l.unclear[d.Name] {
			l.claimed[d.Hostname] = append(l.claimed[d.Hostname], d.Name)
			l.claimedBy[d.Hostname] = cmp.Or(l.claimedBy[d.Hostname], n.name)
			l.claims[d.Name] = true
		}
	}
	for _, disks := range l.claimed {
		slices.SortStableFunc(disks, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(claims[a]), len(claims[b])), cmp.Compare(claims[a], claims[b]))
		})
	}
}

// pool is the pool that lives on a host: of the live CStorPoolCluster, or, where
// nothing is known of that, of an instance; or nil.
func (l *livePools) pool(hostname string) *pool.Pool {
	if p := l.pools[hostname]; p != nil {
		return p
	}
	i := l.instances[hostname]
	if i == nil || i.Object.Deleting() || l.cluster(i.Cluster().Name) != nil {
		return nil
	}
	return i.Pool
}

// cluster is a live CStorPoolCluster, or nil.
func (l *livePools) cluster(name string) *pool.Cluster {
	if i := slices.IndexFunc(l.clusters, func(c *pool.Cluster) bool { return c.Name == name }); i >= 0 {
		return l.clusters[i]
	}
	return nil
}

// clusterOn is the name of the CStorPoolCluster of which a pool lives on a host, "" where
// nothing shows one.
func (l *livePools) clusterOn(hostname string) string {
	for _, c := range l.clusters {
		if c.Host(hostname) != nil {
			return c.Name
		}
	}
	if i := l.instances[hostname]; i != nil {
		return i.Cluster().Name
	}
	return l.claimedBy[hostname]
}

// lost lists the instances whose pools the live CStorPoolCluster does not have, and that
// nobody deletes: a pool that moved is known by its disks. Where that is not known, they show
// pools by themselves.
func (l *livePools) lost() []*pool.Instance {
	return slices.DeleteFunc(slices.Clone(l.all), func(i *pool.Instance) bool {
		c := l.cluster(i.Cluster().Name)
		return c == nil || l.pools[i.Hostname] != nil || i.Hostname == "" || i.Object.Deleting() || slices.ContainsFunc(c.Pools, i.Pool.Shares)
	})
}

// hosts lists the hosts on which pools live, sorted, also those that only claims show.
func (l *livePools) hosts() []string {
	hosts := slices.Collect(maps.Keys(l.pools))
	for host, i := range l.instances {
		if l.cluster(i.Cluster().Name) == nil {
			hosts = append(hosts, host)
		}
	}
	for host := range l.claimed {
		if l.cluster(l.claimedBy[host]) == nil {
			hosts = append(hosts, host)
		}
	}
	hosts = slices.DeleteFunc(hosts, func(host string) bool { return host == "" || l.pool(host) == nil && len(l.claimed[host]) == 0 })
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// evidence is the pool that lives on a host, as far as the facts show it. Claims show
// only its disks: why says what is not known then.
func (l *livePools) evidence(host string, want *settings) (p *pool.Pool, why string) {
	if p = l.pool(host); p != nil {
		return p, ""
	}
	disks := l.claimed[host]
	p = &pool.Pool{Hostname: host, Config: pool.Config{RAIDType: want.raidType}}
	p.Data = pool.Groups{slices.Clone(disks)}
	if want.writeCache == nil && (p.RAIDType == pool.Stripe || len(disks) == want.groupSize) {
		return p, ""
	}
	return p, "of its block devices " + finding.Names(disks) + " only the claims are in the inventory, which do not say how they are grouped; add cstorpoolclusters or cstorpoolinstances to the snapshot"
}

// isRunning reports whether anything shows that a pool lives, or may live, on its host.
func (l *livePools) isRunning(p *pool.Pool) bool {
	claimed := func(name string) bool { return l.unclear[name] || l.claims[name] }
	return l.pools[p.Hostname] != nil || l.instances[p.Hostname] != nil || slices.ContainsFunc(p.Disks(), claimed) || l.elsewhere(p) != ""
}

// inCluster reports whether a block device is in a pool of a live CStorPoolCluster.
func (l *livePools) inCluster(device string) bool {
	return slices.ContainsFunc(l.clusters, func(c *pool.Cluster) bool {
		return slices.ContainsFunc(l.on[device], func(p *pool.Pool) bool { return slices.Contains(c.Pools, p) })
	})
}

// shows reports whether anything live names a block device as one of a pool, on whatever
// host.
func (l *livePools) shows(device string) bool { return l.claims[device] || len(l.on[device]) > 0 }

// elsewhere is the host on which a pool with the disks of another one lives, where that is
// not the host of the other, or "": the other is on its way.
func (l *livePools) elsewhere(p *pool.Pool) string {
	disks := p.Disks()
	if len(disks) == 0 {
		return ""
	}
	for _, live := range l.on[disks[0]] {
		if live.Hostname != p.Hostname && pool.SameNames(live.Disks(), disks) {
			return live.Hostname
		}
	}
	return ""
}

// running is the instance of a live pool, or nil: the one on its host, or, of a pool that was
// moved, one of its disks that says so, whose label may still name the old host.
func (l *livePools) running(p *pool.Pool) *pool.Instance {
	if i := l.instances[p.Hostname]; i != nil {
		return i
	}
	at := slices.IndexFunc(l.all, func(i *pool.Instance) bool { return i.RunsOn == p.Hostname && i.Pool.Shares(p) })
	if at < 0 {
		return nil
	}
	return l.all[at]
}

// claimsAll reports whether all disks of a pool are claimed for the cluster.
func (l *livePools) claimsAll(p *pool.Pool) bool {
	return !slices.ContainsFunc(p.Disks(), func(name string) bool { return !slices.Contains(l.claimed[p.Hostname], name) })
}

// knownGone reports whether the facts would show a pool, and do not.
func (l *livePools) knownGone(p *pool.Pool) bool { return l.knows && !l.isRunning(p) }

// compareLive warns where a cluster has what the lock does not know. What the lock has more
// is only not applied yet.
func compareLive(in *input, of *standing.Cluster) {
	live := of.Current
	if live == nil || in.standing.IsAdopted() || of.Before == nil {
		return
	}
	for _, p := range live.Pools {
		mine := in.standing.OnHost(p.Hostname)
		if mine == nil {
			continue // it is let go
		}
		known := mine.Disks()
		for _, name := range p.Disks() {
			if !slices.Contains(known, name) {
				in.report(finding.Warning, "lock-differs", "",
					"the live CStorPoolCluster has block device %s in the pool on %s and the rendered one has another in its place; the rendered one stands: apply it, or restore the device there", name, p.Hostname)
			}
		}
	}
	if host := regrouped(of.Before, live); host != "" {
		in.report(finding.Warning, "lock-differs", "",
			"the live CStorPoolCluster has the disks of the pool on %s in other RAID groups than the rendered one, and no pool can follow that; restore the groups there", host)
	}
}
