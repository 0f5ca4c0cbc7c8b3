package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// reader reads the volumes of one pool cluster from the facts.
type reader struct {
	facts     *inventory.Facts
	live      *pool.Live
	cluster   inventory.Key
	owner     string // the key of the config that is rendered
	version   string // of the operators, "" where nobody tells
	snapshots map[inventory.Key][]string
}

// Read is the volumes of a pool cluster, by name, and its pools. owner is the key of the
// config that is rendered.
func Read(facts *inventory.Facts, cluster inventory.Key, owner string) (volumes []Volume, pools []Pool) {
	live := pool.LiveOf(facts)
	r := &reader{facts: facts, live: live, cluster: cluster, owner: owner, version: live.Version(cluster), snapshots: map[inventory.Key][]string{}}
	for _, o := range facts.Objects("snapshot.storage.k8s.io", "VolumeSnapshot") {
		of := inventory.Key{Namespace: o.Namespace, Name: o.Node.Str("spec", "source", "persistentVolumeClaimName")}
		r.snapshots[of] = append(r.snapshots[of], o.Name)
	}
	for _, c := range volume.IndexOf(facts).Sorted {
		if c.Cluster == cluster && (c.Config != nil || len(c.Replicas) > 0) {
			volumes = append(volumes, r.volume(c))
		}
	}
	slices.SortFunc(volumes, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	for _, i := range live.Instances(cluster.Namespace, cluster.Name) {
		pools = append(pools, r.pool(i))
	}
	return volumes, pools
}

// pool is a pool as it takes replicas.
func (r *reader) pool(i *pool.Instance) Pool {
	p := Pool{Name: i.Name, Free: -1, Refuses: i.RefusesReplicas()}
	if free, known := i.Free(); known {
		p.Free = free
	}
	switch nodes := r.facts.Host(i.RunsOn); {
	case len(nodes) != 1:
		p.Absent = true
	case nodes[0].Down():
		p.Zone, p.Absent = nodes[0].Zone, true
	default:
		p.Zone = nodes[0].Zone
	}
	return p
}

// volume is a volume as its objects tell.
func (r *reader) volume(c *volume.Chain) Volume {
	v := Volume{Namespace: c.Namespace, Name: c.Name}
	if user := c.User(); user.Name != "" && user.Name != c.Name {
		v.Claim = user.Namespace + "/" + user.Name
	}
	for _, o := range c.Replicas {
		v.Replicas = append(v.Replicas, Replica{Name: o.Name, Pool: volume.InstanceOf(o)})
	}
	switch {
	case c.Config == nil:
		v.Unknown = "the inventory has no " + volume.ConfigKind + " of it"
		return v
	case c.Target == nil:
		v.Unknown = "the inventory has no " + volume.TargetKind + " of it"
	}
	r.config(&v, c.Config)
	if c.Target != nil {
		r.target(&v, c)
	}
	v.Pinned = r.pinned(c)
	return v
}

// config reads the CStorVolumeConfig.
func (r *reader) config(v *Volume, o *krm.Object) {
	spec := o.Node.Get("spec")
	v.Pools = PoolsOf(o)
	for _, name := range o.Node.Seq("status", "poolInfo") {
		v.Placed = append(v.Placed, name.Value())
	}
	v.Count = count(spec.Get("provision", "replicaCount"))
	v.Source, _, _ = strings.Cut(spec.Str("cstorVolumeSource"), "@")
	if size, err := resource.ParseQuantity(spec.Str("capacity", "storage")); err == nil {
		v.Bytes = size.Value()
	}
	v.Owned, v.Memory = o.Owner() == r.owner, Remembered(o)
	if len(v.Pools) == 0 && v.Unknown == "" {
		v.Unknown = "the inventory does not show its spec.policy.replicaPoolInfo"
	}
}

// PoolsOf lists the pools that a CStorVolumeConfig names, in order.
func PoolsOf(o *krm.Object) []string {
	var names []string
	for _, p := range o.Node.Seq("spec", "policy", "replicaPoolInfo") {
		names = append(names, p.Str("poolName"))
	}
	return names
}

// Remembered is what a CStorVolumeConfig says of its drain, without its pools.
func Remembered(o *krm.Object) Partial {
	replicas, err := strconv.Atoi(o.Annotation(krm.AnnotationReplicas))
	if err != nil || replicas < 0 {
		replicas = 0
	}
	return Partial{Replicas: replicas, Leaves: o.Annotation(krm.AnnotationLeaves)}
}

// target reads the CStorVolume, and what it and each replica say of that.
func (r *reader) target(v *Volume, c *volume.Chain) {
	spec := c.Target.Node.Get("spec")
	v.Target = c.Target.Node.Str("status", "phase")
	v.Factor, v.Desired = count(spec.Get("replicationFactor")), count(spec.Get("desiredReplicationFactor"))
	if v.Desired == 0 {
		v.Desired = v.Factor
	}
	if v.Factor == 0 && v.Unknown == "" {
		v.Unknown = "the inventory does not show the replicationFactor of its CStorVolume"
	}
	statuses := c.Target.Node.Seq("status", "replicaStatuses")
	for i, o := range c.Replicas {
		replica := &v.Replicas[i]
		phase := o.Node.Str("status", "phase")
		replica.Silent = broken(phase) || doubt(statuses, o.Node.Str("spec", "replicaid"), len(c.Replicas)) != ""
		switch {
		case o.Deleting():
			replica.Fault = "it is being deleted"
		case c.Down(o) != "":
			replica.Fault = c.Down(o)
		case phase != "Healthy":
			replica.Fault = "its phase is " + cmp.Or(phase, "not known")
			replica.Broken = broken(phase)
		default:
			replica.Fault = doubt(statuses, o.Node.Str("spec", "replicaid"), len(c.Replicas))
		}
	}
}

// broken reports whether a replica of a phase is no use, and nothing is under way for it.
func broken(phase string) bool { return phase == "Offline" || phase == "Error" || phase == "Invalid" }

// doubt says why a replica that calls itself healthy is not, as the target of the volume sees
// it, or "". Where nobody tells which of them is which, all must be healthy.
func doubt(statuses []document.Node, id string, replicas int) string {
	if len(statuses) == 0 {
		return "" // the facts do not tell
	}
	healthy := 0
	for i := range statuses {
		s := &statuses[i]
		well := strings.EqualFold(s.Str("mode"), "Healthy") && s.Str("quorum") != "0"
		switch {
		case well:
			healthy++
		case id != "" && s.Str("replicaId") == id:
			return "its CStorVolume has it as " + s.Str("mode") + ", with quorum " + cmp.Or(s.Str("quorum"), "unknown")
		}
	}
	known := id != "" && slices.ContainsFunc(statuses, func(s document.Node) bool { return s.Str("replicaId") == id })
	switch {
	case known, id == "" && healthy >= replicas:
		return ""
	case id == "":
		return fmt.Sprintf("its CStorVolume has %s of %d", finding.Count(healthy, "healthy replica"), replicas)
	}
	return "its CStorVolume is not connected to it"
}

// pinned says what keeps a volume where it is, whatever its replicas are like, or "".
func (r *reader) pinned(c *volume.Chain) string {
	phase := c.Config.Node.Str("status", "phase")
	details := c.Config.Node.Get("versionDetails")
	version := cmp.Or(details.Str("status", "current"), details.Str("desired"))
	snapshots := slices.Clone(r.snapshots[c.User()])
	for _, o := range c.Replicas {
		snapshots = append(snapshots, snapshotsOf(o)...)
	}
	slices.Sort(snapshots)
	snapshots = slices.Compact(snapshots)
	switch {
	case c.Config.Deleting():
		return "it is being deleted"
	case phase != "Bound":
		return "it is " + cmp.Or(phase, "not known to be Bound") + ", and the operators change a Bound volume only"
	case version != "" && r.version != "" && version != r.version:
		return "it is of version " + version + " and the operators are of " + r.version + ", which do nothing for it; upgrade it first"
	case len(snapshots) > 0:
		return "it has snapshots, which a new replica would not have: " + finding.Names(snapshots)
	}
	return ""
}

// snapshotsOf lists the snapshots that people made of a replica: what a rebuild makes for
// itself is none. A snapshot of the cluster keeps their names only.
func snapshotsOf(replica *krm.Object) []string {
	var names []string
	add := func(name string) {
		if !strings.HasPrefix(name, ".") && !strings.Contains(name, "rebuild_snap") && !strings.Contains(name, "io_snap") {
			names = append(names, name)
		}
	}
	of := replica.Node.Get("status", "snapshots")
	if of == nil {
		return nil
	}
	for _, f := range of.Fields() {
		add(f.Key)
	}
	for _, n := range of.Items() {
		add(n.Value())
	}
	return names
}

func count(n *document.Node) int {
	i, ok := n.Int()
	if !ok || i < 0 {
		return 0
	}
	return int(i)
}
