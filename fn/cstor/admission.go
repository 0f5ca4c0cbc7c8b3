package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
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

// admit checks the rendered object against every rule of the webhook, and what
// the webhook lets through although it goes wrong.
func (c *cluster) admit(o *krm.Object) {
	pools := readPools(o.Node)
	for _, problem := range c.refusedPools(pools) {
		c.report(finding.Error, "admission", "", "the cStor admission webhook would refuse the CStorPoolCluster: %s", problem)
	}
	if old := c.baseline(); old != nil {
		for _, problem := range refusedChanges(old, pools) {
			c.report(finding.Error, "admission", "", "the cStor admission webhook would refuse the change of the CStorPoolCluster: %s", problem)
		}
		c.checkRemoved(old, pools)
	}
	c.warnOfHostnames(pools)
	c.warnOfTimeout(pools)
}

// baseline is what the API server compares with: the live pools, or what was
// rendered if there is no snapshot of them.
func (c *cluster) baseline() []*pool {
	if live := c.facts.PoolCluster(c.namespace(), c.name()); live != nil {
		return readPools(live.Node)
	}
	return c.before.pools
}

// refusedPools checks a CStorPoolCluster as it stands.
func (c *cluster) refusedPools(pools []*pool) []string {
	var problems []string
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(pools) == 0 {
		refuse("it has no pools")
	}
	hosts, seen, known := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range c.before.pools {
		known[p.hostname] = true
	}
	for _, p := range pools {
		if p.hostname == "" {
			refuse("a pool has no node selector")
		}
		if nodes := len(c.facts.Host(p.hostname)); nodes != 1 && !known[p.hostname] {
			refuse("the node selector of the pool on %s finds %d nodes, and must find one", p.hostname, nodes)
		}
		if hosts[p.hostname] {
			refuse("host %s has two pools", p.hostname)
		}
		hosts[p.hostname] = true
		for _, problem := range append(refusedGroups(p.raidType, p.data), refusedCache(p)...) {
			refuse("pool on %s: %s", p.hostname, problem)
		}
		for _, name := range p.devices() {
			if seen[name] {
				refuse("block device %s is in two places", name)
			}
			seen[name] = true
			// A device that was in a pool keeps its place whatever became of it.
			if !c.pooled[name] {
				if reason := c.refusedDevice(p.hostname, name); reason != "" {
					refuse("block device %q: %s", name, reason)
				}
			}
		}
	}
	return problems
}

// refusedDevice says why the webhook refuses a device that is new in a pool.
func (c *cluster) refusedDevice(hostname, name string) string {
	d := c.facts.Device(c.namespace(), name)
	switch {
	case d == nil:
		return "it does not exist"
	case d.Hostname != hostname:
		return "it is not on " + hostname
	}
	return c.disks.Refuse(d, c.wanted())
}

func refusedCache(p *pool) []string {
	switch {
	case len(p.cache) == 0 && p.cacheType != "":
		return []string{"it has a writeCacheGroupType and no write cache"}
	case len(p.cache) == 0:
		return nil
	}
	return refusedGroups(p.cacheType, p.cache)
}

