// Package chain is what the driver and the operators of cStor 3.6 make of one claim: the
// objects from the PersistentVolume down to the replicas, with their names, labels,
// annotations and owners. What only a cluster can know stands as a hole, <what it is>.
//
// Source: cstor-csi and cstor-operators, 3.6.0, measured.
package chain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Volume is one volume as its class and claim want it.
type Volume struct {
	Name      string        // of the volume, and of most of its objects
	Namespace string        // of the objects of cStor
	Cluster   string        // the pool cluster
	Version   string        // of the operators, or a hole
	Claim     inventory.Key // that it is for, as far as that is known
	Class     string        // its StorageClass; "" where no claim asks for the volume, so that it has no PersistentVolume
	Reclaim   string        // its reclaim policy
	FSType    string
	Size      string  // a quantity
	Replicas  int     // that are wanted
	Policy    string  // the name of its CStorVolumePolicy, "" for none
	Settings  *d.Node // what that says, nil for nothing
	Source    string  // <volume>@<snapshot> that it is a clone of, or ""
	Phase     string  // of its CStorVolumeConfig while that is not Bound; "" for Pending
	Pools     []Pool  // of its replicas
	Budget    string  // the PodDisruptionBudget of these pools, "" where there is none yet
}

// Pool is the pool of one replica.
type Pool struct {
	Name string // of the CStorPoolInstance, or a hole
	Host string // of its node, or a hole
	UID  string // of the CStorPoolInstance, or a hole
}

// PolicyKind is what says how volumes are made.
const PolicyKind = "CStorVolumePolicy"

// Hole stands for what only a cluster can know.
func Hole(format string, args ...any) string { return "<" + fmt.Sprintf(format, args...) + ">" }

// TargetApp is the label app of the pods of targets, and of their Deployments.
const TargetApp = "cstor-volume-manager"

// Stage is how far the operators get with a volume.
type Stage int

// The stages.
const (
	Refused  Stage = iota // its CStorVolumeConfig, and nothing that hangs on it
	Unplaced              // the target with its Deployment and Service, but no replicas that it lacks; they are left behind
	Unbound               // everything, and its CStorVolumeConfig stays as it is
	Bound
)

// PhaseBound is that of a CStorVolumeConfig whose volume is made.
const PhaseBound = "Bound"

// Labels and annotations of the chain.
const (
	labelTemplateHash  = "cstor.openebs.io/template-hash"
	LabelVersion       = "openebs.io/version"
	labelVolume        = "openebs.io/persistent-volume"
	LabelClaim         = "openebs.io/persistent-volume-claim"
	labelEngine        = "openebs.io/storage-engine-type"
	labelCASType       = "openebs.io/cas-type"
	labelTarget        = "openebs.io/target"
	LabelTargetService = "openebs.io/target-service"
	labelSource        = "openebs.io/source-volume"
	labelCloned        = "openebs.io/cloned"
	LabelBudget        = "openebs.io/pod-disruption-budget"
	labelVolumeName    = "cstorvolume.openebs.io/name"
	labelInstanceUID   = "cstorpoolinstance.openebs.io/uid"
	annotationVolume   = "openebs.io/volumeID"
	annotationPolicy   = "openebs.io/volume-policy"
	annotationSnapshot = "openebs.io/snapshot"
)

// Quorum is how many replicas of a volume have to be healthy.
func Quorum(replicas int) int { return replicas/2 + 1 }

// HasBudget reports whether volumes of so many replicas get a PodDisruptionBudget.
func HasBudget(replicas int) bool { return replicas >= 3 }

// BudgetKey is the label of the pods of pools by which a PodDisruptionBudget selects them.
const BudgetKey = "openebs.io/cstor-pool-instance"

// BudgetLabel is on the PodDisruptionBudget of a pool instance, with the value "true".
func BudgetLabel(instance string) string { return "openebs.io/" + instance }

// ReplicaName is the name of a replica on a pool.
func ReplicaName(volume, instance string) string { return volume + "-" + instance }

// TargetName is the name of the Deployment of a target.
func TargetName(volume string) string { return volume + "-target" }

// replicas is how many a volume has, or is to have while it is made: later its
// PodDisruptionBudget comes and goes with them.
func (v *Volume) replicas() int {
	if v.Phase == PhaseBound && len(v.Pools) > 0 {
		return len(v.Pools)
	}
	return v.Replicas
}

