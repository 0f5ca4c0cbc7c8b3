package cstor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkPoolCluster compares a CStorPoolCluster as it is rendered with the live one.
func (s *situation) checkPoolCluster(of *standing.Cluster) {
	step := s.report.Step(poolClusterKind)
	add := func(phase health.Phase, reason string, since time.Time, format string, args ...any) {
		step.Add(health.Problem{Phase: phase, Made: reason == renderPending, Reason: reason, Since: since, Message: fmt.Sprintf(format, args...)})
	}
	var rendered *krm.Object // or the live one
	if of.Before != nil {
		rendered = of.Before.Object
	}
	live, instances, claimed := of.Object(), s.instancesOf(of), s.claimed(of)
	switch {
	case live == nil && (instances > 0 || claimed > 0) && !s.facts.Tells(cstorGroup, poolClusterKind, s.namespace):
		add(health.Progressing, "PoolClusterUnknown", time.Time{}, "the inventory does not contain CStorPoolCluster %s, which owns %s and %s; add cstorpoolclusters to it",
			of.Name, finding.Count(instances, "pool"), finding.Count(claimed, "block device"))
	case live == nil && (instances > 0 || claimed > 0):
		remedy := "apply the rendered one again"
		if s.isStale(of) {
			remedy = "run poolwright render, commit, and apply that"
		}
		add(health.Error, "PoolClusterMissing", time.Time{}, "CStorPoolCluster %s is gone from the cluster, where %s and %s are still its own; %s",
			of.Name, finding.Count(instances, "pool"), finding.Count(claimed, "block device"), remedy)
	case live == nil && rendered != nil:
		add(health.Progressing, health.NotApplied, time.Time{}, "CStorPoolCluster %s is rendered and not in the cluster yet; commit and apply it", of.Name)
	case live == nil:
	case live.Deleting():
		add(health.Error, "PoolClusterDeleting", parseTime(live.Node.Str("metadata", "deletionTimestamp")), "CStorPoolCluster %s is being deleted", of.Name)
	case live.Owner() != "" && live.Owner() != s.Object.OwnerKey():
		add(health.Error, "OwnedByOther", time.Time{}, "CStorPoolCluster %s belongs to %s", of.Name, live.Owner())
	case regrouped(of.Before, of.Current) != "":
		add(health.Error, "PoolRegrouped", time.Time{}, "the live CStorPoolCluster %s has the disks of the pool on %s in other RAID groups than the rendered one, and no pool can follow that; restore the groups there", of.Name, regrouped(of.Before, of.Current))
	case finding.Failed(s.out.Findings) || s.isStale(of):
		// What is rendered is not what should be applied: it may have lost a pool.
	case !within(rendered.Node.Get("spec"), live.Node.Get("spec")):
		add(health.Progressing, "OutOfSync", time.Time{}, "the live CStorPoolCluster %s is not as it is rendered: %s; apply it", of.Name, differs(of.Before, of.Current))
	}
	if o := s.wantedOf(of); o != nil {
		wanted := pool.DecodeCluster(o)
		switch {
		case rendered == nil:
			add(health.Progressing, renderPending, time.Time{}, "the block devices of %s are there, and its CStorPoolCluster is not rendered yet; refresh the inventory, run poolwright render, commit",
				finding.Count(len(wanted.Pools), "pool"))
		case s.isStale(of):
			add(health.Progressing, renderPending, time.Time{}, "CStorPoolCluster %s would be rendered otherwise by now: %s; refresh the inventory, run poolwright render, commit",
				of.Name, behind(of, wanted))
		}
	}
}

// renderPending is the reason of what is rendered and would be rendered otherwise by now.
const renderPending = "RenderPending"

// instancesOf counts the live pools of a CStorPoolCluster.
func (s *situation) instancesOf(of *standing.Cluster) int {
	return len(pool.LiveOf(s.facts).Instances(s.namespace, of.Name))
}

// claimed counts the block devices that are claimed for a CStorPoolCluster.
func (s *situation) claimed(of *standing.Cluster) int {
	return len(pool.LiveOf(s.facts).ClaimedBy(s.namespace, of.Name))
}

// wantedOf is a CStorPoolCluster as it would be rendered by now, or nil.
func (s *situation) wantedOf(of *standing.Cluster) *krm.Object {
	for _, o := range s.wanted[poolClusterKind] {
		if o.Name == of.Name {
			return o
		}
	}
	return nil
}

