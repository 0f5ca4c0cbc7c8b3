package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// request is a claim or a CStorVolumeConfig on its way through the driver and the
// operators, in their order.
type request struct {
	*viewer
	about  finding.Ref
	config *krm.Object // that exists, or nil
	vol    *chain.Volume
	chain  Chain

	made    []string         // pools of the replicas that are there
	usable  []*pool.Instance // where the others may be, by name
	refused []string         // why pools are not among these
	pins    []string         // pools that its policy names, in its order
	twice   []string         // those that it names more than once: each gets one replica
}

// refuse reports what the driver or the operators do not make, and why.
func (r *request) refuse(rule, format string, args ...any) {
	r.report(r.about, rule, format, args...)
}

// refusedByDriver reports whether the driver makes no CStorVolumeConfig of a claim.
func (r *request) refusedByDriver(claim *krm.Object, sc *class.Class) bool {
	before := len(r.findings)
	for _, name := range []string{"cas-type", "cstorPoolCluster", "replicaCount"} {
		if sc.Parameters[name] == "" {
			r.refuse("class-parameter", "the driver refuses its volume: StorageClass %s lacks parameter %s; make a class of another name that has it", sc.Name, name)
		}
	}
	if count := sc.Parameters["replicaCount"]; count != "" && (r.vol.Replicas < 1 || r.vol.Replicas > mostReplicas) {
		r.refuse("class-parameter", "the driver refuses its volume: parameter replicaCount of StorageClass %s is %q, and has to be a whole number from 1 on", sc.Name, count)
	}
	if fs := r.vol.FSType; fs != "ext4" && fs != "xfs" {
		r.refuse("class-parameter", "the driver refuses its volume: StorageClass %s asks for filesystem %q, and cStor has ext4 and xfs", sc.Name, fs)
	}
	for _, mode := range claim.Node.Seq("spec", "accessModes") {
		if m := mode.Value(); m != "ReadWriteOnce" {
			r.refuse("access-mode", "the driver refuses its volume: access mode %s, and cStor has ReadWriteOnce alone", m)
		}
	}
	return len(r.findings) > before
}

// stage is how far the operators get with the volume, in the order in which they look.
//
// Source: cstor-operators, cvc-operator (reconciling a CStorVolumeConfig), 3.6.0.
func (r *request) stage() chain.Stage {
	if isKnown(r.vol.Name) {
		r.made = instancesOf(r.replicas[r.vol.Name])
	}
	if r.config != nil {
		left := r.isOfOtherVersion()
		if left && r.vol.Phase != chain.PhaseBound {
			return chain.Refused
		}
		switch phase := r.vol.Phase; phase {
		case chain.PhaseBound:
			_, on := r.scaling()
			if !left {
				on = r.scale()
			}
			r.warnOfForeign(on)
			for _, name := range on {
				r.vol.Pools = append(r.vol.Pools, r.poolOf(r.vol, name))
			}
			return chain.Bound
		case "Pending":
		default:
			r.refuse("phase", "the operators ignore CStorVolumeConfig %s: its status.phase is %q, and they start only from Pending; delete it, and claim again", r.vol.Name, phase)
			return chain.Refused
		}
		if r.isIncomplete() {
			return chain.Refused
		}
	}
	if !r.readPolicy() {
		return chain.Refused
	}
	if !r.hasPools() {
		return chain.Unplaced
	}
	if len(r.twice) > 0 {
		return chain.Unbound
	}
	return chain.Bound
}

// isIncomplete reports a Pending config of which the operators make nothing at all: all that they go
// by is in it, whatever its class says. Pools that it names they never take.
func (r *request) isIncomplete() bool {
	before := len(r.findings)
	named := len(r.config.Node.Seq("spec", "policy", "replicaPoolInfo")) > 0
	cluster := inventory.Key{Namespace: r.vol.Namespace, Name: r.vol.Cluster}
	switch {
	case r.vol.Cluster == "":
		r.refuse("no-cluster", "the operators make nothing of it: failed to get cspc name from cstorvolumeclaim: CStorVolumeConfig %s has no label %s", r.vol.Name, inventory.LabelPoolCluster)
	case r.facts.Tells(pool.APIGroup, pool.ClusterKind, cluster.Namespace) && r.live.Cluster(cluster.Namespace, cluster.Name) == nil &&
		r.rendered[krm.ID{Group: pool.APIGroup, Kind: pool.ClusterKind, Namespace: cluster.Namespace, Name: cluster.Name}] == nil:
		r.refuse("no-cluster", "the operators make nothing of it: label %s of CStorVolumeConfig %s names CStorPoolCluster %s, which does not exist", inventory.LabelPoolCluster, r.vol.Name, r.vol.Cluster)
	case r.vol.Replicas == 0:
		r.refuse("no-replicas", "the operators make nothing of it: spec.provision.replicaCount of CStorVolumeConfig %s is 0 or missing; delete it, and claim from a class that has it", r.vol.Name)
	case named && r.config.Node.Str("versionDetails", "status", "current") == "":
		r.refuse("pools-in-config", "the operators make nothing of it: CStorVolumeConfig %s names spec.policy.replicaPoolInfo before it is Bound, and the cStor webhook refuses the operator's update of versionDetails; delete it, and name pools in a CStorVolumePolicy", r.vol.Name)
	}
	if len(r.findings) > before {
		return true
	}
	if named {
		r.findings = append(r.findings, finding.Finding{Severity: finding.Warning, Rule: "pools-in-config", Object: r.about, Message: fmt.Sprintf(
			"spec.policy.replicaPoolInfo of CStorVolumeConfig %s is overwritten with the pools that the operators choose: it is not Bound yet; name pools in a CStorVolumePolicy", r.vol.Name)})
	}
	return false
}