// WholeGiB is the size that the driver makes of the size of a claim, also in bytes: whole GiB, rounded up. What is no
// size stays as it is, with 0 bytes.
//
// Source: cstor-csi, CreateVolume (size of a volume), 3.6.0.
func WholeGiB(size string) (text string, bytes int64) {
	const gib = 1 << 30
	bytes = quantity.Bytes(size)
	if bytes%gib == 0 {
		return size, bytes
	}
	n := bytes/gib + 1
	return fmt.Sprintf("%dGi", n), n * gib
}

// Objects is what becomes of a volume, in the order in which its parts hang on each other.
func (v *Volume) Objects(stage Stage) []*krm.Object {
	var objects []*krm.Object
	if v.Class != "" && stage >= Unbound {
		objects = append(objects, v.persistentVolume())
	}
	objects = append(objects, v.config(stage))
	if stage == Refused {
		return objects
	}
	objects = append(objects, v.target())
	for i := range v.Pools {
		objects = append(objects, v.replica(&v.Pools[i]))
	}
	objects = append(objects, v.deployment(), v.service())
	if stage >= Unbound && HasBudget(v.replicas()) {
		objects = append(objects, v.budget())
	}
	return objects
}

func (v *Volume) persistentVolume() *krm.Object {
	return krm.Make("v1", "PersistentVolume", "", v.Name, d.F("spec", d.Object(
		d.F("accessModes", d.List(d.Text("ReadWriteOnce"))),
		d.F("capacity", d.Object(d.F("storage", d.Text(v.Size)))),
		d.F("claimRef", d.Object(d.F("kind", d.Text("PersistentVolumeClaim")), d.F("namespace", d.Text(v.Claim.Namespace)), d.F("name", d.Text(v.Claim.Name)))),
		d.F("csi", d.Object(d.F("driver", d.Text(volume.Driver)), d.F("fsType", d.Text(v.FSType)), d.F("volumeHandle", d.Text(v.Name)))),
		d.F("persistentVolumeReclaimPolicy", d.Text(v.Reclaim)),
		d.F("storageClassName", d.Text(v.Class)),
	)))
}

func (v *Volume) config(stage Stage) *krm.Object {
	phase := cmp.Or(v.Phase, "Pending")
	if stage == Bound {
		phase = PhaseBound
	}
	spec := d.Object(
		d.F("capacity", d.Object(d.F("storage", d.Text(v.Size)))),
		d.F("provision", d.Object(
			d.F("capacity", d.Object(d.F("storage", d.Text(v.Size)))),
			d.F("replicaCount", d.Int(int64(v.Replicas))),
		)),
	)
	status := d.Object(d.F("phase", d.Text(phase)))
	policy := mapOf(v.Settings)
	if stage == Bound {
		spec.Set("cstorVolumeRef", d.Object(d.F("kind", d.Text(volume.TargetKind)), d.F("namespace", d.Text(v.Namespace)), d.F("name", d.Text(v.Name))))
		pools, info := d.List(), d.List()
		for _, p := range v.Pools {
			pools.Add(d.Text(p.Name))
			info.Add(d.Object(d.F("poolName", d.Text(p.Name))))
		}
		status.Set("poolInfo", pools)
		policy.Set("replicaPoolInfo", info)
		completeTarget(&policy)
	}
	spec.Set("policy", policy)
	if v.Source != "" {
		spec.Set("cstorVolumeSource", d.Text(v.Source))
	}
	o := v.make(volume.ConfigKind, v.Name, d.F("spec", spec), d.F("status", status))
	o.SetLabel(inventory.LabelPoolCluster, v.Cluster)
	o.SetAnnotation(annotationVolume, v.Name)
	o.SetAnnotation(LabelClaim, v.Claim.Name)
	if v.Policy != "" {
		o.SetAnnotation(annotationPolicy, v.Policy)
	}
	if v.Source != "" {
		name, _ := v.Origin()
		o.SetLabel(labelSource, name)
	}
	if stage == Bound {
		o.SetLabel(labelTemplateHash, Hole("hash of its policy"))
		if HasBudget(v.replicas()) {
			o.SetLabel(LabelBudget, v.budgetName())
		}
	}
	finalizer(o, "cvc.openebs.io/finalizer")
	return o
}

// mapOf copies a map; what is none, or not there, is an empty one.
func mapOf(n *d.Node) d.Node {
	if n.Kind() != d.Map {
		return d.Object()
	}
	return n.Copy()
}

