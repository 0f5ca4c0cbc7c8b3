package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/raid"
)

// The admission webhook of cStor 3.6 asks the API server about each disk, five
// times a second after a burst of ten, and must answer in five seconds
// (reference: cstor.md, section 7).
const (
	webhookBurst    = 10
	webhookRate     = 5  // requests a second
	webhookTimeout  = 5  // seconds
	webhookLongest  = 30 // seconds, the most that Kubernetes allows
	callsPerClaimed = 2  // on an update
)

// admission is what the webhook would say.
type admission struct{ *input }

// admit checks the CStorPoolCluster that is to be rendered against every rule of the webhook, and what
// the webhook lets through although it goes wrong.
func admit(in *input, cluster *pool.Cluster) {
	a, pools := admission{in}, cluster.Pools
	for _, problem := range a.refusedPools(pools) {
		a.report(finding.Error, "admission", "", "the cStor admission webhook would refuse the CStorPoolCluster: %s", problem)
	}
	if old := a.baseline(); old != nil {
		for _, problem := range refusedChanges(old, pools) {
			a.report(finding.Error, "admission", "", "the cStor admission webhook would refuse the change of the CStorPoolCluster: %s", problem)
		}
		a.checkRemoved(old, pools)
	}
	a.warnOfHostnames(pools)
	a.warnOfTimeout(pools)
}

// baseline is what the API server compares with: the live pools, or what was
// rendered if there is no snapshot of them.
func (a admission) baseline() []*pool.Pool {
	if a.live.cluster != nil {
		return a.live.cluster.Pools
	}
	var pools []*pool.Pool
	for _, p := range a.lock.pools {
		pools = append(pools, p.Pool)
	}
	return pools
}

// refusedPools checks a CStorPoolCluster as it stands.
func (a admission) refusedPools(pools []*pool.Pool) []string {
	var problems []string
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(pools) == 0 {
		refuse("it has no pools")
	}
	hosts, seen, known := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range a.lock.pools {
		known[p.Hostname] = true
	}
	for _, p := range pools {
		if p.Hostname == "" {
			refuse("a pool has no node selector")
		}
		if nodes := len(a.facts.Host(p.Hostname)); nodes != 1 && !known[p.Hostname] {
			refuse("the node selector of the pool on %s finds %d nodes, and must find one", p.Hostname, nodes)
		}
		if hosts[p.Hostname] {
			refuse("host %s has two pools", p.Hostname)
		}
		hosts[p.Hostname] = true
		for _, problem := range append(refusedGroups(p.RAIDType, p.Data), refusedCache(p)...) {
			refuse("pool on %s: %s", p.Hostname, problem)
		}
		for _, name := range p.Disks() {
			if seen[name] {
				refuse("block device %s is in two places", name)
			}
			seen[name] = true
			// A device that was in a pool keeps its place whatever became of it.
			if !a.lock.pooled[name] {
				if reason := a.refusedDevice(p.Hostname, name); reason != "" {
					refuse("block device %q: %s", name, reason)
				}
			}
		}
	}
	return problems
}

// refusedDevice says why the webhook refuses a device that is new in a pool.
func (a admission) refusedDevice(hostname, name string) string {
	d := a.facts.Device(a.namespace, name)
	switch {
	case d == nil:
		return "it does not exist"
	case d.Hostname != hostname:
		return "it is not on " + hostname
	}
	want := a.keep()
	want.Volumes = func(*inventory.Volume) bool { return true }
	return a.ledger.Verdict(a.disk(name), want).Reason()
}

func refusedCache(p *pool.Pool) []string {
	switch {
	case len(p.Cache) == 0 && p.CacheType != "":
		return []string{"it has a writeCacheGroupType and no write cache"}
	case len(p.Cache) == 0:
		return nil
	}
	return refusedGroups(p.CacheType, p.Cache)
}

// refusedGroups checks the number of groups and of disks in them.
func refusedGroups(raidType string, groups pool.Groups) []string {
	switch raidType {
	case stripe, mirror, raidz, raidz2:
	case "":
		return []string{"a RAID type is missing"}
	default:
		return []string{fmt.Sprintf("%q is not a RAID type of cStor", raidType)}
	}
	var problems []string
	if len(groups) == 0 {
		problems = append(problems, "it has no RAID group")
	}
	if raidType == stripe && len(groups) > 1 {
		problems = append(problems, "a stripe has exactly one RAID group")
	}
	for _, group := range groups {
		if !raid.IsGroup(raidType, len(group)) {
			problems = append(problems, fmt.Sprintf("%d disks do not make a %s group", len(group), raidType))
		}
	}
	return problems
}

// refusedChanges checks old pools against new ones of the same host.
func refusedChanges(old, pools []*pool.Pool) []string {
	var problems []string
	before := pool.ByHost(old)
	for _, p := range pools {
		o := before[p.Hostname]
		if o == nil {
			continue
		}
		if o.RAIDType != p.RAIDType {
			problems = append(problems, fmt.Sprintf("pool on %s: its RAID type changes from %s to %s", p.Hostname, o.RAIDType, p.RAIDType))
			continue
		}
		for _, group := range o.Data {
			if len(group) == 0 {
				continue // nothing can be lost of it
			}
			if problem := refusedGroupChange(p.RAIDType, group, p.Data); problem != "" {
				problems = append(problems, fmt.Sprintf("pool on %s: %s", p.Hostname, problem))
			}
		}
	}
	return problems
}

