package cstor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// missingPool is a pool that a pool cluster asks for and that is not there, with its
// disks.
func (f *forest) missingPool(p plannedPool) *health.Tree {
	o := p.cluster.Object
	name, gone := vanished(f.facts, p.cluster, p.Hostname)
	t := &health.Tree{
		Object: finding.Ref{APIVersion: cstorVersion, Kind: poolInstanceKind, Namespace: o.Namespace, Name: cmp.Or(name, o.Name+health.Unnamed)},
		Phase:  health.Progressing, State: health.Missing, Note: "not made yet, for host " + p.Hostname,
		Place: health.Place{Role: health.Pool, Node: f.nodeName(p.Hostname)},
	}
	if gone {
		t.Phase, t.Note = health.Error, "it was made before, on host "+p.Hostname
	}
	for _, name := range p.Disks() {
		under(t, f.device(o.Namespace, name))
	}
	return t
}

// poolAndVolumes is a pool with its disks, and the volumes that it serves. lost
// are the replicas that would be gone if what the tree starts at failed.
func (f *forest) poolAndVolumes(i *pool.Instance, lost []*krm.Object, ifWhat string) *health.Tree {
	return f.addHit(f.pool(i), i, lost, ifWhat)
}

// addHit hangs the replicas on a pool, each with the volume that it is of.
func (f *forest) addHit(t *health.Tree, i *pool.Instance, lost []*krm.Object, ifWhat string) *health.Tree {
	for _, r := range f.volumes.ReplicasOn(key(i.Object)) {
		under(t, under(f.replicaAlone(r), f.hit(f.volumes.OfReplica(r), lost, ifWhat)))
	}
	return t
}

// pool is a pool with its disks.
func (f *forest) pool(i *pool.Instance) *health.Tree {
	t := f.poolAlone(i)
	for _, name := range i.Pool.Disks() {
		t.Children = append(t.Children, f.device(i.Object.Namespace, name))
	}
	return t
}

func (f *forest) poolAlone(i *pool.Instance) *health.Tree {
	p := poolProblem(i.Object)
	t := &health.Tree{Object: i.Object.Ref, State: i.Phase, Phase: p.Phase, Place: health.Place{Role: health.Pool, Node: f.nodeName(i.RunsOn)}}
	t.Place.Used, t.Place.Total = i.Space()
	where, down := f.host(i.RunsOn)
	if down != "" {
		t.Phase = health.Error // whatever the pool manager said last
	}
	t.Note = note(where, i.Pool.RAIDType, strings.TrimSuffix(p.What+": "+p.Note, ": "), down)
	return t
}

// deviceAndVolumes is a disk, its pool, and the volumes that the pool serves.
func (f *forest) deviceAndVolumes(d *inventory.BlockDevice) *health.Tree {
	t := f.device(d.Namespace, d.Name)
	for _, i := range f.users[keyOf(d)] {
		f.addPoolOf(t, d, i)
	}
	if len(t.Children) > 0 {
		return t
	}
	for _, p := range f.plans[keyOf(d)] {
		if p.made {
			under(t, &health.Tree{Object: p.cluster.Object.Ref, Phase: health.Progressing, Note: "names it, and the pool on host " + p.Hostname + " does not use it yet"})
			continue
		}
		missing := f.missingPool(p)
		missing.Children = nil
		under(t, missing)
	}
	t.Unused = len(t.Children) == 0
	return t
}

// addPoolOf hangs a pool on one of its disks, with what the loss of the disk means.
func (f *forest) addPoolOf(t *health.Tree, d *inventory.BlockDevice, i *pool.Instance) {
	p, lost := f.poolAlone(i), f.volumes.ReplicasOn(key(i.Object))
	well := func(name string) bool { return isWell(f.facts.Device(d.Namespace, name)) }
	// A pool is degraded by a disk that is known, this one or another that failed, or by
	// one that the block devices do not show: then it may need this one.
	explained := func(name string) bool {
		return !well(name) && (name == d.Name || f.facts.Device(d.Namespace, name) != nil)
	}
	switch phase := strings.ToUpper(i.Phase); {
	case !i.Pool.Survives(d.Name, well):
		p.Note = note(p.Note, "without this disk: it stops")
		under(t, f.addHit(p, i, lost, "without this disk"))
	case i.Rebuilds(), phase != "ONLINE" && !(phase == "DEGRADED" && slices.ContainsFunc(i.Pool.Disks(), explained)):
		p.Note = note(p.Note, "without this disk: it may stop")
		under(t, f.addHit(p, i, lost, "without this pool"))
	default:
		p.Note = note(p.Note, "without this disk: it goes on")
		under(t, f.addHit(p, i, nil, ""))
	}
}

// device is a disk.
func (f *forest) device(namespace, name string) *health.Tree {
	ref := finding.Ref{APIVersion: deviceVersion, Kind: blockDeviceKind, Namespace: namespace, Name: name}
	d := f.facts.Device(namespace, name)
	if d == nil {
		t := health.Absent(ref, "the pool names it")
		t.Place.Role = health.Disk
		return t
	}
	t := &health.Tree{Object: ref, State: note(d.State, d.ClaimState), Phase: health.Progressing, Place: health.Place{Role: health.Disk}}
	switch {
	case d.State == "Inactive":
		t.Phase = health.Error
	case d.Fault != "":
		t.Phase = health.Error
	case d.State == "Active":
		t.Phase = health.OK
	}
	t.Note = note(d.Path, quantity.Size(d.Capacity), d.DriveType, "on node "+d.NodeName, d.Fault)
	if d.NodeName == "" {
		t.Note = note(d.Path, quantity.Size(d.Capacity), d.DriveType, "on host "+d.Hostname, d.Fault)
	}
	return t
}
