package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Verify implements system.Verifier: every spec, and every pool cluster that lives without
// one, from the CStorPoolCluster over instances and disks to the claims on these.
func (System) Verify(facts *inventory.Facts, specs []system.Followed) []conformance.Check {
	var checks []conformance.Check
	live := pool.LiveOf(facts)
	seen := map[inventory.Key]bool{}
	for _, spec := range specs {
		cluster := key(spec.Object)
		c := system.Conformance(System{}, facts, spec)
		for _, of := range findPoolClusters(names{cluster.Namespace, cluster.Name}, spec.Object.OwnerKey(), spec.Before, admission.NewState(facts, live)) {
			cluster.Name = of.Name
			seen[cluster] = true
			(&proof{c, facts, live, cluster}).cluster()
		}
		checks = append(checks, *c)
	}
	for _, cluster := range live.Named() {
		if seen[cluster] {
			continue
		}
		p := &proof{&conformance.Check{Subject: clusterRef(cluster)}, facts, live, cluster}
		p.asStatus()
		p.cluster()
		checks = append(checks, *p.Check)
	}
	return checks
}

func clusterRef(cluster inventory.Key) finding.Ref {
	return finding.Ref{APIVersion: cstorVersion, Kind: poolClusterKind, Namespace: cluster.Namespace, Name: cluster.Name}
}

// Rules of a pool cluster, beside those that every system has.
const (
	ruleHostTwice = "host-twice"
	ruleShape     = "pool-shape"
)

// proof is the check of one pool cluster.
type proof struct {
	*conformance.Check
	facts *inventory.Facts
	live  *pool.Live
	of    inventory.Key
}

// asStatus judges a pool cluster that no spec of the package asks for as the status of a
// spec judges its own.
func (p *proof) asStatus() {
	if p.live.Cluster(p.of.Namespace, p.of.Name) == nil {
		instances := p.live.Instances(p.of.Namespace, p.of.Name)
		p.Error(conformance.Missing, p.Subject, "is missing, and %s %s its own; apply it again", finding.Count(len(instances), poolInstanceKind), finding.Agree(len(instances), "is", "are"))
		return
	}
	owner := krm.Make(daoVersion, clusterConfigKind, p.of.Namespace, p.of.Name) // of what was rendered elsewhere
	s := newSituation(p.facts, &system.Spec{Object: owner}, system.Output{})
	if p.told("", nodeKind) {
		s.checkNodes()
	}
	if p.told(deviceGroup, blockDeviceKind) {
		s.checkDevices()
	}
	s.checkPoolCluster(s.before.Clusters()[0])
	if p.told(cstorGroup, poolInstanceKind) {
		s.checkPools()
	}
	status := s.report.Status(p.Subject, "")
	p.Add(&status)
}

// told reports whether the facts tell of a kind; if not, it says so.
func (p *proof) told(group, kind string) bool {
	if p.facts.Tells(group, kind, p.of.Namespace) {
		return true
	}
	p.Untold(p.Subject, kind)
	return false
}

// cluster compares what is there object by object, beside what the status tells.
func (p *proof) cluster() {
	c := admission.NewState(p.facts, p.live).Resolve(p.live.Cluster(p.of.Namespace, p.of.Name))
	if c == nil {
		return
	}
	p.Part(c.Object.Ref)
	version := c.Object.Node.Get("versionDetails")
	if desired, current := version.Str("desired"), version.Str("status", "current"); desired != "" && current != "" && desired != current {
		p.Error(conformance.Version, c.Object.Ref, "is of version %s and to be of %s; upgrade it: the operators leave it alone until then", current, desired)
	}
	p.pools(c)
	on := map[string]*pool.Instance{}
	for _, i := range p.live.Instances(p.of.Namespace, p.of.Name) {
		p.Part(i.Object.Ref)
		p.instance(c, i, on[i.Hostname])
		on[i.Hostname] = i
	}
	for _, i := range p.live.All() {
		if i.Cluster() == (inventory.Key{}) && i.Object.Namespace == p.of.Namespace && strings.HasPrefix(i.Name, p.of.Name+"-") {
			p.Part(i.Object.Ref)
			p.Error(conformance.Label, i.Object.Ref, "has no label %s, so that the operators do not know it as one of %s; put it back", inventory.LabelPoolCluster, p.of.Name)
		}
	}
	p.claims(c)
}