// completeTarget fills in what the operator takes where a policy says nothing.
func completeTarget(policy *d.Node) {
	target := mapOf(policy.Get("target"))
	if target.Get("queueDepth") == nil {
		target.Set("queueDepth", d.Text("32"))
	}
	if target.Get("luWorkers") == nil {
		target.Set("luWorkers", d.Int(6))
	}
	policy.Set("target", target)
}

// Origin is the volume and the snapshot that a clone is made from.
func (v *Volume) Origin() (name, snapshot string) {
	name, snapshot, _ = strings.Cut(v.Source, "@")
	return name, snapshot
}

func (v *Volume) target() *krm.Object {
	replicas, ip := d.Int(int64(v.Replicas)), v.address()
	desired := replicas
	if len(v.Pools) > 0 && v.Phase == PhaseBound { // scaled
		desired = d.Int(int64(len(v.Pools)))
	}
	o := v.make(volume.TargetKind, v.Name, d.F("spec", d.Object(
		d.F("capacity", d.Text(v.Size)),
		d.F("consistencyFactor", d.Int(int64(Quorum(v.Replicas)))),
		d.F("desiredReplicationFactor", desired),
		d.F("iqn", d.Text("iqn.2016-09.com.openebs.cstor:"+v.Name)),
		d.F("replicationFactor", replicas),
		d.F("targetIP", d.Text(ip)),
		d.F("targetPort", d.Text("3260")),
		d.F("targetPortal", d.Text(ip+":3260")),
	)))
	o.SetLabel(labelVolume, v.Name)
	o.SetLabel(LabelClaim, v.Claim.Name)
	o.SetLabel(LabelVersion, v.Version)
	if v.Source != "" {
		name, _ := v.Origin()
		o.SetLabel(labelSource, name)
	}
	owned(o, volume.ConfigKind, v.Name)
	return o
}

// address is that of the Service.
func (v *Volume) address() string { return Hole("IP of the Service") }

func (v *Volume) replica(p *Pool) *krm.Object {
	spec := d.Object(d.F("capacity", d.Text(v.Size)), d.F("targetIP", d.Text(v.address())))
	if workers := v.Settings.Str("replica", "zvolWorkers"); workers != "" {
		spec.Set("zvolWorkers", d.Text(workers))
	}
	o := v.make(pool.ReplicaKind, ReplicaName(v.Name, p.Name), d.F("spec", spec))
	o.SetLabel(pool.LabelInstance, p.Name)
	o.SetLabel(labelInstanceUID, p.UID)
	o.SetLabel(labelVolumeName, v.Name)
	o.SetLabel(labelVolume, v.Name)
	o.SetLabel(LabelVersion, v.Version)
	o.SetAnnotation(pool.AnnotationReplicaHost, p.Host)
	if v.Source != "" {
		name, snapshot := v.Origin()
		o.SetLabel(labelCloned, "true")
		o.SetAnnotation(labelSource, name)
		o.SetAnnotation(annotationSnapshot, snapshot)
	}
	finalizer(o, "cstorvolumereplica.openebs.io/finalizer")
	owned(o, volume.TargetKind, v.Name)
	return o
}

// pods is what the pods of the target are found by.
func (v *Volume) pods() []d.Field {
	return []d.Field{
		d.F("app", d.Text(TargetApp)), d.F(labelTarget, d.Text("cstor-target")), d.F(labelVolume, d.Text(v.Name)),
	}
}