// isStale reports whether a CStorPoolCluster would be rendered otherwise by now. Of
// a live one that is not rendered yet only the fields that are rendered count.
func (s *situation) isStale(of *standing.Cluster) bool {
	wanted := s.wantedOf(of)
	if wanted == nil || of.Before == nil {
		return false
	}
	rendered := of.Before.Object
	now, before := wanted.Node.Get("spec"), rendered.Node.Get("spec")
	return !within(now, before) || rendered != of.Object() && !within(before, now)
}

// behind says in what the rendered pool cluster is not like the wanted one.
func behind(c *standing.Cluster, wanted *pool.Cluster) string {
	for _, p := range wanted.Pools {
		if c.Before.Host(p.Hostname) == nil && c.Current.Host(p.Hostname) != nil {
			return "the pool on " + p.Hostname + " exists but is not rendered"
		}
	}
	return differs(wanted, c.Before)
}

// awaiting names what the renderer awaits, by the rules of its findings.
func awaiting(rule string) string {
	switch rule {
	case "awaiting-volumes":
		return "ClaimPending"
	case "awaiting-spare":
		return "AwaitingSpare"
	}
	return "AwaitingDevices"
}

// differs says in what one pool cluster is not like another.
func differs(wanted, have *pool.Cluster) string {
	old, now := pool.ByHost(have.Pools), pool.ByHost(wanted.Pools)
	for _, p := range wanted.Pools {
		before := old[p.Hostname]
		switch {
		case before == nil:
			if i := slices.IndexFunc(have.Pools, func(q *pool.Pool) bool { return now[q.Hostname] == nil && q.Same(p) }); i >= 0 {
				return "the pool on " + have.Pools[i].Hostname + " moves to " + p.Hostname
			}
			return "the pool on " + p.Hostname + " is new"
		case !pool.SameNames(p.Disks(), before.Disks()):
			return "the pool on " + p.Hostname + " has other disks"
		}
	}
	for _, p := range have.Pools {
		if now[p.Hostname] == nil {
			return "the pool on " + p.Hostname + " goes"
		}
	}
	return "the pools are the same, and their settings are not"
}

// regrouped is the host of a pool of which two pool clusters have the same disks in
// other RAID groups, or "".
func regrouped(a, b *pool.Cluster) string {
	others := pool.ByHost(b.Pools)
	for _, p := range a.Pools {
		if o := others[p.Hostname]; o != nil && pool.SameNames(p.Disks(), o.Disks()) && !p.Same(o) {
			return p.Hostname
		}
	}
	return ""
}

// checkPools looks at the pools, and takes the operator's word where all look well
// to us.
func (s *situation) checkPools() {
	step := s.report.Step("pool")
	wanted, told := map[string]bool{}, s.facts.Tells(cstorGroup, poolInstanceKind, s.namespace)
	for _, p := range s.before.Pools() {
		step.Count()
		wanted[p.Hostname] = true
		if s.down[p.Node] {
			continue
		}
		instance := s.instanceOn(p.Hostname)
		if from := s.movingFrom(p.Pool); instance == nil && from != nil {
			step.Add(health.Problem{Phase: health.Progressing, Reason: "PoolMoving", What: "not on its new node yet", Note: "it is on host " + from.RunsOn, Subject: from.Name, Node: p.Node})
			continue
		}
		if instance == nil {
			problem := health.Problem{Phase: health.Progressing, Reason: "PoolPending", What: "not made yet", Node: p.Node, Since: created(p.Of.Object())}
			if name, gone := vanished(s.facts, p.Of.Current, p.Hostname); gone && !told {
				problem = health.Problem{Phase: health.Progressing, Reason: "PoolUnknown", What: "not in the inventory (add cstorpoolinstances to it)", Node: p.Node}
			} else if gone {
				problem = health.Problem{Phase: health.Error, Outage: true, Reason: "PoolMissing", What: "missing, though made before", Subject: name, Node: p.Node}
			}
			step.Add(problem)
			continue
		}
		problem := poolProblem(instance.Object)
		switch {
		case problem.Phase == health.OK:
			problem = s.unfinished(p.Of, instance)
		case problem.Reason == poolDegraded:
			if replacing := s.mends(p, instance); replacing.Phase != health.OK {
				problem = replacing
			}
		}
		if problem.Phase != health.OK {
			problem.Subject, problem.Node = instance.Name, p.Node
			step.Add(problem)
			continue
		}
		s.report.Unchanged(created(instance.Object))
	}
	for _, i := range s.instances {
		if !wanted[i.Hostname] && !s.isKept(i) {
			step.Add(health.Problem{Phase: health.Progressing, Reason: "PoolRemoving", What: "no longer wanted and not gone yet", Subject: i.Name, Node: i.Hostname})
		}
	}
	for _, of := range s.before.Clusters() {
		checkCounts(step, of.Object())
	}
}

