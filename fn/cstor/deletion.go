package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Remove implements system.Remover: the CStorPoolCluster goes at once, unless volumes live on
// it; the claims and attachments of its disks stay until nothing of it lives, and are then left
// to a person, or go (poolConfig.deletionPolicy, which the plan remembers).
func (System) Remove(facts *inventory.Facts, gone *system.Spec) system.Output {
	n, live := names{gone.Object.Namespace, gone.Object.Name}, pool.LiveOf(facts)
	clusters := findPoolClusters(n, gone.Object.OwnerKey(), gone.Before, admission.NewState(facts, live))
	del := &deletion{
		names: n, collector: newCollector(gone, 0), facts: facts, clusters: clusters,
		live: newLivePools(live, facts, clusters, n, gone.Object.OwnerKey()), objects: &manifests{}, released: map[krm.ID]bool{},
	}
	del.checkVolumes()
	for _, o := range gone.Before {
		del.released[o.ID()] = true
	}
	del.run()
	return del.Output(del.objects.all, del.released)
}

// deletion is a cluster whose spec is gone, with consent for all of it.
type deletion struct {
	names
	*collector
	facts    *inventory.Facts
	clusters []*standing.Cluster
	live     *livePools
	objects  *manifests
	released map[krm.ID]bool
}

// checkVolumes refuses the deletion while volumes live on the cluster, as the webhook does.
func (x *deletion) checkVolumes() {
	var volumes []string
	for _, c := range volume.IndexOf(x.facts).Sorted {
		isOn := func(of *standing.Cluster) bool {
			return c.Cluster == inventory.Key{Namespace: x.namespace, Name: of.Name}
		}
		if slices.ContainsFunc(x.clusters, isOn) && (c.Config != nil || c.Target != nil || len(c.Replicas) > 0) {
			volumes = append(volumes, c.Name)
		}
	}
	slices.Sort(volumes)
	if len(volumes) > 0 {
		x.report(finding.Error, "volumes-live", "",
			"its removal is allowed, but %s on it: %s; move the data to another cluster, or delete them, and refresh the inventory", liveVolumes(len(volumes)), finding.Names(volumes))
		return
	}
	if !x.facts.Tells(cstorGroup, cstorVolumeConfigKind, x.namespace) || !x.live.knowsReplicas {
		x.report(finding.Warning, "volumes-unknown", "",
			"the inventory does not show whether volumes exist on it, in which case the cStor webhook refuses to delete the CStorPoolCluster; refresh it with poolwright inventory, with the kinds CStorPoolInstance, CStorVolumeConfig and CStorVolumeReplica")
	}
}

func liveVolumes(count int) string {
	return finding.Count(count, "volume") + finding.Agree(count, " exists", " exist")
}

// run decides what stays for now.
func (x *deletion) run() {
	before := append(slices.Clone(x.spec.Before), lostVolumes(x.spec.Object.OwnerKey(), x.facts, x.spec.Before)...)
	disks := slices.DeleteFunc(slices.Clone(before), func(o *krm.Object) bool {
		return o.Kind != volumeClaimKind && o.Kind != volumeAttachmentKind
	})
	slices.SortFunc(disks, func(a, b *krm.Object) int { return compareIDs(a.ID(), b.ID()) })
	plan := x.plan()
	deletes, unseen := deletionPolicy(plan.Node.Str("spec", "deletionPolicy")) == deleteDisks, unseenClaims(x.facts, disks)
	switch {
	case len(disks) == 0:
	case !slices.ContainsFunc(disks, (*krm.Object).Retained) && x.mayLive():
		x.objects.all = remade(before, false)
		x.report(finding.Warning, "volumes-wait", "",
			"its CStorPoolCluster is no longer rendered; the claims and attachments of its disks are released once it and its CStorPoolInstances are gone from the live cluster: if the engine has kept it, delete it (kubectl delete cspc -n %s %s); then refresh the inventory, and render again", x.namespace, x.clusterNames())
	case deletes && len(unseen) > 0:
		x.objects.all = remade(before, false)
		x.tellUnseen(unseen)
	case deletes:
		x.tellDeleted(disks)
	default:
		x.objects.all = retention{x.facts, x.spec.Object.OwnerKey()}.leave(disks)
		x.tellRetained(x.objects.all)
	}
	if len(x.objects.all) > 0 {
		plan.SetAnnotation(krm.AnnotationAllowRemoval, poolClusterKind+"/"+x.name) // wherever it was given
		x.objects.add(gitops.Object{File: planFile, Object: plan})
	}
}

// clusterNames are the names of its CStorPoolClusters, as kubectl takes them.
func (x *deletion) clusterNames() string {
	var names []string
	for _, of := range x.clusters {
		names = append(names, of.Name)
	}
	return strings.Join(names, " ")
}

// mayLive reports whether anything of the cluster lives, or may live.
func (x *deletion) mayLive() bool {
	return len(x.live.clusters)+len(x.live.all) > 0 ||
		!x.facts.Tells(cstorGroup, poolClusterKind, x.namespace) || !x.facts.Tells(cstorGroup, poolInstanceKind, x.namespace)
}

// plan is the plan as it was rendered last, or an empty one.
func (x *deletion) plan() *krm.Object {
	if at := slices.IndexFunc(x.spec.Before, func(o *krm.Object) bool { return o.Kind == clusterPlanKind }); at >= 0 {
		return copyOf(x.spec.Before[at])
	}
	return krm.Make(daoVersion, clusterPlanKind, x.namespace, x.name, d.F("spec", d.Object(d.F("nodes", d.List()))))
}

// tellDeleted tells of the claims that go, and with them, but for what protects them, the disks.
func (x *deletion) tellDeleted(disks []*krm.Object) {
	var bound []string
	for _, o := range disks {
		if claim := x.facts.VolumeClaim(o.Namespace, o.Name); o.Kind == volumeClaimKind && claim != nil && claim.Bound {
			bound = append(bound, o.Name)
		}
	}
	if len(bound) > 0 {
		x.report(finding.Warning, "claims-going", "",
			"no longer rendered, since poolConfig.deletionPolicy was %s, and still bound in the cluster: PersistentVolumeClaim %s; where the engine has kept them, delete them there", deleteDisks, finding.Names(bound))
	}
}
