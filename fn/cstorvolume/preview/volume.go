package preview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// volume is the volume that a claim asks for.
func (v *viewer) volume(claim *krm.Object, sc *class.Class) *chain.Volume {
	vol := &chain.Volume{
		Name:      "pvc-" + chain.Hole("uid of the claim"),
		Cluster:   sc.Parameters["cstorPoolCluster"],
		Claim:     inventory.Key{Namespace: claim.Namespace, Name: claim.Name},
		Class:     sc.Name,
		Reclaim:   sc.ReclaimPolicy,
		FSType:    cmp.Or(sc.Parameters["csi.storage.k8s.io/fstype"], "ext4"),
		Policy:    sc.Parameters["cstorVolumePolicy"],
		Namespace: v.namespaceOf(sc.Parameters["cstorPoolCluster"], claim),
	}
	vol.Size, _ = chain.WholeGiB(claim.Node.Str("spec", "resources", "requests", "storage"))
	vol.Replicas, _ = strconv.Atoi(sc.Parameters["replicaCount"])
	if live := v.facts.Object(claim.ID()); live != nil {
		if uid := live.Node.Str("metadata", "uid"); uid != "" {
			vol.Name = "pvc-" + uid
		}
		vol.Name = cmp.Or(live.Node.Str("spec", "volumeName"), vol.Name)
	}
	vol.Version = v.version(vol)
	vol.Source = v.source(claim)
	return vol
}

// configured is a volume as its live CStorVolumeConfig has it, which wins over what its
// class says now.
func (v *viewer) configured(vol *chain.Volume, config *krm.Object) *chain.Volume {
	spec := config.Node.Get("spec")
	vol.Name, vol.Namespace = config.Name, config.Namespace
	vol.Claim.Name = cmp.Or(vol.Claim.Name, config.Annotation("openebs.io/persistent-volume-claim"), chain.Hole("name of the claim"))
	vol.Cluster = config.Label(inventory.LabelPoolCluster)
	vol.Policy = config.Annotation("openebs.io/volume-policy")
	vol.Size = cmp.Or(spec.Str("capacity", "storage"), spec.Str("provision", "capacity", "storage"), vol.Size)
	vol.Source = cmp.Or(spec.Str("cstorVolumeSource"), vol.Source)
	vol.Replicas = 0
	if n, ok := spec.Get("provision", "replicaCount").Int(); ok && n > 0 && n <= mostReplicas {
		vol.Replicas = int(n)
	}
	vol.Phase = config.Node.Str("status", "phase")
	vol.Version = cmp.Or(config.Node.Str("versionDetails", "status", "current"), v.version(vol))
	if policy := spec.Get("policy"); vol.Phase == chain.PhaseBound && policy.Kind() == document.Map {
		own := policy.Copy()
		own.Delete("replicaPoolInfo")
		vol.Settings = &own
	}
	return vol
}

// mostReplicas is more than any volume has: each is on a pool of its own, and a mistake is
// not to fill the memory.
//
// Source: Poolwright.
const mostReplicas = 1000

// namespaceOf is where the operators run: where the spec of the class is, or else where
// the pools are.
func (v *viewer) namespaceOf(cluster string, claim *krm.Object) string {
	if owner, ok := krm.ParseOwner(claim.Owner()); ok && owner.Namespace != "" {
		return owner.Namespace
	}
	for _, c := range v.live.Clusters {
		if c.Name == cluster {
			return c.Namespace
		}
	}
	for _, i := range v.live.All() {
		if i.Cluster().Name == cluster {
			return i.Cluster().Namespace
		}
	}
	return chain.Hole("namespace of the operators")
}

// version is that of the operators.
func (v *viewer) version(vol *chain.Volume) string {
	if o := v.facts.Object(krm.ID{Group: "apps", Kind: "Deployment", Namespace: vol.Namespace, Name: volume.Operator}); o != nil {
		if version := o.Label("openebs.io/version"); version != "" {
			return version
		}
	}
	if c := v.live.Cluster(vol.Namespace, vol.Cluster); c != nil {
		if version := c.Object.Node.Str("versionDetails", "status", "current"); version != "" {
			return version
		}
	}
	return chain.Hole("version of the operators")
}

// source is <volume>@<snapshot> of a clone.
//
// Source: cstor-csi, CreateVolume (source of a volume), 3.6.0.
func (v *viewer) source(claim *krm.Object) string {
	from := claim.Node.Get("spec", "dataSource")
	name := from.Str("name")
	switch from.Str("kind") {
	case "VolumeSnapshot":
		of := chain.Hole("volume of VolumeSnapshot %s", name)
		if o := v.facts.Object(krm.ID{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot", Namespace: claim.Namespace, Name: name}); o != nil {
			of = v.volumeName(claim.Namespace, o.Node.Str("spec", "source", "persistentVolumeClaimName"))
		}
		return of + "@" + chain.Hole("handle of VolumeSnapshot %s", name)
	case claimKind:
		return v.volumeName(claim.Namespace, name) + "@" + chain.Hole("snapshot for the clone")
	}
	return ""
}

func (v *viewer) volumeName(namespace, claim string) string {
	if o := v.facts.Object(krm.ID{Kind: claimKind, Namespace: namespace, Name: claim}); o != nil && o.Node.Str("spec", "volumeName") != "" {
		return o.Node.Str("spec", "volumeName")
	}
	return chain.Hole("volume of claim %s", claim)
}

// budgetsOf are the PodDisruptionBudgets of cStor, by the pools that they are for.
func budgetsOf(facts *inventory.Facts) map[string]string {
	budgets := map[string]string{}
	for _, o := range facts.Objects("policy", "PodDisruptionBudget") {
		for _, e := range o.Node.Seq("spec", "selector", "matchExpressions") {
			if e.Str("key") != chain.BudgetKey {
				continue
			}
			var pools []string
			for _, value := range e.Seq("values") {
				pools = append(pools, value.Value())
			}
			budgets[budgetKey(o.Namespace, pools)] = o.Name
		}
	}
	return budgets
}

func budgetKey(namespace string, pools []string) string {
	return namespace + "/" + strings.Join(slices.Sorted(slices.Values(pools)), ",")
}

// isKnown reports whether a name is one, and not a hole.
func isKnown(name string) bool { return name != "" && !strings.Contains(name, "<") }

// instancesOf names the pools of replicas.
func instancesOf(replicas []*krm.Object) []string {
	var names []string
	for _, r := range replicas {
		if name := volume.InstanceOf(r); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
