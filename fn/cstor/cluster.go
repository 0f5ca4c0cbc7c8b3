// Package cstor turns a CStorClusterConfig into an OpenEBS cStor pool cluster:
// the plan, the storage sets, for cloud disks the storages with their claims and
// attachments, and the CStorPoolCluster itself.
//
// Each run goes as far as the facts allow. What was decided before, in the lock
// or else in the live cluster, is kept; what is missing is said.
package cstor

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer. The specs come in order of namespace and name.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	disks := place.NewDisks(in.Facts)
	takeHeld(disks, otherPools(in.Facts, ownPools(specs), in.Held))
	r := make(rendering, len(specs))
	for i, spec := range specs {
		r[i] = newCluster(spec, in.Facts, disks)
		r[i].checkClasses(in.Held)
	}
	return r
}

// rendering is the clusters of all specs, which share nodes and disks.
type rendering []*cluster

// Keep implements system.Rendering.
func (r rendering) Keep() {
	for _, c := range r {
		c.reserve()
	}
}

// Choose implements system.Rendering.
func (r rendering) Choose() []system.Output {
	outputs := make([]system.Output, len(r))
	for i, c := range r {
		if !finding.Failed(c.out.Findings) {
			c.place()
		}
		if !finding.Failed(c.out.Findings) {
			c.render()
		}
		rememberReasons(c.out.Choices, c.Before)
		outputs[i] = c.out
	}
	return outputs
}

// cluster is one CStorClusterConfig on its way.
type cluster struct {
	*system.Spec
	cfg        config
	facts      *inventory.Facts
	disks      *place.Disks
	before     before
	members    []*member
	pooled     map[string]bool                    // devices of the pools that it had before
	matched    map[string]string                  // device -> the Storage that it is
	lacking    bool                               // fewer nodes than wanted can supply their disks
	live       map[string]*pool                   // see livePools
	instanceOf map[string]*inventory.PoolInstance // by host, see poolInstance
	ownLive    map[string]bool                    // who takes what lives of the cluster, see reserveLive
	volumes    map[string][]*krm.Object           // see volumesOf
	out        system.Output
}

// member is a node of the cluster, its disks, and what they wait for.
type member struct {
	name     string
	hostname string
	uid      string
	node     *inventory.Node // nil if the node is missing from the snapshot
	before   *pool           // nil for a new pool
	volumes  []*volume       // of cloud disks
	disks
	waiting bool // its new disks are not all there
}

// disks are the block devices of a member.
type disks struct {
	data, cache [][]string // by RAID group
	spare       []string
}

func newCluster(spec *system.Spec, facts *inventory.Facts, disks *place.Disks) *cluster {
	c := &cluster{Spec: spec, facts: facts, disks: disks, pooled: map[string]bool{}, matched: map[string]string{}, ownLive: map[string]bool{}}
	c.out.Released = map[krm.ID]bool{}
	var err error
	if c.cfg, err = readConfig(spec); err != nil {
		c.report(finding.Error, "config", "", "%v", err)
		return c
	}
	live := facts.PoolCluster(c.namespace(), c.name())
	c.before = readBefore(spec.Before, live, facts)
	if c.before.cluster != nil {
		return c
	}
	if n := len(facts.ClaimedBy(c.namespace(), c.name())); n > 0 {
		c.report(finding.Warning, "pools-unknown", "",
			"it has claimed %s, and neither the output folder nor the inventory has its CStorPoolCluster; if it lives, restore rendered/ from Git or add cstorpoolclusters to the snapshot before this is applied", finding.Count(n, "block device"))
	}
	return c
}

func (c *cluster) name() string      { return c.Object.Name }
func (c *cluster) namespace() string { return c.Object.Namespace }

// report adds a finding on a field of the spec.
func (c *cluster) report(severity finding.Severity, rule, field, format string, args ...any) {
	c.out.Findings = append(c.out.Findings, c.Finding(severity, rule, field, fmt.Sprintf(format, args...)))
}

// choose records a decision.
func (c *cluster) choose(subject finding.Ref, node string, r role, verdict place.Verdict, reason string) {
	c.out.Choices = append(c.out.Choices, place.Choice{
		Spec: c.Object.Ref, Subject: subject, Node: node, Role: string(r), Verdict: verdict, Reason: reason,
	})
}

