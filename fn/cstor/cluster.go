// Package cstor turns a CStorClusterConfig into an OpenEBS cStor pool cluster:
// the plan, the storage sets, for cloud disks the storages with their claims and
// attachments, and the CStorPoolCluster itself.
//
// Each run goes as far as the facts allow. What was decided before, in the lock
// or else in the live cluster, is kept; what is missing is said.
//
// Source: cstor-operators and openebs/api, 3.6.0.
// Source: cstorpoolauto, types/cstorclusterconfig.go, commit 4fd936d4.
package cstor

import (
	"cmp"
	"slices"
	"sync"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer. The specs come in order of namespace and name.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	live := pool.LiveOf(in.Facts)
	r := make(rendering, len(specs))
	for i, spec := range specs {
		r[i] = newCluster(spec, in.Facts, live, in.Disks, in.DrainVolumes)
		r[i].nodes.clusters.taken = func(name string) string { return takenBy(spec, name, specs, live) }
		checkClasses(r[i].input, in.Held)
		hintAdoption(r[i].input, specs, in.Held)
	}
	return r
}

// rendering is the clusters of all specs, which share nodes and disks.
type rendering []*cluster

// Keep implements system.Rendering.
func (r rendering) Keep() {
	for _, c := range r {
		c.keep()
	}
}

// Choose implements system.Rendering.
func (r rendering) Choose() []system.Output {
	for _, c := range r {
		c.choose()
	}
	for more := true; more; { // what one takes another may have been able to grow by
		more = false
		for _, c := range r {
			more = c.makeRoom() || more
		}
	}
	for _, c := range r {
		c.tellSteps()
	}
	outputs := make([]system.Output, len(r))
	for i, c := range r {
		outputs[i] = c.output()
		rememberReasons(outputs[i].Choices, c.spec.Before)
	}
	return outputs
}

// cluster is one CStorClusterConfig on its way: what one step hands to the next.
type cluster struct {
	*input
	lost     *recovery
	moves    *relocation
	nodes    *nodeChoice
	local    *localDisks
	cloud    *cloudDisks
	full     *fullPools
	replace  *replacement
	released map[krm.ID]bool // claims and attachments that may go

	old    bool                       // the inventory is older than one that was rendered from: all stays
	chosen bool                       // every member has its disks, or says what it waits for
	edits  map[*standing.Cluster]edit // the steps that come next
}

// member is a node of the cluster, its disks, and what they wait for.
type member struct {
	name     string
	hostname string
	uid      string
	reason   string            // why it was chosen, one word
	node     *inventory.Node   // nil if the node is missing from the snapshot
	before   *standing.Pool    // nil for a new pool
	of       *standing.Cluster // that its pool is in, or comes into
	cloud    []*cloudDisk      // those of its disks that a cloud provides
	disks
	waiting bool         // its new disks are not all there
	grown   record.Grown // how its pool grew by itself
	full    string       // the CStorPoolInstance that is too full, "" where the pool need not grow
	grows   record.Grown // as which it then does
	wants   int          // data disks that it is to have, of cloud disks
	leaving string       // why it goes, which is allowed; "" for one that stays
	held    bool         // it is not wanted, and stays as long as its removal is not allowed
}

// disks are the block devices of a member.
type disks struct {
	data, cache pool.Groups
	spare       []string
}

func newCluster(spec *system.Spec, facts *inventory.Facts, live *pool.Live, ledger *disk.Ledger, drains int) *cluster {
	n := names{spec.Object.Namespace, spec.Object.Name}
	owner, state := spec.Object.OwnerKey(), admission.NewState(facts, live)
	clusters := findPoolClusters(n, owner, spec.Before, state)
	in := &input{
		existing: existing{
			names: n, owner: owner, facts: facts, ledger: ledger,
			live: newLivePools(live, facts, clusters, n, owner), state: state,
		},
		collector: newCollector(spec, len(facts.Nodes)+len(facts.Devices)),
		works:     map[*standing.Cluster]*work{},
	}
	c := &cluster{input: in, released: map[krm.ID]bool{}, edits: map[*standing.Cluster]edit{}, lost: &recovery{in, map[string]string{}}}
	c.local = &localDisks{stock: &stock{in}, left: map[string]*leftover{}}
	c.cloud = &cloudDisks{localDisks: c.local, matched: map[string]string{}, sizes: newEnlargement(in)}
	c.cloud.lacking = sync.OnceValue(c.cloud.lacksBound)
	c.full, c.replace = &fullPools{c.local}, newReplacement(in)
	c.local.replace = c.replace
	c.nodes = &nodeChoice{
		roster:       &roster{input: in, drains: nodesToDrain(spec.Object), back: c.lost.back, released: c.released, going: map[string]string{}},
		cannotSupply: c.local.cannotSupply,
	}
	ready := func(of *standing.Cluster) {
		ailing := sync.OnceValue(func() string { return in.findAiling(of, c.nodes.letsGo) })
		in.works[of] = &work{steps: &steps{input: in, of: of, ailing: ailing}, drain: &draining{input: in, of: of, limit: drains}}
	}
	for _, of := range clusters {
		ready(of)
	}
	c.nodes.clusters = &clusterChoice{input: in, ready: ready}
	c.moves = &relocation{in, moveConsent{n, system.NewConsent(spec.Object.AnnotationList(annotationAllowMove))}, c.released}
	var err error
	if in.cfg, err = readConfig(spec); err != nil {
		in.report(finding.Error, "config", "", "%v", err)
	}
	in.standing = standing.New(record.Read(spec.Before), clusters, facts)
	in.forgetGivenUp()
	in.consent = consent{n, spec.Consent, in.standing.IsBegun(), in.standing}
	in.checkSelectors()
	in.readListing()
	in.tellMeaning()
	if in.failed() || in.standing.IsRendered() {
		return c
	}
	if claimed := len(pool.LiveOf(facts).ClaimedBy(n.namespace, n.name)); claimed > 0 {
		in.report(finding.Warning, "pools-unknown", "",
			"it has claimed %s, and neither the output folder nor the inventory has its CStorPoolCluster; if that exists, restore rendered/ from Git or add cstorpoolclusters to the snapshot before this is applied", finding.Count(claimed, "block device"))
	}
	return c
}

