package cstor

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// drainFolder is where the parts of volumes are that move, below the output of the spec.
const drainFolder = "drain/"

// draining moves volumes off the pools of a CStorPoolCluster that go, to others of it, and
// gives those their replicas back that lost some with a node. It is planned once all pools
// that go are known.
type draining struct {
	*input
	of    *standing.Cluster
	limit int // of volumes on their way at once

	read  bool
	state drain.State
	// The volumes of state, by pool instance.
	byPool map[string][]*drain.Volume
	plan   drain.Plan
	at     map[string]*member // by pool instance

	standings []string // how far each pool is
}

const drainField = "metadata.annotations"

// nodesToDrain reads which nodes a person wants to be drained.
func nodesToDrain(spec *krm.Object) map[string]bool {
	wanted := map[string]bool{}
	for _, name := range spec.AnnotationList(pool.AnnotationDrain) {
		wanted[name] = true
	}
	return wanted
}

// warnOfUnknownDrains tells of nodes that are to be drained and that nobody knows.
func (c *nodeChoice) warnOfUnknownDrains() {
	for _, name := range slices.Sorted(maps.Keys(c.drains)) {
		if c.facts.Node(name) == nil && !c.standing.Knows(name) {
			c.Collect(c.spec.AnnotationFinding(finding.Warning, "drain-unmatched", pool.AnnotationDrain, "node "+name, "which is neither in the inventory nor in the plan (any more); correct it, or remove it"))
		}
	}
}

// volumes reads what the facts tell of the volumes of the cluster, once.
func (f *draining) volumes() *drain.State {
	if !f.read {
		f.read = true
		f.state.Volumes, f.state.Pools = drain.Read(f.facts, inventory.Key{Namespace: f.namespace, Name: f.of.Name}, f.owner)
		f.byPool = drain.ByPool(f.state.Volumes)
	}
	return &f.state
}

// lacks says which kinds of the facts do not tell of volumes, or "".
func (f *draining) lacks() []string {
	var kinds []string
	for _, kind := range []string{poolInstanceKind, cstorVolumeConfigKind, cstorVolumeKind, cstorVolumeReplicaKind} {
		if !f.facts.Tells(cstorGroup, kind, f.namespace) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// on counts the volumes that have, or are to have, a replica on the pool of a member.
func (f *draining) on(m *member) int {
	i := f.live.running(m.before.Pool)
	if i == nil {
		return 0
	}
	return len(f.volumesAt(i))
}

// volumesAt lists the volumes that have, or are to have, a replica on an instance.
func (f *draining) volumesAt(i *pool.Instance) []*drain.Volume {
	f.volumes()
	return f.byPool[i.Name]
}

// run plans the drain of the pools of members that go, the last of the plan first, those that
// are lost before all others.
func (f *draining) run(members []*member) {
	members = slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m.of != f.of || m.before == nil })
	f.at = map[string]*member{}
	for _, m := range members {
		if i := f.live.running(m.before.Pool); i != nil {
			f.at[i.Name] = m
		}
	}
	f.tellFinalizers()
	before := f.before()
	var left []string
	if len(f.lacks()) == 0 {
		left = f.leftOfLost()
	}
	owned := slices.ContainsFunc(f.facts.Objects(cstorGroup, cstorVolumeConfigKind), func(o *krm.Object) bool { return o.Owner() == f.owner })
	if len(before) == 0 && !owned && len(left) == 0 && !slices.ContainsFunc(members, func(m *member) bool { return m.leaving != "" }) {
		return
	}
	if len(f.lacks()) > 0 {
		f.hold(before, slices.ContainsFunc(members, func(m *member) bool { return m.leaving != "" && f.on(m) > 0 }))
		return
	}
	maps.DeleteFunc(before, func(name string, _ drain.Partial) bool { return f.isGone(name) })
	state := f.volumes()
	state.Limit, state.Before = f.limit, before
	for _, m := range slices.Backward(members) {
		i := f.live.running(m.before.Pool)
		if i == nil || m.leaving == "" {
			continue
		}
		lost := f.isLost(m)
		if state.Leaving = append(state.Leaving, drain.Leaving{Pool: i.Name, Lost: lost}); m.node == nil && !lost && f.on(m) > 0 {
			f.tellNotLost(m, i)
		}
	}
	for _, name := range left {
		state.Leaving = append(state.Leaving, drain.Leaving{Pool: name, Lost: true})
	}
	slices.SortStableFunc(state.Leaving, func(a, b drain.Leaving) int { return trueFirst(a.Lost, b.Lost) })
	for i := range state.Pools {
		p := &state.Pools[i]
		switch m := f.at[p.Name]; {
		case m == nil:
			p.Refuses = cmp.Or(p.Refuses, "no node of the plan has it")
		case m.held:
			p.Refuses = cmp.Or(p.Refuses, "its node is not wanted any more")
		}
	}
	f.plan = state.Plan()
	f.tell()
}