// refusedGroupChange finds what became of a group: it may grow if it is a
// stripe, and change one disk if it is not.
func refusedGroupChange(raidType string, group pool.Group, now pool.Groups) string {
	most, size := -1, 0
	for _, candidate := range now {
		common := 0
		for _, name := range group {
			if slices.Contains(candidate, name) {
				common++
			}
		}
		if common > most {
			most, size = common, len(candidate)
		}
	}
	lost := len(group) - max(most, 0)
	switch {
	case most <= 0:
		return fmt.Sprintf("the RAID group of %s is gone", group[0])
	case raidType == stripe && lost > 0:
		return "a disk of a stripe cannot be taken out or replaced"
	case raidType != stripe && size != len(group):
		return "a RAID group changes its size"
	case lost > 1:
		return "more than one disk of a RAID group is replaced at once"
	}
	return ""
}

// checkRemoved looks at pools that go.
func (a admission) checkRemoved(old, pools []*pool.Pool) {
	now, before := pool.ByHost(pools), pool.ByHost(old)
	instances := map[string]*inventory.PoolInstance{}
	for _, i := range a.facts.PoolInstances(a.namespace, a.name) {
		instances[i.Hostname] = i
	}
	seen := a.facts.Tells(cstorGroup, poolInstanceKind, a.namespace) && a.facts.Tells(cstorGroup, cstorVolumeReplicaKind, a.namespace)
	var removed, unseen []string
	for _, p := range old {
		if now[p.Hostname] != nil {
			continue
		}
		removed = append(removed, p.Hostname)
		instance, replicas := instances[p.Hostname], 0
		if instance != nil {
			replicas = a.facts.Replicas(a.namespace, instance.Name)
		}
		switch {
		case replicas > 0:
			a.report(finding.Error, "pool-in-use", "",
				"the pool on %s (CStorPoolInstance %s) cannot go: it holds %s, to be moved first", p.Hostname, instance.Name, finding.Count(replicas, "volume replica"))
		case instance == nil && len(instances) > 0:
			a.report(finding.Warning, "no-instance", "",
				"the pool on %s goes and has no CStorPoolInstance yet: the cStor webhook fails on that; wait for the instance first", p.Hostname)
		case !seen:
			unseen = append(unseen, p.Hostname)
		}
	}
	if len(unseen) > 0 {
		a.report(finding.Warning, "replicas-unknown", "",
			"the pool on %s goes, and the inventory does not tell whether it holds volume replicas; take it anew with poolwright inventory, and render again before this is applied", strings.Join(limit(unseen), ", "))
	}
	added := slices.IndexFunc(pools, func(p *pool.Pool) bool { return before[p.Hostname] == nil })
	if len(removed) > 0 && added >= 0 {
		a.report(finding.Warning, "two-changes", "",
			"the pool on %s goes and the pool on %s comes in one edit, which the cStor operator accepts and does not carry out; if the CStorPoolCluster is applied already, take the one out and apply that first", removed[0], pools[added].Hostname)
	}
}

// warnOfHostnames says which nodes escape the day-2 checks of the webhook.
func (a admission) warnOfHostnames(pools []*pool.Pool) {
	var nodes []string
	for _, p := range pools {
		for _, n := range a.facts.Host(p.Hostname) {
			if n.Name != p.Hostname {
				nodes = append(nodes, fmt.Sprintf("%s (%s)", n.Name, p.Hostname))
			}
		}
	}
	if len(nodes) > 0 {
		a.report(finding.Warning, "hostname-differs", "",
			"the hostname label is not the name of node %s: the cStor webhook then checks no later change of its pool, so never edit the CStorPoolCluster by hand",
			strings.Join(limit(nodes), ", "))
	}
}

// warnOfTimeout says when a cluster is too large for the webhook to answer about
// an update in time.
func (a admission) warnOfTimeout(pools []*pool.Pool) {
	disks := 0
	for _, p := range pools {
		disks += len(p.Disks())
	}
	seconds := (callsPerClaimed*disks - webhookBurst + webhookRate - 1) / webhookRate
	if seconds <= webhookTimeout {
		return
	}
	if seconds > webhookLongest {
		most := (webhookLongest*webhookRate + webhookBurst) / callsPerClaimed
		a.report(finding.Warning, "webhook-timeout", "",
			"the CStorPoolCluster has %d disks; the cStor webhook cannot check a change of more than %d even with timeoutSeconds: %d; make several smaller clusters", disks, most, webhookLongest)
		return
	}
	a.report(finding.Warning, "webhook-timeout", "",
		"the CStorPoolCluster has %d disks, for which the cStor webhook needs about %d seconds, and it is given %d; set timeoutSeconds: %d on its ValidatingWebhookConfiguration", disks, seconds, webhookTimeout, seconds)
}