func (v *Volume) deployment() *krm.Object {
	target, containers := v.Settings.Get("target"), d.List()
	for _, c := range [][2]string{{"cstor-istgt", "resources"}, {"maya-volume-exporter", "auxResources"}, {"cstor-volume-mgmt", "auxResources"}} {
		container := d.Object(d.F("name", d.Text(c[0])))
		if resources := target.Get(c[1]); resources != nil {
			container.Set("resources", resources.Copy())
		}
		containers.Add(container)
	}
	pod := d.Object(d.F("containers", containers))
	for _, field := range []string{"tolerations", "nodeSelector", "priorityClassName"} {
		if value := target.Get(field); value != nil {
			pod.Set(field, value.Copy())
		}
	}
	if affinity := target.Get("affinity"); affinity != nil {
		pod.Set("affinity", d.Object(d.F("podAffinity", affinity.Copy())))
	}
	o := krm.Make("apps/v1", "Deployment", v.Namespace, TargetName(v.Name), d.F("spec", d.Object(
		d.F("replicas", d.Int(1)),
		d.F("selector", d.Object(d.F("matchLabels", d.Object(v.pods()...)))),
		d.F("strategy", d.Object(d.F("type", d.Text("Recreate")))),
		d.F("template", d.Object(d.F("metadata", d.Object(d.F("labels", d.Object(v.pods()...)))), d.F("spec", pod))),
	)))
	for _, f := range v.pods() {
		o.SetLabel(f.Key, f.Value.Value())
	}
	o.SetLabel(labelEngine, "cstor")
	o.SetLabel(labelCASType, "cstor")
	o.SetLabel(LabelClaim, v.Claim.Name)
	o.SetLabel(LabelVersion, v.Version)
	o.SetAnnotation("openebs.io/volume-monitor", "true")
	o.SetAnnotation("openebs.io/volume-type", "cstor")
	owned(o, volume.TargetKind, v.Name)
	return o
}

// service is the Service of the target.
//
// Source: cstor-operators, cvc-operator (the Service of a target), 3.6.0.
func (v *Volume) service() *krm.Object {
	ports := d.List()
	for _, p := range []struct {
		name   string
		number int64
	}{{"cstor-iscsi", 3260}, {"cstor-grpc", 7777}, {"mgmt", 6060}, {"exporter", 9500}} {
		ports.Add(d.Object(d.F("name", d.Text(p.name)), d.F("port", d.Int(p.number))))
	}
	o := krm.Make("v1", "Service", v.Namespace, v.Name, d.F("spec", d.Object(
		d.F("clusterIP", d.Text(v.address())),
		d.F("ports", ports),
		d.F("selector", d.Object(v.pods()...)),
	)))
	o.SetLabel(LabelTargetService, "cstor-target-svc")
	o.SetLabel(labelEngine, "cstor")
	o.SetLabel(labelCASType, "cstor")
	o.SetLabel(labelVolume, v.Name)
	o.SetLabel(LabelVersion, v.Version)
	owned(o, volume.ConfigKind, v.Name)
	return o
}

func (v *Volume) budgetName() string {
	return cmp.Or(v.Budget, v.Cluster+Hole("5 random characters"))
}

// budget is the PodDisruptionBudget, which all volumes on the same pools share.
func (v *Volume) budget() *krm.Object {
	names := d.List()
	for _, p := range v.Pools {
		names.Add(d.Text(p.Name))
	}
	o := krm.Make("policy/v1", "PodDisruptionBudget", v.Namespace, v.budgetName(), d.F("spec", d.Object(
		d.F("maxUnavailable", d.Int(1)),
		d.F("selector", d.Object(d.F("matchLabels", d.Object(d.F("app", d.Text("cstor-pool")))), d.F("matchExpressions", d.List(d.Object(
			d.F("key", d.Text(BudgetKey)), d.F("operator", d.Text("In")), d.F("values", names),
		))))),
	)))
	o.SetLabel(inventory.LabelPoolCluster, v.Cluster)
	for _, p := range v.Pools {
		o.SetLabel(BudgetLabel(p.Name), strconv.FormatBool(true))
	}
	return o
}

// make starts an object of cStor, which is of the version of the operators.
func (v *Volume) make(kind, name string, fields ...d.Field) *krm.Object {
	fields = append(fields, d.F("versionDetails", d.Object(
		d.F("desired", d.Text(v.Version)),
		d.F("status", d.Object(d.F("current", d.Text(v.Version)), d.F("dependentsUpgraded", d.Bool(true)))),
	)))
	return krm.Make(pool.APIGroup+"/v1", kind, v.Namespace, name, fields...)
}

func owned(o *krm.Object, kind, name string) {
	o.Node.Get("metadata").Set("ownerReferences", d.List(d.Object(
		d.F("apiVersion", d.Text(pool.APIGroup+"/v1")), d.F("kind", d.Text(kind)), d.F("name", d.Text(name)),
		d.F("uid", d.Text(Hole("uid of the %s", kind))), d.F("controller", d.Bool(true)), d.F("blockOwnerDeletion", d.Bool(true)),
	)))
}

func finalizer(o *krm.Object, name string) {
	o.Node.Get("metadata").Set("finalizers", d.List(d.Text(name)))
}