// movingFrom is the instance of a pool that is on another host than the pool is to be, or
// nil.
func (s *situation) movingFrom(p *pool.Pool) *pool.Instance {
	i := slices.IndexFunc(s.instances, func(i *pool.Instance) bool {
		return i.RunsOn != p.Hostname && i.Pool.Shares(p)
	})
	if i < 0 {
		return nil
	}
	return s.instances[i]
}

// isKept reports whether an instance is of a pool that is rendered, on whichever host.
func (s *situation) isKept(i *pool.Instance) bool {
	return slices.ContainsFunc(s.before.Pools(), func(p *standing.Pool) bool { return i.Pool.Shares(p.Pool) })
}

// unfinished compares the disks of an instance with those that its live CStorPoolCluster
// names: an edit shows in an instance only minutes after its claims are bound.
func (s *situation) unfinished(of *standing.Cluster, i *pool.Instance) health.Problem {
	used, wanted := i.Pool.Disks(), of.Current.Host(i.RunsOn)
	if wanted == nil || len(used) == 0 {
		return health.Problem{Phase: health.OK} // the instance does not tell
	}
	in, out := pool.Without(wanted.Data.Disks(), used), pool.Without(i.Pool.Data.Disks(), wanted.Disks())
	p := health.Problem{Phase: health.Progressing}
	switch {
	case len(in) > 0 && len(out) > 0:
		p = replaces(in, out)
	case len(in) > 0:
		p.Reason, p.What = "PoolGrowing", "to grow by "+finding.Names(in)
	case s.replacing(i) != "":
		p.Reason, p.What = poolReplacing, "to give up "+s.replacing(i)
	default:
		p.Phase = health.OK
	}
	return p
}

// Reasons of pools that serve their volumes, and are not as they are to be.
const (
	poolDegraded  = "PoolDegraded"  // a disk is not there
	poolReplacing = "PoolReplacing" // a disk takes the place of another
)

// mends says by which replacement a degraded pool is to be well again, be it rendered only; it
// is OK where there is none.
func (s *situation) mends(p *standing.Pool, i *pool.Instance) health.Problem {
	problem := s.unfinished(p.Of, i)
	if problem.Reason == poolReplacing {
		return problem
	}
	in, out := pool.Without(p.Data.Disks(), i.Pool.Disks()), pool.Without(i.Pool.Data.Disks(), p.Disks())
	if len(in) == 0 || len(out) == 0 {
		return health.Problem{Phase: health.OK}
	}
	return replaces(in, out)
}

func replaces(in, out []string) health.Problem {
	return health.Problem{Phase: health.Progressing, Reason: poolReplacing, What: "to get " + finding.Names(in) + " in the place of " + finding.Names(out)}
}

// replacing is the disk of a pool that another one takes the place of at the moment: its
// claim names the predecessor until that is done.
func (s *situation) replacing(i *pool.Instance) string {
	for _, name := range i.Pool.Disks() {
		d := s.facts.Device(s.namespace, name)
		if d == nil {
			continue
		}
		if claim := s.facts.ClaimOf(d); claim != nil && claim.Predecessor != "" {
			return claim.Predecessor
		}
	}
	return ""
}

// vanished reports whether a pool that is not there was: volumes still have replicas
// on it, which tell its name, or the operator had made all of its cluster. It counts
// those that are yet to move to another host, too, so while there is one no pool is
// known to be gone.
func vanished(facts *inventory.Facts, cluster *pool.Cluster, hostname string) (name string, gone bool) {
	if cluster == nil {
		return "", false
	}
	for _, r := range facts.Objects(cstorGroup, cstorVolumeReplicaKind) {
		name := r.Label(pool.LabelInstance)
		instance := krm.ID{Group: cstorGroup, Kind: poolInstanceKind, Namespace: r.Namespace, Name: name}
		if r.Namespace == cluster.Namespace && r.Annotation(pool.AnnotationReplicaHost) == hostname && facts.Object(instance) == nil && strings.HasPrefix(name, cluster.Name+"-") {
			return name, true
		}
	}
	bare := pool.ByHost(cluster.Pools)
	if bare[hostname] == nil {
		return "", false // it is not in the live cluster yet
	}
	for _, i := range pool.LiveOf(facts).Instances(cluster.Namespace, cluster.Name) {
		on := i.RunsOn
		if bare[on] == nil { // it is yet to move
			on = i.Hostname
		}
		if bare[on] == nil {
			return "", false
		}
		delete(bare, on)
	}
	made, known := field(cluster.Object, "status", "provisionedInstances").Int()
	return "", known && int(made) >= len(cluster.Pools)
}

