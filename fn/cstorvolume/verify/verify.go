// Package verify holds what the operators of cStor made of claims against what preview says
// that they make: each chain, from the claim to its replicas, object by object. What is put
// together by hand, or half made, is reported with what the operators do about it (cStor 3.6).
//
// Source: cstor-csi and cstor-operators, 3.6.0, measured.
package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Rules of the chain of a volume, beside those that every system has.
const (
	ruleTogether = "two-on-one-instance"
	ruleForeign  = "foreign-instance"
	ruleQuorum   = "below-quorum"
	ruleTarget   = "target"
	ruleBudget   = "budget"
	rulePolicy   = "policy-missing"
	ruleReplica  = "replica-ill"
	ruleFactors  = "factors"
	ruleAwaits   = "awaits-consumer"
	ruleReleased = "released"
	ruleGrowing  = "growing"
	ruleDriver   = "driver"
)

const (
	claimKind      = "PersistentVolumeClaim"
	volumeKind     = "PersistentVolume"
	serviceKind    = "Service"
	deploymentKind = "Deployment"
	budgetKind     = "PodDisruptionBudget"
)

// Of verifies every claim that is rendered, every claim of a class of cStor among the facts,
// every volume, and what is left of one.
func Of(facts *inventory.Facts, rendered []*krm.Object) []conformance.Check {
	p := &proof{
		facts: facts, rendered: rendered, pools: pool.LiveOf(facts), volumes: volume.IndexOf(facts),
		told: map[krm.ID]bool{}, budgets: map[inventory.Key][]*budget{},
		claims: map[inventory.Key]*krm.Object{}, seen: map[inventory.Key]bool{},
	}
	p.readBudgets()
	p.version = operatorVersion(facts, p.pools)
	for _, o := range rendered {
		if o.GroupKind() == (krm.GroupKind{Kind: claimKind}) {
			p.claims[key(o)] = o
		}
	}
	made := map[string]bool{}
	for _, v := range p.volumes.Sorted {
		made[v.Name] = true
		p.volume(v, v.Claim)
	}
	for _, claim := range p.volumes.Waiting {
		if !p.seen[key(claim)] {
			p.waiting(claim)
		}
	}
	p.unapplied()
	p.leftOvers(made)
	p.unusedBudgets()
	p.unusedClasses()
	p.strayAttachments()
	p.driver()
	return p.checks
}

// proof is one run.
type proof struct {
	facts    *inventory.Facts
	rendered []*krm.Object
	pools    *pool.Live
	volumes  *volume.Index
	version  map[string]string                 // of the operators, by namespace
	claims   map[inventory.Key]*krm.Object     // that are rendered
	seen     map[inventory.Key]bool            // claims that are verified
	budgets  map[inventory.Key][]*budget       // by cluster
	told     map[krm.ID]bool                   // whether the facts list a kind in a namespace
	refusals map[finding.Ref][]finding.Finding // of volumes that are not made, by what asks for them
	checks   []conformance.Check
}

func key(o *krm.Object) inventory.Key { return inventory.Key{Namespace: o.Namespace, Name: o.Name} }

// tells reports whether the facts list a kind; if not, the check says so.
func (p *proof) tells(c *conformance.Check, kind krm.GroupKind, namespace string) bool {
	at := krm.ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace}
	told, asked := p.told[at]
	if !asked {
		told = p.facts.Tells(kind.Group, kind.Kind, namespace)
		p.told[at] = told
	}
	if !told {
		c.Untold(finding.Ref{}, kind.Kind) // one line for all volumes
	}
	return told
}

// operatorVersion is that of the operators in each namespace: as the label of the operator
// of volumes says, or else the pool clusters.
func operatorVersion(facts *inventory.Facts, live *pool.Live) map[string]string {
	versions := map[string]string{}
	for _, o := range facts.Objects("apps", deploymentKind) {
		if version := o.Label(chain.LabelVersion); o.Name == volume.Operator && version != "" {
			versions[o.Namespace] = version
		}
	}
	for _, c := range live.Clusters {
		if version := c.Object.Node.Str("versionDetails", "status", "current"); version != "" && versions[c.Namespace] == "" {
			versions[c.Namespace] = version
		}
	}
	return versions
}

// volume verifies one volume. claim is that which is bound to it, or waits for it; nil for
// none.
func (p *proof) volume(v *volume.Chain, claim *krm.Object) {
	if claim == nil {
		claim = p.claimOf(v)
	}
	c := p.check(v, claim)
	switch {
	case claim != nil && claim.Deleting(), claim == nil && v.Config != nil && v.Config.Deleting():
		c.Warn(conformance.Deleting, c.Subject, "is being deleted, and its volume %s with it", v.Name)
	case v.Config == nil && v.Target == nil && len(v.Replicas) == 0:
		p.unmade(c, v)
	case v.Config != nil && phaseOf(v.Config) == chain.PhaseBound:
		p.bound(c, v, claim)
	case v.Config == nil && claim == nil && v.Volume == nil:
		p.abandoned(c, v)
	case v.Config == nil:
		p.missing(c, krm.ID{Group: pool.APIGroup, Kind: volume.ConfigKind, Namespace: v.Namespace, Name: v.Name}, putBack)
		p.bound(c, v, claim)
	default:
		p.pending(c, v, claim)
	}
	p.attachments(c, v)
	p.checks = append(p.checks, *c)
}