// instance compares an instance with the pool that it is of. other is one on the same host.
func (p *proof) instance(c *pool.Cluster, i, other *pool.Instance) {
	if other != nil {
		p.Error(conformance.Extra, i.Object.Ref, "is a second pool of %s on host %s, beside %s", p.of.Name, i.Hostname, other.Name)
		return
	}
	if host := i.Object.Node.Str("spec", "hostName"); host != "" && host != i.Hostname {
		p.Error(conformance.Label, i.Object.Ref, "has label %s: %s, and is on host %s", inventory.LabelHostname, i.Hostname, host)
	}
	planned := c.Host(i.Hostname)
	if planned == nil {
		return // the status tells of it
	}
	p.shape(planned, i)
	wanted := planned.Disks()
	for _, name := range i.Pool.Disks() {
		if !slices.Contains(wanted, name) && !p.replaced(name, wanted) {
			p.Error(conformance.Extra, i.Object.Ref, "uses BlockDevice %s, which the CStorPoolCluster does not name for host %s", name, i.Hostname)
		}
	}
}

// pools reports hosts that several pools select: the operator makes one instance for each host.
func (p *proof) pools(c *pool.Cluster) {
	first := map[string]int{}
	for n, at := range c.Pools {
		if at.Hostname == "" {
			continue
		}
		other, twice := first[at.Hostname]
		if !twice {
			first[at.Hostname] = n
			continue
		}
		p.Error(ruleHostTwice, c.Object.Ref, "spec.pools[%d] and spec.pools[%d] both select host %s, and a host has one pool: the webhook refuses every edit until one of them is removed; keep the pool whose disks the CStorPoolInstance uses", other, n, at.Hostname)
	}
}

// shape compares RAID type and groups of an instance with those of its pool. Disks that only
// one of them has are reported one by one.
func (p *proof) shape(planned *pool.Pool, i *pool.Instance) {
	if has, wants := i.Pool.RAIDType, planned.RAIDType; has != "" && wants != "" && has != wants {
		p.Error(ruleShape, i.Object.Ref, "is of RAID type %s, and the CStorPoolCluster says %s: a running pool never changes its type; set dataRaidGroupType of host %s to %s again", has, wants, i.Hostname, has)
	}
	for _, g := range []struct {
		what       string
		wants, has pool.Groups
	}{{"dataRaidGroups", planned.Data, i.Pool.Data}, {"writeCacheRaidGroups", planned.Cache, i.Pool.Cache}} {
		if pool.SameNames(g.wants.Disks(), g.has.Disks()) && !g.wants.Same(g.has) {
			p.Error(ruleShape, i.Object.Ref, "has the disks of %s in other groups than the CStorPoolCluster: %s, and not %s; write the groups of the instance into the CStorPoolCluster", g.what, g.has, g.wants)
		}
	}
}

// replaced reports whether one of the disks of a pool takes the place of a disk.
func (p *proof) replaced(name string, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(other string) bool {
		d := p.facts.Device(p.of.Namespace, other)
		if d == nil {
			return false
		}
		claim := p.facts.ClaimOf(d)
		return claim != nil && claim.Predecessor == name
	})
}

// claims compares the claims for a cluster with its disks.
func (p *proof) claims(c *pool.Cluster) {
	named := map[string]bool{}
	for _, name := range c.Disks() {
		named[name] = true
		p.Part(finding.Ref{APIVersion: deviceVersion, Kind: blockDeviceKind, Namespace: p.of.Namespace, Name: name})
	}
	if len(named) > 0 {
		p.told(deviceGroup, blockDeviceClaimKind)
	}
	for _, o := range p.facts.Objects(deviceGroup, blockDeviceClaimKind) {
		if o.Namespace != p.of.Namespace || o.Label(inventory.LabelPoolCluster) != p.of.Name {
			continue
		}
		p.Part(o.Ref)
		device := o.Node.Str("spec", "blockDeviceName")
		switch phase := o.Node.Str("status", "phase"); {
		case !named[device] && o.Annotation(inventory.AnnotationPredecessor) != "":
			p.Error(conformance.Extra, o.Ref, "claims BlockDevice %s for a replacement that is not in the CStorPoolCluster: the webhook refused it, or was only asked; delete the claim, or apply the replacement", device)
		case !named[device]:
			p.Error(conformance.Extra, o.Ref, "claims BlockDevice %s, which the CStorPoolCluster does not name; delete the claim, if no pool uses the disk", device)
		case phase != "" && phase != "Bound":
			p.Error(conformance.Missing, o.Ref, "is not bound to BlockDevice %s, but %s", device, phase)
		}
	}
}
