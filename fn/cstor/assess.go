package cstor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Assess implements system.Assessor. What the operator and its admission webhook
// make of an edit is what version 3.6.0 of them was seen to do.
func (System) Assess(facts *inventory.Facts, disks *disk.Ledger, c *change.Change) {
	a := assessment{facts: facts, ledger: disks, Change: c}
	switch {
	case c.Action == change.Remove && c.Old.Retained():
		c.Judge(change.Safe, "", "is left to a person, and stays in the cluster")
	case c.Ref.Kind == poolClusterKind:
		a.poolCluster()
	case c.Ref.Kind == volumeClaimKind:
		a.claim()
	case c.Ref.Kind == volumeAttachmentKind:
		a.attachment()
	case c.Ref.Kind == cstorVolumeConfigKind:
		a.volumeConfig()
	case strings.HasPrefix(c.Ref.APIVersion, daoGroup+"/"):
		c.Judge(change.Safe, "", "only Poolwright reads it: it remembers what was chosen")
	}
}

// assessment is one change under judgement.
type assessment struct {
	*change.Change
	facts  *inventory.Facts
	ledger *disk.Ledger
	// Of a CStorPoolCluster:
	hosts    map[string]*pool.Pool          // where it is changed, its pools so far
	disks    []string                       // and all block devices in them
	state    admission.State                // that the edit meets
	problems []admission.Problem            // what becomes of it
	ofDisk   map[string][]admission.Problem // the same, by block device
}

func (a assessment) judge(risk change.Risk, f *change.Field, format string, args ...any) {
	a.Judge(risk, f.Path, fmt.Sprintf(format, args...))
}

// claim judges a PersistentVolumeClaim: of its spec, Kubernetes lets only the
// size grow, and newer versions the class of its attributes change.
func (a assessment) claim() {
	switch a.Action {
	case change.Create:
		a.Judge(change.Safe, "", "claims a new volume")
		return
	case change.Remove:
		if known := a.facts.VolumeClaim(a.Ref.Namespace, a.Ref.Name); known != nil && !known.Bound && known.VolumeName == "" {
			a.Judge(change.Safe, "", "is not bound, so there is no volume to lose")
			return
		}
		a.Judge(change.Destructive, "", "the volume and what is on it goes with its claim, unless the reclaim policy is Retain")
		return
	}
	for i := range a.Fields {
		f := &a.Fields[i]
		switch {
		case f.Shape == "spec.resources.requests.storage":
			a.storage(f)
		case f.Shape == "spec.volumeAttributesClassName" && f.New == nil:
			a.judge(change.Disruptive, f, "the API server refuses it once the volume has attributes of a class, and the sync stops here")
		case f.Shape == "spec.volumeAttributesClassName":
			a.judge(change.Disruptive, f, "the driver changes the volume to class %s while it is used; where the cluster or the driver cannot do that, it is refused", f.New.Str())
		case f.Under("spec"):
			a.judge(change.Disruptive, f, "the API server refuses it: a claim cannot change %s, and the sync stops here", f.Path)
		case f.Shape == "metadata.annotations["+inventory.AnnotationSelectedNode+"]":
			if known := a.facts.VolumeClaim(a.Ref.Namespace, a.Ref.Name); known != nil && known.Bound {
				a.judge(change.Safe, f, "it is bound, and its volume stays where it is")
				continue
			}
			a.judge(change.Disruptive, f, "if it is not bound yet, it gets its volume for another node")
		}
	}
}

func (a assessment) storage(f *change.Field) {
	was, err := resource.ParseQuantity(f.Old.Str())
	is, err2 := resource.ParseQuantity(f.New.Str())
	name := a.New.Node.Str("spec", "storageClassName")
	class := a.facts.Object(krm.ID{Group: storageGroup, Kind: storageClassKind, Name: name})
	known := a.facts.VolumeClaim(a.Ref.Namespace, a.Ref.Name)
	switch {
	case err != nil || err2 != nil:
		a.judge(change.Disruptive, f, "the size cannot be read")
	case is.Cmp(was) < 0:
		a.judge(change.Disruptive, f, "the API server refuses it: a volume cannot shrink, and the sync stops here")
	case known != nil && !known.Bound:
		a.judge(change.Disruptive, f, "the API server refuses it: only the claim of a bound volume can grow, and the sync stops here")
	case name == "":
		a.judge(change.Disruptive, f, "it is unknown whether the volume can grow: the claim names no StorageClass")
	case class == nil:
		a.judge(change.Disruptive, f, "it is unknown whether the volume can grow: StorageClass %s is not in the inventory; refresh it with poolwright inventory", name)
	case class.Node.Str("allowVolumeExpansion") != "true":
		a.judge(change.Disruptive, f, "the API server refuses it: StorageClass %s does not allow volumes to grow, and the sync stops here", name)
	default:
		a.judge(change.Safe, f, "the volume grows while it is used; the pool on it does not grow by itself")
	}
}