// check starts the check of a volume: of its claim, or else of what there is of it.
func (p *proof) check(v *volume.Chain, claim *krm.Object) *conformance.Check {
	var c *conformance.Check
	switch {
	case claim != nil:
		p.seen[key(claim)] = true
		c = &conformance.Check{Subject: claim.Ref}
		if rendered := p.claims[key(claim)]; rendered != nil {
			c = conformance.Of(rendered)
		}
	case v.Volume != nil:
		c = &conformance.Check{Subject: v.Volume.Ref}
	case v.Config != nil:
		c = &conformance.Check{Subject: v.Config.Ref}
	case v.Target != nil:
		c = &conformance.Check{Subject: v.Target.Ref}
	default:
		c = &conformance.Check{Subject: v.Replicas[0].Ref}
	}
	for _, o := range slices.Concat([]*krm.Object{v.Volume, v.Config, v.Target}, v.Replicas, v.Attachments) {
		if o != nil {
			c.Part(o.Ref)
		}
	}
	return c
}

// claimOf finds the claim of a volume that is not bound yet: its uid is in the name.
func (p *proof) claimOf(v *volume.Chain) *krm.Object {
	if v.Volume != nil {
		return nil
	}
	uid, named := strings.CutPrefix(v.Name, "pvc-")
	for _, claim := range p.volumes.Waiting {
		if named && claim.Node.Str("metadata", "uid") == uid || claim.Node.Str("spec", "volumeName") == v.Name {
			return claim
		}
	}
	return nil
}

func phaseOf(o *krm.Object) string { return o.Node.Str("status", "phase") }

// Why a part of a volume that is bound is missing, and what to do.
const (
	putBack = "the operators make nothing more of a volume that they have bound, so put it back"
	scaled  = "its config asks for it by now; what the operators say is in the events of that"
)