// keep decides what stays of what was rendered and of what lives, and frees the rest,
// before anyone chooses.
func (c *cluster) keep() {
	if c.old = !c.failed() && c.isOld(); c.old || c.failed() {
		return
	}
	c.checkRelease()
	c.moves.catchUp()
	c.lost.run()
	c.checkPools()
	if c.failed() {
		return
	}
	c.check()
	if c.failed() {
		return
	}
	for _, of := range c.standing.Clusters() {
		c.steps(of).begin()
		c.moves.follow(of)
	}
	c.nodes.keep()
	for _, of := range c.standing.Clusters() {
		c.steps(of).forget(func(p *standing.Pool) bool { return c.nodes.letsGo(p) && c.live.knownGone(p.Pool) })
	}
	if c.failed() {
		return
	}
	c.nodes.warnOfUnknownDrains()
	for _, of := range c.standing.Clusters() {
		c.drain(of).run(c.nodes.members)
	}
	for _, m := range c.nodes.members {
		c.local.keepSpares(m)
		c.local.freeReplaced(m)
		c.local.keepReserved(m, c.nodes.planOnly(m))
	}
}

// checkPools refuses pools that cannot be kept as they stand.
func (c *cluster) checkPools() {
	seen := map[string]bool{}
	for i, p := range c.standing.Pools() {
		switch {
		case p.Hostname == "":
			c.report(finding.Error, "pool-selector", "",
				"pool %d of its CStorPoolCluster has no nodeSelector, so that it cannot be kept; give it one with the label %s", i, inventory.LabelHostname)
			continue
		case p.Hostname == p.Labels.String():
			c.report(finding.Error, "pool-selector", "",
				"pool %d of its CStorPoolCluster selects its node by %s, which finds %s and must find one, so that it cannot be kept; give it a nodeSelector of the label %s alone",
				i, p.Labels, finding.Count(len(c.state.Nodes(p.Pool)), "node"), inventory.LabelHostname)
			continue
		case c.standing.Pool(p.Node) != p:
			c.report(finding.Error, "pool-twice", "",
				"its CStorPoolCluster has two pools on node %s, on hosts %s and %s; correct it, a node has one pool", p.Node, p.Hostname, c.standing.Pool(p.Node).Hostname)
			continue
		}
		if len(p.Labels) > 0 {
			c.report(finding.Warning, "pool-selector", "",
				"the pool on %s selects its node by %s, and is rendered with %s: %s, which finds the same node: the cStor webhook accepts that, and the pod of the pool may restart, with a pause of I/O",
				nodeName(c.facts, p.Hostname), p.Labels, inventory.LabelHostname, p.Hostname)
		}
		for _, name := range p.Disks() {
			if seen[name] {
				c.report(finding.Error, "device-twice", "", "block device %s is twice in its pools; correct the CStorPoolCluster", name)
			}
			if other := c.alias(name, seen); other != "" {
				c.report(finding.Error, "device-twice", "",
					"block devices %s and %s in its pools are one disk, by their serial number or by-id link; take one of them out of the CStorPoolCluster", other, name)
			}
			seen[name] = true
			if holder := heldBy(c.disk(name), c.mine); holder != "" {
				c.report(finding.Error, "device-twice", "",
					"block device %s on node %s is in its pool already and is also held by %s; take it out of one of them", name, p.Node, holder)
			}
		}
	}
}

