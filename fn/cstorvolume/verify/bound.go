package verify

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// bound verifies a volume that is made.
func (p *proof) bound(c *conformance.Check, v *volume.Chain, claim *krm.Object) {
	want := p.wanted(v, claim)
	p.claimed(c, v, claim)
	p.policies(c, v, claim)
	for _, o := range want.Objects(chain.Bound) {
		switch o.Kind {
		case budgetKind, volumeKind:
		default:
			p.object(c, v, o)
		}
	}
	if v.Config != nil {
		p.configured(c, v, claim, want)
	}
	p.replicas(c, v, want)
	p.health(c, v)
	p.target(c, want)
	if chain.HasBudget(want.Replicas) {
		p.budget(c, v, want)
	}
}

// claimed compares the volume with its claim.
func (p *proof) claimed(c *conformance.Check, v *volume.Chain, claim *krm.Object) {
	rendered := p.claims[v.User()]
	switch {
	case claim == nil && v.Volume != nil && rendered != nil:
		if p.tells(c, rendered.GroupKind(), rendered.Namespace) {
			p.seen[key(rendered)] = true
			c.Part(rendered.Ref)
			c.Error(conformance.Missing, rendered.Ref, "is rendered but missing, and its volume %s is kept; a recreated claim gets another volume, unless it names this one as volumeName", v.Name)
		}
	case claim == nil && v.Volume != nil:
		if user := v.User(); p.tells(c, krm.GroupKind{Kind: claimKind}, user.Namespace) {
			c.Warn(ruleReleased, c.Subject, "is kept, and its claim %s/%s is gone; delete it with its volume once nobody needs what is on it", user.Namespace, user.Name)
		}
	case claim == nil:
		if p.tells(c, krm.GroupKind{Kind: volumeKind}, "") {
			c.Error(conformance.LeftOver, c.Subject, "is left over: no PersistentVolume and no claim is there for it; delete the config once nobody needs what is on the volume")
		}
	case v.Volume == nil:
		if p.tells(c, krm.GroupKind{Kind: volumeKind}, "") {
			c.Error(conformance.Missing, finding.Ref{APIVersion: "v1", Kind: volumeKind, Name: v.Name}, "is missing, of the volume of %s", c.Subject)
		}
	case claim.Node.Str("spec", "volumeName") != v.Volume.Name:
		c.Error(conformance.Owner, v.Volume.Ref, "is for %s, which is bound to %q; see which of them has its data", c.Subject, claim.Node.Str("spec", "volumeName"))
	}
	if claim == nil {
		return
	}
	has, wants := quantity.Bytes(claim.Node.Str("status", "capacity", "storage")), claim
	if o := p.claims[key(claim)]; o != nil {
		wants = o
	}
	if size := wants.Node.Str("spec", "resources", "requests", "storage"); has > 0 && has < quantity.Bytes(size) {
		c.Warn(ruleGrowing, c.Subject, "has %s of the %s that it is to grow to", claim.Node.Str("status", "capacity", "storage"), size)
	}
}

// policies reports a policy that the class names, and that is not there.
func (p *proof) policies(c *conformance.Check, v *volume.Chain, claim *krm.Object) {
	if claim == nil {
		return
	}
	if sc := p.class(claim); sc != nil {
		Policy(c, p.facts, sc, v.Namespace)
	}
}

// object compares an object with what is there under its name.
func (p *proof) object(c *conformance.Check, v *volume.Chain, want *krm.Object) {
	live := p.live(v, want.ID())
	switch {
	case live != nil:
	case want.Kind == volume.ConfigKind: // that is reported
		return
	case want.Kind == pool.ReplicaKind && v.Config != nil && scales(v.Config):
		p.missing(c, want.ID(), scaled)
		return
	default:
		p.missing(c, want.ID(), putBack)
		return
	}
	c.Part(live.Ref)
	if live.Deleting() {
		c.Error(conformance.Deleting, live.Ref, "is being deleted, and the volume of %s is not", c.Subject)
	}
	p.labels(c, v, want, live)
	p.owner(c, v, want, live)
}

// live finds an object of a volume.
func (p *proof) live(v *volume.Chain, id krm.ID) *krm.Object {
	switch id.Kind {
	case volume.ConfigKind:
		return v.Config
	case volume.TargetKind:
		return v.Target
	}
	return p.facts.Object(id)
}