// isOfOtherVersion reports a config that the operators leave alone. One whose volume is
// made, and which asks for nothing more, is fine as it is.
func (r *request) isOfOtherVersion() bool {
	has, operators := r.config.Node.Str("versionDetails", "status", "current"), r.version(r.vol)
	if has == "" || !isKnown(operators) || has == operators || r.vol.Phase == chain.PhaseBound && !r.isScaling() {
		return false
	}
	r.refuse("version", "can not reconcile CVC %s as cvc operator version is %s but cvc version is %s; upgrade the volume first", r.vol.Name, operators, has)
	return true
}

// readPolicy reads the policy that the volume names, and reports whether it is there.
func (r *request) readPolicy() bool {
	if r.vol.Policy == "" {
		return true
	}
	policy := r.find(krm.ID{Group: pool.APIGroup, Kind: chain.PolicyKind, Namespace: r.vol.Namespace, Name: r.vol.Policy})
	if policy == nil {
		r.refuse("policy-missing", "the operators refuse its volume: failed to get volume policy %q of volume %q: there is no CStorVolumePolicy %s/%s; make it, or take cstorvolumepolicies into the inventory",
			r.vol.Policy, r.vol.Name, r.vol.Namespace, r.vol.Policy)
		return false
	}
	r.vol.Settings = policy.Node.Get("spec")
	r.pins = poolNames(r.vol.Settings.Seq("replicaPoolInfo"))
	return true
}

// poolNames are those of a replicaPoolInfo.
func poolNames(info []document.Node) []string {
	var names []string
	for i := range info {
		names = append(names, info[i].Str("poolName"))
	}
	return names
}

// leftBehind ends the refusals after which a part of the volume is there.
const leftBehind = "; its Service, CStorVolume and target stay behind until the claim is deleted"

// hasPools finds the pools that the operator may take for the replicas that are not there,
// and reports whether they are enough.
func (r *request) hasPools() bool {
	if len(r.pins) > 0 && len(r.pins) != r.vol.Replicas {
		r.refuse("pinned-count", "the operators refuse its volume: incorrect number of pool names in cvc policy: expected %d got %d; name as many pools in CStorVolumePolicy %s as its class wants replicas%s",
			r.vol.Replicas, len(r.pins), r.vol.Policy, leftBehind)
		return false
	}
	for i, name := range r.pins {
		if slices.Contains(r.pins[:i], name) && !slices.Contains(r.twice, name) {
			r.twice = append(r.twice, name)
		}
	}
	if len(r.twice) > 0 {
		r.refuse("pinned-twice", "the operators never bind its volume: duplicate pool names %v found under spec of cvc %s; CStorVolumePolicy %s names %s more than once; name each pool once", r.pins, r.vol.Name, r.vol.Policy, finding.Names(r.twice))
	}
	r.findUsable()
	needs := r.vol.Replicas - len(r.made)
	if len(r.twice) > 0 {
		needs = len(r.usable)
	}
	if len(r.usable) >= needs || !r.facts.Tells(pool.APIGroup, pool.InstanceKind, r.vol.Namespace) {
		return true
	}
	why := ""
	if len(r.refused) > 0 {
		why = " (" + finding.Names(r.refused) + ")"
	}
	r.refuse("too-few-pools", "the operators refuse its volume: not enough pools are available of provided CSPC: %q, usable pool count: %d pending replica count: %d%s; add pools or bring them back, or claim from a class with fewer replicas%s",
		r.vol.Cluster, len(r.usable), needs, why, leftBehind)
	return false
}

// findUsable lists the pools that the operator may take: of those that the policy names,
// and for a clone of those of its source.
func (r *request) findUsable() {
	allowed, of := r.pins, "its policy names"
	instances := r.live.Instances(r.vol.Namespace, r.vol.Cluster)
	is := func(name string) func(*pool.Instance) bool {
		return func(i *pool.Instance) bool { return i.Name == name }
	}
	for _, name := range r.pins {
		if !slices.ContainsFunc(instances, is(name)) {
			r.refused = append(r.refused, fmt.Sprintf("%s, which its policy names, is no pool of cluster %s", name, r.vol.Cluster))
		}
	}
	if origin, _ := r.vol.Origin(); isKnown(origin) && r.facts.Tells(pool.APIGroup, pool.ReplicaKind, r.vol.Namespace) {
		source := instancesOf(r.replicas[origin])
		if len(allowed) > 0 {
			source = slices.DeleteFunc(source, func(name string) bool { return !slices.Contains(allowed, name) })
		}
		allowed, of = source, "it is made from has replicas on"
		if len(allowed) == 0 {
			r.refused = append(r.refused, fmt.Sprintf("volume %s, which it is made from, has no replicas there", origin))
			return
		}
	}
	for _, i := range instances {
		switch {
		case slices.Contains(r.made, i.Name):
		case len(allowed) > 0 && !slices.Contains(allowed, i.Name):
			if len(allowed) < r.vol.Replicas {
				r.refused = append(r.refused, i.Name+" is none that "+of)
			}
		case strings.EqualFold(i.Phase, "OFFLINE"):
			r.refused = append(r.refused, i.Name+" is OFFLINE")
		case i.ReadOnly():
			r.refused = append(r.refused, i.Name+" is read-only")
		default:
			r.usable = append(r.usable, i)
		}
	}
	if len(r.pins) > 0 { // the operators keep their order
		slices.SortStableFunc(r.usable, func(a, b *pool.Instance) int { return slices.Index(r.pins, a.Name) - slices.Index(r.pins, b.Name) })
	}
}