// alias is another name of a disk among some block devices, "" if there is none. Two that
// live in the pools are let be: disks without a serial number of their own exist.
func (c *cluster) alias(name string, among map[string]bool) string {
	others := c.disk(name).Others()
	if len(others) == 0 {
		return ""
	}
	for _, other := range others {
		known := other.Name()
		if known.Namespace != c.namespace || !among[known.Name] {
			continue
		}
		if !c.live.inCluster(name) || !c.live.inCluster(known.Name) {
			return known.Name
		}
	}
	return ""
}

// check refuses what no pool can follow, and selectors that cannot be meant.
func (c *cluster) check() {
	checkUnchanged(c.input)
	for _, s := range c.cfg.all() {
		checkLimit(c.input, s)
	}
	for _, of := range c.cfg.diskSelectors() {
		checkFields(c.input, of.field, of.terms)
	}
}

// choose takes what is wanted more: nodes and disks, and the steps that come next.
func (c *cluster) choose() {
	if c.failed() || c.old {
		return
	}
	warnOfCeiling(c.input)
	c.nodes.clusters.count(c.nodes.members)
	for _, m := range c.nodes.members {
		c.full.judge(m)
	}
	if c.nodes.fill(); c.failed() {
		return
	}
	for _, of := range c.standing.Clusters() {
		compareLive(c.input, of)
	}
	c.takeDisks(c.nodes.members...)
	if c.failed() {
		return
	}
	c.chosen = true
	for _, of := range c.standing.Clusters() {
		c.takeSteps(of)
	}
	c.finish(c.members()...)
}

// takeDisks gives members their disks, or asks for steps that do.
func (c *cluster) takeDisks(members ...*member) {
	for _, m := range members {
		if !c.settings(m.name).external() {
			c.local.place(m)
		}
		c.cloud.sizes.judge(m)
		c.cloud.place(m)
	}
}

// takeSteps decides what becomes of a CStorPoolCluster.
func (c *cluster) takeSteps(of *standing.Cluster) {
	theirs := slices.DeleteFunc(c.members(), func(m *member) bool { return m.of != of })
	pools := &poolChoice{input: c.input, of: of, members: theirs, lacking: c.nodes.lacking, mayEmpty: c.nodes.mayEmpty(of), released: c.released}
	c.edits[of] = pools.edit()
}

// tellSteps tells of the steps of each CStorPoolCluster, once all of them are known.
func (c *cluster) tellSteps() {
	if !c.chosen || c.failed() {
		return
	}
	for _, of := range c.standing.Clusters() {
		c.steps(of).tell()
	}
}

// finish gives members their spares, once it is known by which disks their pools grow.
func (c *cluster) finish(members ...*member) {
	for _, m := range members {
		if !c.settings(m.name).external() {
			c.local.finish(m)
		}
	}
}

// members are the members by name.
func (c *cluster) members() []*member {
	return slices.SortedFunc(slices.Values(c.nodes.members), func(a, b *member) int { return cmp.Compare(a.name, b.name) })
}

// output is what is rendered.
func (c *cluster) output() system.Output {
	out := system.Output{Released: c.released}
	switch {
	case c.chosen:
		out.Objects = c.encode()
	case c.old:
		out.Objects, out.Kept = asRendered(c.spec.Before), true
	}
	out.Findings, out.Choices = c.Findings, c.Choices
	for _, of := range c.standing.Clusters() {
		if t := c.steps(of).transition; t != nil && !c.failed() {
			out.Transitions = append(out.Transitions, *t)
		}
	}
	return out
}

// encode makes the objects of all that was chosen.
func (c *cluster) encode() []gitops.Object {
	c.nodes.passOver()
	if c.cfg.anyLocal() {
		c.local.passOver()
	}
	members := c.members()
	objects := &manifests{input: c.input}
	c.releaseVolumes(c.released)
	for _, of := range c.standing.Clusters() {
		c.drain(of).addMoves(objects)
	}
	objects.addPlan(c.nodes.members, removalsUnderWay(c.input, c.nodes.members, c.nodes.going), c.nodes.short)
	objects.addMembers(members)
	removal := &removal{input: c.input, members: members, released: c.released}
	removal.linger(objects)
	for _, of := range c.standing.Clusters() {
		if e := c.edits[of]; e.wanted != nil {
			admit(c.input, of, e.wanted)
			objects.addPoolCluster(e.wanted, e.members)
		}
	}
	c.replace.tell()
	c.cloud.sizes.tell()
	removal.surplus(objects)
	removal.retain(objects)
	removal.warnOfIdleConsent()
	c.moves.warnOfIdleMoves()
	removal.tellLostClaims(objects)
	for _, of := range c.standing.Clusters() {
		removal.tellStuck(of)
		removal.tellLateReplicas(of)
	}
	objects.observe()
	return objects.all
}