// attachment judges a VolumeAttachment, whose spec is immutable.
func (a assessment) attachment() {
	switch a.Action {
	case change.Create:
		a.Judge(change.Safe, "", "attaches a volume that nothing uses yet")
	case change.Remove:
		a.Judge(change.Disruptive, "", "detaches a live disk from node "+a.Old.Node.Str("spec", "nodeName")+": a pool on it loses the disk until it is attached again")
	default:
		for i := range a.Fields {
			if f := &a.Fields[i]; f.Under("spec") {
				a.judge(change.Disruptive, f, "the API server refuses it: an attachment cannot change %s, and the sync stops here", f.Path)
			}
		}
	}
}

// poolCluster judges a CStorPoolCluster.
func (a assessment) poolCluster() {
	if a.Action == change.Remove {
		text := "every pool goes, with what is on it; " + a.replicasOn("")
		if p, refused := admission.NewState(a.facts, pool.LiveOf(a.facts)).Deletion(a.Ref.Namespace, a.Ref.Name); refused {
			text += ": the webhook refuses it" + p.Quoted()
		}
		a.Judge(change.Destructive, "", text)
		return
	}
	wanted := pool.DecodeCluster(a.New)
	if a.Action == change.Create {
		a.review(nil, wanted)
		pools := wanted.Pools
		var devices []string
		for _, p := range pools {
			devices = append(devices, p.Disks()...)
			if risk, problem := a.problem(p.Disks()); problem != "" {
				a.Judge(risk, "", problem)
			}
		}
		a.fates()
		if lost := a.claimedOutside(devices); len(lost) > 0 {
			a.Judge(change.Destructive, "", finding.Names(lost)+" is claimed by it and is in none of these pools: if it has running pools, their data is lost; check poolwright status first, and check that the inventory has the kind CStorPoolCluster")
		}
		if len(a.Reasons) > 0 {
			return
		}
		if left := len(a.instances()); left > 0 {
			a.Judge(change.Disruptive, "", finding.Count(left, "pool")+" of it "+finding.Agree(left, "exists", "exist")+" without it, and the inventory does not show yet how the operator handles them; check poolwright status first")
			return
		}
		a.Judge(change.Safe, "", fmt.Sprintf("makes %s of %s", finding.Count(len(pools), "new pool"), a.counted(devices)))
		return
	}
	a.Fields = slices.DeleteFunc(a.Fields, func(f change.Field) bool { return f.Action == change.Remove && isFilledIn(&f) })
	for i := range a.Fields {
		f := &a.Fields[i]
		switch {
		case f.Under("metadata.annotations[" + pool.AnnotationAllowedTags + "]"):
			a.judge(change.Safe, f, "matters only when a block device is claimed")
		case f.Under("spec.resources"), f.Under("spec.auxResources"), f.Under("spec.tolerations"), f.Under("spec.priorityClassName"):
			a.restart(f)
		}
	}
	old := pool.DecodeCluster(a.Old)
	a.review(old, wanted)
	a.hosts, a.disks = pool.ByHost(a.state.Resolve(old).Pools), old.Disks()
	a.pools()
	a.fates()
}

// restart judges what is part of the pods of the pools.
func (a assessment) restart(f *change.Field) {
	text := "the pod of each pool that takes it over restarts, and its I/O pauses until then"
	if f.Action == change.Remove {
		text = "the operator leaves a value that is removed in the Deployments of the pools: take it out there, and their pods restart, with a pause of I/O"
	}
	a.judge(change.Disruptive, f, "%s", text)
}

// replicasOn says what the inventory knows of the volume replicas on the pool of
// a host, or on all pools of the cluster.
func (a assessment) replicasOn(hostname string) string {
	instances, replicas := 0, 0
	for _, i := range a.instances() {
		if hostname == "" || i.RunsOn == hostname {
			instances++
			replicas += pool.LiveOf(a.facts).Replicas(i.Object.Namespace, i.Name)
		}
	}
	switch {
	case replicas > 0:
		return fmt.Sprintf("%s on it", finding.Count(replicas, "volume replica"))
	case instances == 0, !a.facts.Tells(cstorGroup, cstorVolumeReplicaKind, a.Ref.Namespace):
		return "the inventory does not show whether volume replicas are on it"
	}
	return "the inventory knows of no volume replica on it"
}

// instances are the live pools of the cluster.
func (a assessment) instances() []*pool.Instance {
	return pool.LiveOf(a.facts).Instances(a.Ref.Namespace, a.Ref.Name)
}