// missing reports an object that should be there, if the facts would report it.
func (p *proof) missing(c *conformance.Check, id krm.ID, remedy string) {
	if p.tells(c, id.GroupKind(), id.Namespace) {
		ref := finding.Ref{APIVersion: versionOf(id), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
		c.Part(ref)
		c.Error(conformance.Missing, ref, "is missing, of the volume of %s; %s", c.Subject, remedy)
	}
}

func versionOf(id krm.ID) string {
	switch id.Group {
	case "":
		return "v1"
	default:
		return id.Group + "/v1"
	}
}

// unmade judges a volume of which there is nothing but its PersistentVolume.
func (p *proof) unmade(c *conformance.Check, v *volume.Chain) {
	config := krm.ID{Group: pool.APIGroup, Kind: volume.ConfigKind, Namespace: v.Cluster.Namespace, Name: v.Name}
	if !p.tells(c, config.GroupKind(), config.Namespace) {
		return
	}
	c.Error(conformance.Missing, c.Subject, "has no volume: %s %s, and all that hangs on it, is missing; what was on it can only come back from a backup", volume.ConfigKind, v.Name)
}

// waiting judges a claim without a volume.
func (p *proof) waiting(claim *krm.Object) {
	p.seen[key(claim)] = true
	c := &conformance.Check{Subject: claim.Ref}
	if rendered := p.claims[key(claim)]; rendered != nil {
		c = conformance.Of(rendered)
	}
	name, sc := claim.Node.Str("spec", "volumeName"), p.class(claim)
	switch {
	case claim.Deleting():
		c.Warn(conformance.Deleting, c.Subject, "is being deleted, and has no volume")
	case phaseOf(claim) == "Lost", name != "":
		if phaseOf(claim) == "Lost" || p.tells(c, krm.GroupKind{Kind: volumeKind}, "") {
			c.Error(conformance.Missing, c.Subject, "is bound to PersistentVolume %s, which is missing", name)
		}
	case sc != nil && sc.Binding == "WaitForFirstConsumer":
		c.Warn(ruleAwaits, c.Subject, "has no volume yet: StorageClass %s makes it for the first pod that uses the claim", sc.Name)
	default:
		p.refused(c, nil, claim)
		c.Error(conformance.Missing, c.Subject, "has no volume: nothing is made of it yet; what the driver says is in its events")
	}
	p.checks = append(p.checks, *c)
}

// class is the StorageClass of a claim as it is in the cluster or is rendered, or nil.
func (p *proof) class(claim *krm.Object) *class.Class {
	name := claim.Node.Str("spec", "storageClassName")
	if o := p.facts.Object(class.ID(name)); o != nil {
		c := class.Read(o)
		return &c
	}
	return class.Rendered(p.rendered, name)
}

// unapplied reports the claims that are rendered and not there.
func (p *proof) unapplied() {
	for _, o := range p.rendered {
		if o.GroupKind() != (krm.GroupKind{Kind: claimKind}) || p.seen[key(o)] {
			continue
		}
		c := conformance.Of(o)
		switch live := p.facts.Object(o.ID()); {
		case live != nil:
			p.misbound(c, live)
		case p.tells(c, o.GroupKind(), o.Namespace):
			c.Error(conformance.Missing, o.Ref, "is rendered and missing; apply it")
		}
		p.checks = append(p.checks, *c)
	}
}

// misbound judges a claim that is there, and of which no volume of cStor is.
func (p *proof) misbound(c *conformance.Check, claim *krm.Object) {
	name := claim.Node.Str("spec", "volumeName")
	pv := p.facts.Object(krm.ID{Kind: volumeKind, Name: name})
	switch {
	case name == "":
		c.Error(conformance.Missing, claim.Ref, "has no volume: StorageClass %q is not there, or not of cStor", claim.Node.Str("spec", "storageClassName"))
	case pv != nil && pv.Node.Str("spec", "csi", "driver") == volume.Driver:
		ref := pv.Node.Get("spec", "claimRef")
		c.Error(conformance.Owner, claim.Ref, "is bound to PersistentVolume %s, which is for claim %s/%s", name, ref.Str("namespace"), ref.Str("name"))
	case pv != nil:
		c.Error(conformance.Owner, claim.Ref, "is bound to PersistentVolume %s, which is not of cStor", name)
	default:
		if p.tells(c, krm.GroupKind{Kind: volumeKind}, "") {
			c.Error(conformance.Missing, claim.Ref, "is bound to PersistentVolume %s, which is missing", name)
		}
	}
}

// wanted is the volume as it should be: on the pools that its config names, of the class and
// the version that it was made with.
func (p *proof) wanted(v *volume.Chain, claim *krm.Object) *chain.Volume {
	want := &chain.Volume{Name: v.Name, Namespace: cmp.Or(v.Namespace, v.Cluster.Namespace), Cluster: v.Cluster.Name}
	if claim == nil {
		want.Claim = v.User()
	} else {
		want.Claim = key(claim)
		if sc := p.class(claim); sc != nil {
			want.Class = sc.Name
			want.Cluster = cmp.Or(sc.Parameters["cstorPoolCluster"], want.Cluster)
		}
	}
	want.Version = cmp.Or(p.version[want.Namespace], chain.Hole("version of the operators"))
	if v.Config == nil {
		want.Replicas = v.Factor()
		for _, r := range v.Replicas {
			want.Pools = append(want.Pools, p.poolOf(want.Namespace, volume.InstanceOf(r)))
		}
		return want
	}
	if claim == nil && v.Volume == nil {
		want.Claim.Name = cmp.Or(v.Config.Annotation(chain.LabelClaim), want.Claim.Name)
	}
	want.Version = cmp.Or(v.Config.Node.Str("versionDetails", "status", "current"), want.Version)
	want.Source = v.Config.Node.Str("spec", "cstorVolumeSource")
	for _, name := range poolsOf(v.Config) {
		want.Pools = append(want.Pools, p.poolOf(want.Namespace, name))
	}
	want.Replicas = len(want.Pools)
	if n, ok := v.Config.Node.Get("spec", "provision", "replicaCount").Int(); ok && want.Replicas == 0 {
		want.Replicas = int(n)
	}
	return want
}

// poolsOf lists the pools that a config wants replicas on, or else says that it has them on.
func poolsOf(config *krm.Object) []string {
	if names := poolNames(config.Node.Seq("spec", "policy", "replicaPoolInfo")); len(names) > 0 {
		return names
	}
	return poolNames(config.Node.Seq("status", "poolInfo"))
}

// poolNames are those of a replicaPoolInfo, or of a poolInfo, sorted.
func poolNames(info []document.Node) []string {
	var names []string
	for i := range info {
		names = append(names, cmp.Or(info[i].Value(), info[i].Str("poolName")))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *proof) poolOf(namespace, name string) chain.Pool {
	found := chain.Pool{Name: name, UID: chain.Hole("uid of %s", name), Host: chain.Hole("host of %s", name)}
	if i := p.pools.Instance(inventory.Key{Namespace: namespace, Name: name}); i != nil {
		found.UID = cmp.Or(i.Object.Node.Str("metadata", "uid"), found.UID)
	}
	return found
}
