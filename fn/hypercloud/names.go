package hypercloud

import (
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
)

// Groups and kinds of what is rendered.
const (
	ownGroup         = "hcs.tmax.io"
	ownVersion       = "v1alpha1"
	specKind         = "HyperCloudStorage"
	cephGroup        = "ceph.rook.io"
	cephVersion      = cephGroup + "/v1"
	clusterKind      = "CephCluster"
	poolKind         = "CephBlockPool"
	filesystemKind   = "CephFilesystem"
	subvolumesKind   = "CephFilesystemSubVolumeGroup"
	storeKind        = "CephObjectStore"
	csiGroup         = "csi.ceph.io"
	operatorConfKind = "OperatorConfig"
	driverKind       = "Driver"
	cdiGroup         = "cdi.kubevirt.io"
	cdiKind          = "CDI"
	storageGroup     = "storage.k8s.io"
	classKind        = "StorageClass"
	snapshotGroup    = "snapshot.storage.k8s.io"
	snapshotKind     = "VolumeSnapshotClass"
	appsGroup        = "apps"
	deploymentKind   = "Deployment"
	nodeKind         = "Node"
	volumeKind       = "PersistentVolume"
	claimKind        = "PersistentVolumeClaim"
)

// Names of what Rook and CDI have one of.
const (
	cdiName            = "cdi"
	toolboxName        = "rook-ceph-tools"
	dataPoolName       = "replicated" // of a filesystem
	subvolumesName     = "csi"        // in a filesystem
	operatorConfName   = "ceph-csi-operator-config"
	imageSetName       = "rook-csi-operator-image-set-configmap" // of Rook, with the images of the CSI drivers
	rbdProvisioner     = "rook-csi-rbd-provisioner"              // Secrets that Rook makes in the namespace of the cluster
	rbdNode            = "rook-csi-rbd-node"
	cephfsProvisioner  = "rook-csi-cephfs-provisioner"
	cephfsNode         = "rook-csi-cephfs-node"
	monSecret          = "rook-ceph-mon"
	monEndpointsConfig = "rook-ceph-mon-endpoints"
)

// rbdDriver and cephfsDriver are the CSI drivers below the namespace of an operator.
func rbdDriver(operatorNamespace string) string { return operatorNamespace + ".rbd.csi.ceph.com" }

func cephfsDriver(operatorNamespace string) string { return operatorNamespace + ".cephfs.csi.ceph.com" }

// subvolumes is the name of the CephFilesystemSubVolumeGroup of a filesystem.
func subvolumes(filesystem string) string { return filesystem + "-csi" }

// level is when something is applied: what is of a lower level has to be there first. It is
// the Stage of an object, and the folder that it lies in.
type level int

const (
	levelDefinitions level = iota // namespaces and definitions
	levelRoles                    // roles, priority classes, ConfigMaps
	levelOperators                // and the snapshot controller
	levelCluster                  // the CephCluster, after the CSI drivers
	levelPools                    // and filesystems and object stores
	levelClasses                  // of volumes and snapshots
	levelCDI
	levelToolbox
)

// levels lists all of them, in order.
func levels() []level {
	return []level{levelDefinitions, levelRoles, levelOperators, levelCluster, levelPools, levelClasses, levelCDI, levelToolbox}
}

// String is the folder of the level, below that of its spec.
func (l level) String() string {
	words := []string{"crds", "roles", "operators", "cluster", "pools", "classes", "cdi", "toolbox"}
	return strconv.Itoa(int(l)) + "-" + words[l]
}

// word is the level without its number.
func (l level) word() string {
	_, word, _ := strings.Cut(l.String(), "-")
	return word
}

func gk(group, kind string) krm.GroupKind { return krm.GroupKind{Group: group, Kind: kind} }