// labels compares labels. What only a cluster knows is not compared.
func (p *proof) labels(c *conformance.Check, v *volume.Chain, want, live *krm.Object) {
	fields := want.Node.Get("metadata", "labels")
	if fields == nil {
		return
	}
	for i := range fields.Fields() {
		f := &fields.Fields()[i]
		wanted, has := f.Value.Value(), live.Label(f.Key)
		switch {
		case wanted == has, strings.Contains(wanted, "<"):
		case f.Key == chain.LabelClaim && wanted == "":
		case f.Key == chain.LabelVersion && has != "":
			c.Error(conformance.Version, live.Ref, "is of version %s, and its volume of %s; upgrade the volume as a whole", has, wanted)
		case has == "":
			c.Error(conformance.Label, live.Ref, "has no label %s, and should have it as %q; by it the operators find what is of volume %s", f.Key, wanted, v.Name)
		default:
			c.Error(conformance.Label, live.Ref, "has label %s: %s, and should have %q", f.Key, has, wanted)
		}
	}
}

// owner compares who owns an object.
func (p *proof) owner(c *conformance.Check, v *volume.Chain, want, live *krm.Object) {
	owners := want.Node.Seq("metadata", "ownerReferences")
	if len(owners) == 0 {
		return
	}
	kind, name := owners[0].Str("kind"), owners[0].Str("name")
	uid := ""
	if o := p.live(v, krm.ID{Group: pool.APIGroup, Kind: kind, Namespace: want.Namespace, Name: name}); o != nil {
		uid = o.Node.Str("metadata", "uid")
	}
	has := ""
	for _, o := range live.Node.Seq("metadata", "ownerReferences") {
		switch {
		case o.Str("kind") != kind || o.Str("name") != name:
			has = fmt.Sprintf("%s %s", o.Str("kind"), o.Str("name"))
		case uid != "" && o.Str("uid") != "" && o.Str("uid") != uid:
			has = fmt.Sprintf("a %s %s that is gone, of uid %s", kind, name, o.Str("uid"))
		default:
			return
		}
	}
	if has == "" {
		c.Error(conformance.Owner, live.Ref, "has no owner, and should be owned by %s %s, so that it is deleted with it", kind, name)
		return
	}
	c.Error(conformance.Owner, live.Ref, "is owned by %s, and should be by %s %s", has, kind, name)
}

// configured compares the config with the operators.
func (p *proof) configured(c *conformance.Check, v *volume.Chain, claim *krm.Object, want *chain.Volume) {
	if scales(v.Config) {
		p.refused(c, v, claim)
	}
	version := v.Config.Node.Str("versionDetails", "status", "current")
	if operators := p.version[v.Config.Namespace]; version != "" && operators != "" && version != operators {
		c.Error(conformance.Version, v.Config.Ref, "is of version %s, and the operators are of %s, which leave it alone until it is upgraded", version, operators)
	}
	for _, at := range want.Pools {
		instance := inventory.Key{Namespace: want.Namespace, Name: at.Name}
		kind := krm.GroupKind{Group: pool.APIGroup, Kind: pool.InstanceKind}
		if p.pools.Instance(instance) == nil && p.tells(c, kind, want.Namespace) {
			c.Error(conformance.Missing, finding.Ref{APIVersion: pool.APIGroup + "/v1", Kind: kind.Kind, Namespace: want.Namespace, Name: at.Name}, "is missing, and %s has or wants a replica on it", v.Config.Ref)
		}
	}
}

