// Package cstorvolume is the system of the volumes of cStor: a CStorVolumeClass says on
// which pool cluster volumes are, how many copies they have and which ones applications
// claim, and becomes a StorageClass, the CStorVolumePolicy that it names, a class of
// snapshots, and the claims.
//
// Source: cstor-csi, CreateVolume (parameters of a class), 3.6.0.
package cstorvolume

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/system"
)

const (
	ownGroup      = "poolwright.io"
	ownVersion    = "v1alpha1"
	specKind      = "CStorVolumeClass"
	policyKind    = chain.PolicyKind
	claimKind     = "PersistentVolumeClaim"
	volumeKind    = "PersistentVolume"
	snapshotGroup = "snapshot.storage.k8s.io"
	snapshotKind  = "VolumeSnapshot"
	snapshotClass = "VolumeSnapshotClass"
	driver        = volume.Driver

	annotationDefaultSnapshots = "snapshot.storage.kubernetes.io/is-default-class"
)

// Parameters of a class by which the driver of cStor makes its volumes.
const (
	parameterType     = "cas-type"
	parameterCluster  = "cstorPoolCluster"
	parameterReplicas = "replicaCount"
	parameterPolicy   = "cstorVolumePolicy"
	parameterFSType   = "csi.storage.k8s.io/fstype"
)

// System is the system of the volumes of cStor.
type System struct{}

func policyGroupKind() krm.GroupKind { return krm.GroupKind{Group: pool.APIGroup, Kind: policyKind} }

func snapshotsGroupKind() krm.GroupKind {
	return krm.GroupKind{Group: snapshotGroup, Kind: snapshotClass}
}

func claimID(namespace, name string) krm.ID {
	return krm.ID{Kind: claimKind, Namespace: namespace, Name: name}
}

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "cStor volumes",
		Kinds: []system.Kind{
			{
				GroupKind: krm.GroupKind{Group: ownGroup, Kind: specKind}, Version: ownVersion, Role: system.RoleSpec, Whole: specKind, Lapses: true,
				Plural: "cstorvolumeclasses", Names: []string{"cvcl"}, Health: true,
			},
			{
				GroupKind: policyGroupKind(), Version: "v1", Role: system.RoleRendered, Static: true,
				Plural: "cstorvolumepolicies", Names: []string{"cvp"}, Keep: "spec",
			},
			// What the operators make for a volume beside its own kinds, and the operator itself, for
			// its version.
			{
				GroupKind: krm.GroupKind{Kind: "Service"}, Version: "v1", Plural: "services", Names: []string{"svc"},
				Keep: "spec{ports{name port} selector}", Labelled: "openebs.io/target-service", Owners: true,
			},
			{
				GroupKind: krm.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}, Version: "v1", Plural: "poddisruptionbudgets", Names: []string{"pdb"},
				Keep: "spec{maxUnavailable selector}", Labelled: inventory.LabelPoolCluster, Owners: true,
			},
			{GroupKind: krm.GroupKind{Group: "apps", Kind: "Deployment"}, Only: []string{"*-target", "*" + volume.Operator}, Owners: true},
			// Where the CSI driver runs, with its containers.
			{GroupKind: krm.GroupKind{Group: "apps", Kind: volume.ControllerKind}, Only: []string{"*cstor-csi-controller"}},
			{GroupKind: krm.GroupKind{Group: "apps", Kind: volume.NodeDriverKind}, Only: []string{"*cstor-csi-node"}},
			{GroupKind: class.Kind(), Role: system.RoleRendered},
			{GroupKind: snapshotsGroupKind(), Role: system.RoleRendered},
			{GroupKind: krm.GroupKind{Kind: claimKind}, Role: system.RoleRendered, Stateful: true},
		},
		Facts: []krm.GroupKind{
			{Kind: claimKind}, {Kind: volumeKind}, class.Kind(), policyGroupKind(), {Group: snapshotGroup, Kind: snapshotKind},
			{Group: pool.APIGroup, Kind: pool.ClusterKind}, {Group: pool.APIGroup, Kind: pool.InstanceKind},
			{Group: pool.APIGroup, Kind: volume.ConfigKind}, {Group: pool.APIGroup, Kind: volume.TargetKind}, {Group: pool.APIGroup, Kind: pool.ReplicaKind},
			{Kind: "Node"}, {Group: pool.APIGroup, Kind: volume.AttachmentKind}, {Group: "storage.k8s.io", Kind: "VolumeAttachment"},
			{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: volume.ControllerKind}, {Group: "apps", Kind: volume.NodeDriverKind},
		},
		Software: []prerequisite.Software{volumes(), prerequisite.Snapshots()},
		Domains:  []string{"openebs.io"},
	}
}

// Holds implements system.Holder: volumes are on pools, and hold no disks.
func (System) Holds(*krm.Object) []disk.Hold { return nil }

// Tree implements system.Mapper. From the class over claims and volumes down to the disks
// it is part of what hangs on a pool cluster, and the system of that shows it.
func (System) Tree(*inventory.Facts, *disk.Ledger, krm.ID) []*health.Tree { return nil }

// Storage implements system.Survivor. Volumes are those of the pools, and the system of these judges them.
func (System) Storage(*inventory.Facts, *disk.Ledger) resilience.Storage { return resilience.Storage{} }