// reserve takes the devices that the cluster holds, before anyone chooses.
func (c *cluster) reserve() {
	by := c.Object.Ref.String()
	for i, p := range c.before.pools {
		switch {
		case p.hostname == "":
			c.report(finding.Error, "pool-selector", "",
				"pool %d of its CStorPoolCluster does not select its node by the label %s, so that it cannot be kept; give it a nodeSelector of this label alone", i, inventory.LabelHostname)
			continue
		case c.before.pool(p.node) != p:
			c.report(finding.Error, "pool-twice", "",
				"its CStorPoolCluster has two pools on node %s, on hosts %s and %s; mend it, a node has one", p.node, p.hostname, c.before.pool(p.node).hostname)
			continue
		}
		for _, name := range p.devices() {
			if c.pooled[name] {
				c.report(finding.Error, "device-twice", "", "block device %s is twice in its pools; mend the CStorPoolCluster", name)
			}
			c.pooled[name] = true
			if holder := c.disks.Take(c.namespace(), name, by); holder != "" {
				c.report(finding.Error, "device-twice", "",
					"block device %s on node %s is in its pool already and is also held by %s; take it out of one of them", name, p.node, holder)
			}
		}
	}
	c.reserveLive()
	// A pool says which disks it has; a storage set knows more only of disks that
	// are not in a pool. Those matter for disks of the nodes.
	if c.cfg.external() && (c.cfg.Spec.PoolConfig.WriteCache == nil || c.cfg.cacheExternal()) {
		return
	}
	for _, node := range c.before.nodes {
		roles := []role{data, cache, spare}
		if c.before.pool(node) != nil {
			roles = []role{spare}
		}
		for _, r := range roles {
			for _, name := range c.before.reserved(node, r) {
				c.disks.Take(c.namespace(), name, by)
			}
		}
	}
}

// place decides about nodes and disks.
func (c *cluster) place() {
	c.checkUnchanged()
	if local := c.cfg.Spec.DiskConfig.Local; local != nil {
		c.checkFields("spec.diskConfig.local.blockDeviceSelector", local.BlockDeviceSelector.SelectorTerms)
	}
	if w := c.cfg.Spec.PoolConfig.WriteCache; w != nil && w.Local != nil {
		c.checkFields("spec.poolConfig.writeCache.local.blockDeviceSelector", w.Local.BlockDeviceSelector.SelectorTerms)
	}
	if finding.Failed(c.out.Findings) {
		return
	}
	c.placeNodes()
	c.compareLive()
	for _, m := range c.members {
		if !c.cfg.external() {
			c.placeDevices(m)
		}
		c.placeVolumes(m)
	}
	if !c.cfg.external() {
		c.passOver()
	}
}

// checkUnchanged refuses what no pool can follow.
func (c *cluster) checkUnchanged() {
	if n := c.pooledVolumes(); n > 0 && !c.cfg.external() {
		c.report(finding.Error, "mode-changed", "spec.diskConfig",
			"is local, but the pools hold %d cloud disks, and local disks cannot take their place; write externalProvisioner again, or make another CStorClusterConfig for local disks", n)
		return
	}
	for _, p := range c.before.pools {
		if p.raidType != c.cfg.Spec.PoolConfig.RAIDType {
			c.report(finding.Error, "raid-type-changed", "spec.poolConfig.raidType",
				"the pool on node %s is %s and a pool cannot change its RAID type; write raidType: %s, or make another CStorClusterConfig for the new type",
				p.node, p.raidType, p.raidType)
			return
		}
		for _, group := range p.data {
			if p.raidType != stripe && len(group) != c.cfg.Spec.DiskConfig.GroupSize {
				c.report(finding.Error, "group-size-changed", "spec.diskConfig.groupSize",
					"is %d, but the pool on node %s has RAID groups of %d disks, and a group cannot change its size; write groupSize: %d",
					c.cfg.Spec.DiskConfig.GroupSize, p.node, len(group), len(group))
				return
			}
		}
		if want := c.cfg.Spec.DiskConfig.MinCount; c.cfg.external() && len(flatten(p.data)) > want {
			c.report(finding.Error, "count-lowered", "spec.diskConfig.minCount",
				"is %d, but the pool on node %s has %d disks, and disks cannot be taken out of a pool; write at least minCount: %d",
				want, p.node, len(flatten(p.data)), len(flatten(p.data)))
			return
		}
	}
}