// refusedGroups checks the number of groups and of disks in them.
func refusedGroups(raidType string, groups [][]string) []string {
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
func refusedChanges(old, pools []*pool) []string {
	var problems []string
	before := byHost(old)
	for _, p := range pools {
		o := before[p.hostname]
		if o == nil {
			continue
		}
		if o.raidType != p.raidType {
			problems = append(problems, fmt.Sprintf("pool on %s: its RAID type changes from %s to %s", p.hostname, o.raidType, p.raidType))
			continue
		}
		for _, group := range o.data {
			if len(group) == 0 {
				continue // nothing can be lost of it
			}
			if problem := refusedGroupChange(p.raidType, group, p.data); problem != "" {
				problems = append(problems, fmt.Sprintf("pool on %s: %s", p.hostname, problem))
			}
		}
	}
	return problems
}

// refusedGroupChange finds what became of a group: it may grow if it is a
// stripe, and change one disk if it is not.
func refusedGroupChange(raidType string, group []string, now [][]string) string {
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
func (c *cluster) checkRemoved(old, pools []*pool) {
	now, before := byHost(pools), byHost(old)
	instances := map[string]*inventory.PoolInstance{}
	for _, i := range c.facts.PoolInstances(c.namespace(), c.name()) {
		instances[i.Hostname] = i
	}
	seen := c.facts.Tells(cstorGroup, poolInstanceKind, c.namespace()) && c.facts.Tells(cstorGroup, cstorVolumeReplicaKind, c.namespace())
	var removed, unseen []string
	for _, p := range old {
		if now[p.hostname] != nil {
			continue
		}
		removed = append(removed, p.hostname)
		instance, replicas := instances[p.hostname], 0
		if instance != nil {
			replicas = c.facts.Replicas(c.namespace(), instance.Name)
		}
		switch {
		case replicas > 0:
			c.report(finding.Error, "pool-in-use", "",
				"the pool on %s (CStorPoolInstance %s) cannot go: it holds %s, to be moved first", p.hostname, instance.Name, finding.Count(replicas, "volume replica"))
		case instance == nil && len(instances) > 0:
			c.report(finding.Warning, "no-instance", "",
				"the pool on %s goes and has no CStorPoolInstance yet: the cStor webhook fails on that; wait for the instance first", p.hostname)
		case !seen:
			unseen = append(unseen, p.hostname)
		}
	}
	if len(unseen) > 0 {
		c.report(finding.Warning, "replicas-unknown", "",
			"the pool on %s goes, and the inventory does not tell whether it holds volume replicas; take it anew with poolwright inventory, and render again before this is applied", strings.Join(limit(unseen), ", "))
	}
	added := slices.IndexFunc(pools, func(p *pool) bool { return before[p.hostname] == nil })
	if len(removed) > 0 && added >= 0 {
		c.report(finding.Warning, "two-changes", "",
			"the pool on %s goes and the pool on %s comes in one edit, which the cStor operator accepts and does not carry out; if the CStorPoolCluster is applied already, take the one out and apply that first", removed[0], pools[added].hostname)
	}
}

// warnOfHostnames says which nodes escape the day-2 checks of the webhook.
func (c *cluster) warnOfHostnames(pools []*pool) {
	var nodes []string
	for _, p := range pools {
		for _, n := range c.facts.Host(p.hostname) {
			if n.Name != p.hostname {
				nodes = append(nodes, fmt.Sprintf("%s (%s)", n.Name, p.hostname))
			}
		}
	}
	if len(nodes) > 0 {
		c.report(finding.Warning, "hostname-differs", "",
			"the hostname label is not the name of node %s: the cStor webhook then checks no later change of its pool, so never edit the CStorPoolCluster by hand",
			strings.Join(limit(nodes), ", "))
	}
}

// warnOfTimeout says when a cluster is too large for the webhook to answer about
// an update in time.
func (c *cluster) warnOfTimeout(pools []*pool) {
	disks := 0
	for _, p := range pools {
		disks += len(p.devices())
	}
	seconds := (callsPerClaimed*disks - webhookBurst + webhookRate - 1) / webhookRate
	if seconds <= webhookTimeout {
		return
	}
	if seconds > webhookLongest {
		most := (webhookLongest*webhookRate + webhookBurst) / callsPerClaimed
		c.report(finding.Warning, "webhook-timeout", "",
			"the CStorPoolCluster has %d disks; the cStor webhook cannot check a change of more than %d even with timeoutSeconds: %d; make several smaller clusters", disks, most, webhookLongest)
		return
	}
	c.report(finding.Warning, "webhook-timeout", "",
		"the CStorPoolCluster has %d disks, for which the cStor webhook needs about %d seconds, and it is given %d; set timeoutSeconds: %d on its ValidatingWebhookConfiguration", disks, seconds, webhookTimeout, seconds)
}
