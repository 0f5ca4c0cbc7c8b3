package cstorvolume

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// pin chooses the pools of all volumes of the class, once, and reports whether that was
// possible.
func (v *volumeClass) pin(before *class.Class, replicas int) bool {
	if pins := v.pinned(); len(pins) > 0 && (before != nil || len(pins) == replicas) {
		v.pins = pins
		v.checkPins(replicas)
		return true
	}
	usable := v.usable()
	if len(usable) < replicas {
		lacks := fmt.Sprintf("%s of cluster %s that are ONLINE and take writes, of which the facts have %d", finding.Count(replicas, pool.InstanceKind), v.cluster.Name, len(usable))
		if before != nil { // withheld, the class would go
			v.Report(finding.Error, "instances-missing", "spec.placement", "needs %s, to choose the pools of an existing class; refresh the inventory, or leave placement as it was", lacks)
		} else {
			v.Report(finding.Info, "awaiting-instances", "spec.placement", "awaits %s, to choose the pools from; the class, its policy and its claims are withheld until then, since volumes would be placed at random", lacks)
		}
		return false
	}
	for _, spot := range place.Spread(nil, usable, replicas, v.zoneOf, roomiest, roomiest) {
		v.pins = append(v.pins, spot.Candidate.Name)
	}
	slices.Sort(v.pins)
	for _, i := range usable {
		verdict, reason := place.Free, "other pools spread better over the zones, or have more space"
		if slices.Contains(v.pins, i.Name) {
			verdict, reason = place.Chosen, v.whyChosen(i)
		}
		v.choosing(i, verdict, reason)
	}
	return true
}

// pinned are the pools that the policy names as it was rendered, or else as it is in the cluster.
func (v *volumeClass) pinned() []string {
	id := krm.ID{Group: policyGroupKind().Group, Kind: policyKind, Namespace: v.Object.Namespace, Name: v.Object.Name}
	policy := v.in.Facts.Object(id)
	if i := slices.IndexFunc(v.Before, func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		policy = v.Before[i]
	}
	if policy == nil {
		return nil
	}
	var names []string
	for _, p := range policy.Node.Seq("spec", "replicaPoolInfo") {
		names = append(names, p.Str("poolName"))
	}
	slices.Sort(names)
	return names
}

// usable lists the pool instances that new volumes can be on, by name.
func (v *volumeClass) usable() []*pool.Instance {
	var usable []*pool.Instance
	for _, i := range pool.LiveOf(v.in.Facts).Instances(v.cluster.Namespace, v.cluster.Name) {
		if reason := cmp.Or(i.RefusesReplicas(), v.cluster.leaves(i, v.nodeName(i))); reason != "" {
			v.choosing(i, place.Refused, reason)
			continue
		}
		usable = append(usable, i)
	}
	return usable
}

// roomiest orders by free space, the most first, then by name. What reports no space comes
// last.
func roomiest(a, b *pool.Instance) int {
	return cmp.Or(cmp.Compare(free(b), free(a)), cmp.Compare(a.Name, b.Name))
}

func free(i *pool.Instance) int64 {
	bytes, known := i.Free()
	if !known {
		return -1
	}
	return bytes
}

// zoneOf is the zone of the node that a pool is on.
func (v *volumeClass) zoneOf(i *pool.Instance) string {
	if n := v.nodeOf(i); n != nil {
		return n.Zone
	}
	return ""
}

func (v *volumeClass) nodeOf(i *pool.Instance) *inventory.Node {
	if nodes := v.in.Facts.Host(i.Hostname); len(nodes) > 0 {
		return nodes[0]
	}
	return nil
}

func (v *volumeClass) whyChosen(i *pool.Instance) string {
	reason := "it is ONLINE"
	if zone := v.zoneOf(i); zone != "" {
		reason += ", in zone " + zone
	}
	if bytes, known := i.Free(); known {
		reason += ", with " + quantity.Size(bytes) + " free"
	}
	return reason
}

func (v *volumeClass) choosing(i *pool.Instance, verdict place.Verdict, reason string) {
	v.Decide(i.Object.Ref, v.nodeName(i), "replica", verdict, reason)
}

// nodeName is the name of the node that a pool is on, or else its host.
func (v *volumeClass) nodeName(i *pool.Instance) string {
	if n := v.nodeOf(i); n != nil {
		return n.Name
	}
	return i.Hostname
}

// checkPins reports what is wrong with the pools that volumes are pinned to: they stay all
// the same.
func (v *volumeClass) checkPins(replicas int) {
	live := pool.LiveOf(v.in.Facts)
	tells := v.in.Facts.Tells(pool.APIGroup, pool.InstanceKind, v.cluster.Namespace)
	for _, name := range v.pins {
		i := live.Instance(inventory.Key{Namespace: v.cluster.Namespace, Name: name})
		reason, leaves := "", ""
		if i != nil {
			leaves = v.cluster.leaves(i, v.nodeName(i))
		}
		switch {
		case leaves != "":
			v.choosing(i, place.Held, "volumes of the class are pinned to it, and "+leaves)
			v.Report(finding.Warning, "pinned-pool-leaves", "spec.placement",
				"volumes are pinned to %s %s, and %s; until it is gone new volumes are placed there, and after that none are made: make a class of another name, and claim from that",
				pool.InstanceKind, name, leaves)
			continue
		case i == nil && !tells:
			continue
		case i == nil:
			reason = "it is gone"
		default:
			reason = i.RefusesReplicas()
		}
		if reason == "" {
			v.choosing(i, place.Kept, "volumes of the class are pinned to it")
			continue
		}
		if i != nil {
			v.choosing(i, place.Held, "volumes of the class are pinned to it, and "+reason)
		}
		v.Report(finding.Warning, "pinned-pool", "spec.placement", "volumes are pinned to %s %s, and %s; it stays pinned, and no new volume is made until it is back: for other pools, make a class of another name", pool.InstanceKind, name, reason)
	}
	if len(v.pins) != replicas {
		v.Report(finding.Error, "pinned-count", "spec.replicaCount", "is %d, and volumes are pinned to %s; write %d, or make a class of another name", replicas, finding.Count(len(v.pins), "pool"), len(v.pins))
	}
}