// replicas looks where the replicas are.
func (p *proof) replicas(c *conformance.Check, v *volume.Chain, want *chain.Volume) {
	wanted := map[string]bool{}
	for _, at := range want.Pools {
		wanted[chain.ReplicaName(v.Name, at.Name)] = true
	}
	if v.Config != nil && len(want.Pools) == 0 {
		c.Error(conformance.Missing, v.Config.Ref, "names no pool, and the volume of %s should have %s; what the operators say is in its events", c.Subject, finding.Count(want.Replicas, "replica"))
	}
	on := map[string]*krm.Object{}
	for _, r := range v.Replicas {
		name := volume.InstanceOf(r)
		switch other := on[name]; {
		case r.Deleting() && !wanted[r.Name]:
			c.Warn(conformance.Deleting, r.Ref, "is being taken out of the volume of %s", c.Subject)
			continue
		case other != nil && name != "":
			c.Error(ruleTogether, r.Ref, "is on the same CStorPoolInstance %s as %s: a failure of that pool loses both replicas of %s; each replica must be on its own pool", name, other.Name, c.Subject)
		}
		on[name] = r
		if v.Config != nil && !wanted[r.Name] && len(want.Pools) > 0 {
			c.Error(conformance.Extra, r.Ref, "is extra: %s wants its replicas on %s", v.Config.Ref, finding.Names(poolsOf(v.Config)))
		}
		i := p.pools.Instance(inventory.Key{Namespace: r.Namespace, Name: name})
		if i == nil {
			if kind := (krm.GroupKind{Group: pool.APIGroup, Kind: pool.InstanceKind}); !wanted[r.Name] && p.tells(c, kind, r.Namespace) {
				c.Error(conformance.Missing, r.Ref, "is on CStorPoolInstance %q, which is missing", name)
			}
			continue
		}
		if cluster := i.Cluster(); want.Cluster != "" && cluster != (inventory.Key{Namespace: r.Namespace, Name: want.Cluster}) {
			c.Error(ruleForeign, r.Ref, "is on CStorPoolInstance %s of cluster %q, and its volume is of %s", name, cluster.Name, want.Cluster)
		}
	}
}

// health looks how the replicas are.
func (p *proof) health(c *conformance.Check, v *volume.Chain) {
	for _, r := range v.Replicas {
		switch down := v.Down(r); {
		case down != "":
			c.Warn(ruleReplica, r.Ref, "is not healthy, whatever its phase says (%s): %s", phaseOf(r), down)
		case v.ReplicaPhase(r) != health.OK:
			c.Warn(ruleReplica, r.Ref, "is not healthy: it is %s", orNone(phaseOf(r)))
		}
	}
	if v.Target == nil {
		return // that is reported
	}
	healthy, phase := v.Healthy(nil), phaseOf(v.Target)
	switch {
	case healthy < v.Quorum():
		c.Error(ruleQuorum, v.Target.Ref, "has %d healthy of %s, and needs %d (consistencyFactor) to serve; see its replicas", healthy, finding.Count(v.Factor(), "replica"), v.Quorum())
	case phase == "Healthy":
	case phase == "Degraded":
		if healthy >= v.Factor() {
			c.Warn(ruleReplica, v.Target.Ref, "is Degraded, although all its replicas are Healthy; see the log of its target")
		}
	default:
		c.Error(ruleTarget, v.Target.Ref, "is %s, and should be Healthy", orNone(phase))
	}
	desired, _ := v.Target.Node.Get("spec", "desiredReplicationFactor").Int()
	has, _ := v.Target.Node.Get("spec", "replicationFactor").Int()
	if desired > 0 && has != desired {
		c.Warn(ruleFactors, v.Target.Ref, "has replicationFactor %d and desiredReplicationFactor %d; scaling leaves the first behind", has, desired)
	}
	if n := int64(len(v.Replicas)); desired > 0 && n != desired {
		c.Warn(ruleFactors, v.Target.Ref, "has desiredReplicationFactor %d, and there %s %s", desired, finding.Agree(int(n), "is", "are"), finding.Count(int(n), "replica"))
	}
	if quorum := v.Quorum(); has > 0 && quorum < chain.Quorum(int(has)) {
		c.Warn(ruleFactors, v.Target.Ref, "has consistencyFactor %d, and more than half of %s is %d: two halves could each go on alone", quorum, finding.Count(int(has), "replica"), chain.Quorum(int(has)))
	}
}

func orNone(phase string) string {
	if phase == "" {
		return "without a phase"
	}
	return phase
}

// target looks whether the target runs.
func (p *proof) target(c *conformance.Check, want *chain.Volume) {
	o := p.facts.Object(krm.ID{Group: "apps", Kind: deploymentKind, Namespace: want.Namespace, Name: chain.TargetName(want.Name)})
	if o == nil {
		return // that is reported
	}
	available := ""
	for _, condition := range o.Node.Seq("status", "conditions") {
		if condition.Str("type") == "Available" {
			available = condition.Str("status")
			if reason := condition.Str("reason"); available != "True" && reason != "" {
				available = reason
			}
		}
	}
	ready, _ := o.Node.Get("status", "readyReplicas").Int()
	if available != "True" || ready < 1 {
		why := ""
		if available != "" && available != "True" && available != "False" {
			why = " (" + available + ")"
		}
		c.Error(ruleTarget, o.Ref, "is not ready%s, so that no pod reaches the volume of %s; look at its pod", why, c.Subject)
	}
}