// isLost reports whether the node of a pool that goes is gone for good: it is missing, and so say its
// disks, its instance, the replicas on it, or an earlier snapshot. One that lacks nothing but a Node says nothing.
func (f *draining) isLost(m *member) bool {
	if m.leaving == "" || m.node != nil {
		return false
	}
	if f.facts.MissingTwice(m.name) || f.facts.MissingTwice(m.hostname) {
		return true
	}
	runs := func(name string) bool { d := f.facts.Device(f.namespace, name); return d != nil && d.State == "Active" }
	if f.facts.Tells(deviceGroup, blockDeviceKind, f.namespace) && !slices.ContainsFunc(m.before.Disks(), runs) {
		return true
	}
	i := f.live.running(m.before.Pool)
	if i == nil || !i.Serves() {
		return true
	}
	answers, silent := 0, 0
	for _, v := range f.volumes().Volumes {
		for _, r := range v.Replicas {
			switch {
			case r.Pool != i.Name:
			case r.Silent:
				silent++
			default:
				answers++
			}
		}
	}
	return silent > 0 && answers == 0
}

// isLeft reports whether an instance is of a pool that was removed with a lost node, and hangs on its
// finalizer.
func (f *draining) isLeft(i *pool.Instance) bool {
	return i.Cluster().Name == f.of.Name && f.at[i.Name] == nil && len(f.facts.Nodes) > 0 && len(f.facts.Host(i.RunsOn)) == 0 && f.isRemoved(i.Hostname) &&
		!slices.ContainsFunc(f.of.Current.Pools, i.Pool.Shares)
}

// isRemoved reports whether the live CStorPoolCluster has no pool on a host.
func (f *draining) isRemoved(hostname string) bool {
	return f.of.Current != nil && f.of.Current.Host(hostname) == nil
}

// leftOfLost names the instances of such pools, also those that are gone by now, on which the
// operators have placed volumes meanwhile.
func (f *draining) leftOfLost() []string {
	f.volumes()
	var left []string
	for _, name := range slices.Sorted(maps.Keys(f.byPool)) {
		placed := slices.ContainsFunc(f.byPool[name], func(v *drain.Volume) bool { return slices.Contains(v.Placed, name) })
		if i := f.live.named[name]; i != nil && f.isLeft(i) || i == nil && placed && f.isRemoved(f.hostOf(name)) {
			left = append(left, name)
		}
	}
	return left
}

// hostOf is the host of an instance that may be gone, as a replica there remembers it.
func (f *draining) hostOf(instance string) string {
	for _, r := range volume.IndexOf(f.facts).ReplicasOn(inventory.Key{Namespace: f.namespace, Name: instance}) {
		return r.Annotation(pool.AnnotationReplicaHost)
	}
	return ""
}

// nodeAt names the node of a pool instance.
func (f *draining) nodeAt(instance string) string {
	if m := f.at[instance]; m != nil {
		return m.name
	}
	if i := f.live.named[instance]; i != nil {
		return nodeName(f.facts, i.Hostname)
	}
	return nodeName(f.facts, f.hostOf(instance))
}

// isGone reports whether a volume was deleted, though its replicas may still go: a part of
// its CStorVolumeConfig cannot be applied any more, and it is none of those on their way.
func (f *draining) isGone(volume string) bool {
	return f.facts.Object(krm.ID{Group: cstorGroup, Kind: cstorVolumeConfigKind, Namespace: f.namespace, Name: volume}) == nil
}

// before is what was rendered of volumes of the cluster that move, by name. A volume of which
// nobody tells in which cluster it is, is taken to be in the first.
func (f *draining) before() map[string]drain.Partial {
	partials := map[string]drain.Partial{}
	for id, o := range f.standing.Objects() {
		if id.Kind != cstorVolumeConfigKind {
			continue
		}
		in := f.standing.Clusters()[0]
		if c := volume.IndexOf(f.facts).Handle(o.Name); c != nil && f.standing.Cluster(c.Cluster.Name) != nil {
			in = f.standing.Cluster(c.Cluster.Name)
		}
		if in == f.of {
			p := drain.Remembered(o)
			p.Pools = drain.PoolsOf(o)
			partials[o.Name] = p
		}
	}
	return partials
}

// hold leaves what was rendered as it is, where the facts do not tell of volumes.
func (f *draining) hold(before map[string]drain.Partial, wanted bool) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		f.plan.Moves = append(f.plan.Moves, drain.Move{
			Volume: &drain.Volume{Namespace: f.namespace, Name: name}, Partial: before[name], Stage: drain.Settle, Waits: "nothing is known of it",
		})
	}
	if wanted || len(before) > 0 {
		f.tellUnknown(len(before))
	}
}

// addMoves adds the parts of the volumes that move.
func (f *draining) addMoves(objects *manifests) {
	for _, m := range f.plan.Moves {
		var pools []d.Node
		for _, name := range m.Pools {
			pools = append(pools, d.Object(d.F("poolName", d.Text(name))))
		}
		o := krm.Make(cstorVersion, cstorVolumeConfigKind, f.namespace, m.Volume.Name, d.F("spec", d.Object(
			d.F("policy", d.Object(d.F("replicaPoolInfo", d.List(pools...)))),
		)))
		if m.Replicas > 0 {
			o.SetAnnotation(krm.AnnotationReplicas, strconv.Itoa(m.Replicas))
		}
		if m.Leaves != "" {
			o.SetAnnotation(krm.AnnotationLeaves, m.Leaves)
		}
		objects.add(gitops.Object{File: drainFolder + m.Volume.Name + ".yaml", Object: o, Partial: true})
	}
}

// releaseVolumes releases the parts of volumes that were rendered, which changes nothing
// about them.
func (e *existing) releaseVolumes(released map[krm.ID]bool) {
	for id := range e.standing.IDs() {
		if id.Kind == cstorVolumeConfigKind {
			released[id] = true
		}
	}
}