// checkCounts takes over what the operator counts of a CStorPoolCluster.
func checkCounts(step *health.Step, live *krm.Object) {
	count := func(field string) int {
		n, _ := strconv.Atoi(live.Node.Str("status", field))
		return n
	}
	if field(live, "status", "desiredInstances") == nil {
		return
	}
	if desired := count("desiredInstances"); count("healthyInstances") < desired || count("provisionedInstances") < desired {
		step.Add(health.Problem{
			Phase: health.Progressing, Made: true, Reason: "PoolsSettling",
			Message: fmt.Sprintf("the cStor operator counts %d provisioned and %d healthy of %s", count("provisionedInstances"), count("healthyInstances"), finding.Count(desired, "pool")),
		})
	}
}

// poolProblem judges a CStorPoolInstance by its phase, which is the state of the
// zpool or of its making. The Subject is left to the caller.
//
// Source: openebs/api, pkg/apis/cstor/v1 (CStorPoolInstancePhase), 3.6.0.
func poolProblem(o *krm.Object) health.Problem {
	phase := o.Node.Str("status", "phase")
	p := health.Problem{Phase: health.Error}
	bad := func(conditionType string) bool {
		c := condition(o, conditionType)
		if c.Str("status") != "True" {
			return false
		}
		p.Since, p.Note = changed(c), oneLine(c.Str("message"))
		return true
	}
	switch strings.ToUpper(phase) {
	case "ONLINE":
		switch {
		case o.Deleting():
			p.Reason, p.What = "PoolDeleting", "being deleted"
		case o.Node.Str("status", "readOnly") == "true":
			p.Made, p.Reason, p.What = true, "PoolReadOnly", "read-only"
			p.Note = "it is nearly full; add disks, or raise roThresholdLimit"
		case bad("DiskReplacement"): // of a disk that was well
			p.Made, p.Phase, p.Reason, p.What = true, health.Progressing, "PoolRebuilding", "rebuilding on a new disk"
		default:
			p.Phase = health.OK
		}
	case "", "INIT", "PENDING":
		p.Phase, p.Reason, p.What, p.Since = health.Progressing, "PoolPending", "not ready yet", created(o)
	case "DEGRADED":
		if bad("DiskReplacement") {
			p.Made, p.Phase, p.Reason, p.What = true, health.Progressing, "PoolRebuilding", "rebuilding on a new disk"
			break
		}
		p.Made, p.Reason, p.What = true, poolDegraded, "degraded"
		bad("DiskUnavailable")
	case "OFFLINE":
		p.Made, p.Outage, p.Reason, p.What = true, true, "PoolOffline", "offline"
		bad("PoolLost")
	default:
		// What we do not know is looked at by a person, as in the check of deploy.
		p.Made, p.Outage, p.Reason, p.What = true, true, "PoolFaulted", "faulted"
		if p.Note = phase; bad("PoolLost") {
			p.Note = phase + ": " + p.Note
		}
	}
	return p
}

// instanceOn is the instance that runs on a host, or nil: one that moved has the label of
// its old host.
func (s *situation) instanceOn(hostname string) *pool.Instance {
	for _, i := range s.instances {
		if i.RunsOn == hostname {
			return i
		}
	}
	return nil
}

// detail lists the nodes and the cloud disks, each under the rendered object that
// stands for it.
func (s *situation) detail() {
	for _, node := range s.before.Nodes() {
		set := finding.Ref{APIVersion: daoVersion, Kind: storageSetKind, Namespace: s.namespace, Name: record.SetName(s.name, node)}
		said := finding.Count(len(s.devicesOf(node)), "block device")
		if i := s.instanceOn(s.hostname(node)); i != nil {
			said = "pool " + i.Name + " " + i.Phase + ", " + said
		}
		s.report.PartOf(set, node, "", said)
	}
	for _, o := range s.rendered[storageKind] {
		s.report.PartOf(o.Ref, o.Node.Str("spec", "nodeName"), o.Name, "bound and attached")
	}
}
