package system

import (
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
)

// Shared declares the kinds that no system brings: those of Kubernetes, and the
// NodeInventory of our own node agent.
type Shared struct{ FactsOnly }

// Groups of the shared kinds.
const (
	storageGroup    = "storage.k8s.io"
	snapshotGroup   = "snapshot.storage.k8s.io"
	admissionGroup  = "admissionregistration.k8s.io"
	definitionGroup = "apiextensions.k8s.io"
	ownGroup        = "poolwright.io"
)

// secretNames are the parameters of a class that name the Secrets of its driver. They can
// never be changed, so that a render compares them.
const secretNames = "csi.storage.k8s.io/provisioner-secret-name csi.storage.k8s.io/provisioner-secret-namespace " +
	"csi.storage.k8s.io/controller-expand-secret-name csi.storage.k8s.io/controller-expand-secret-namespace " +
	"csi.storage.k8s.io/controller-publish-secret-name csi.storage.k8s.io/controller-publish-secret-namespace " +
	"csi.storage.k8s.io/controller-modify-secret-name csi.storage.k8s.io/controller-modify-secret-namespace " +
	"csi.storage.k8s.io/node-stage-secret-name csi.storage.k8s.io/node-stage-secret-namespace " +
	"csi.storage.k8s.io/node-publish-secret-name csi.storage.k8s.io/node-publish-secret-namespace"

// Declare implements System. Of a kind in whose spec much has a place only fields that
// are named are kept: what holds a secret need not be called one.
func (Shared) Declare() Declaration {
	return Declaration{
		Name: "Kubernetes",
		Kinds: []Kind{
			{
				GroupKind: krm.GroupKind{Kind: "Node"}, Version: "v1", Role: RoleFact,
				Plural: "nodes", Names: []string{"node", "no"}, Cluster: true, Selected: true,
				// Why a node is not ready is said with "3m2s ago"; the reason is enough.
				Keep: "spec{unschedulable taints{key value effect}} status{allocatable{hugepages-2Mi} nodeInfo{kernelVersion} conditions[type=Ready]{type status reason lastTransitionTime}}",
			},
			// Whatever happens to a cluster, this Namespace is there, and keeps its uid.
			{GroupKind: krm.GroupKind{Kind: "Namespace"}, Version: "v1", Plural: "namespaces", Cluster: true, Static: true, Only: []string{"kube-system"}, Identity: true},
			{GroupKind: disk.Kind(), Plural: "disks", Names: []string{"disk"}, Cluster: true, Static: true}, // by serial number, WWN, link or path
			{
				GroupKind: krm.GroupKind{Kind: "PersistentVolume"}, Version: "v1", Role: RoleFact,
				Plural: "persistentvolumes", Names: []string{"pv"}, Cluster: true, Reports: true,
				// Of each source what identifies its disk. Drivers, iSCSI and Cinder name Secrets beside it.
				Keep: "spec{csi{driver volumeHandle} local{path} hostPath{path type} " +
					"gcePersistentDisk{pdName partition} awsElasticBlockStore{volumeID partition} cinder{volumeID} azureDisk{diskURI} vsphereVolume{volumePath} " +
					"fc{targetWWNs lun wwids} iscsi{targetPortal portals iqn lun} nodeAffinity claimRef{namespace name} storageClassName persistentVolumeReclaimPolicy} status{phase}",
			},
			{
				GroupKind: krm.GroupKind{Kind: "PersistentVolumeClaim"}, Version: "v1",
				Plural: "persistentvolumeclaims", Names: []string{"pvc"},
				Keep:        "spec{accessModes volumeMode storageClassName resources volumeName dataSource} status{phase capacity conditions[type=FileSystemResizePending]{type status}}",
				Annotations: []string{inventory.AnnotationSelectedNode},
			},
			{
				GroupKind: krm.GroupKind{Group: storageGroup, Kind: "VolumeAttachment"}, Version: "v1",
				Plural: "volumeattachments", Cluster: true, Health: true, Awaits: awaitsAttached,
				// An attacher notes the time of each attempt, and may hand over passwords.
				Keep: "spec{attacher nodeName source{persistentVolumeName}} status{attached attachmentMetadata{LUN} attachError{message} detachError{message}}",
			},
			{
				GroupKind: krm.GroupKind{Group: storageGroup, Kind: "StorageClass"}, Version: "v1",
				Plural: "storageclasses", Names: []string{"sc"}, Cluster: true, Static: true,
				// Of the parameters those that the storage systems know which are served: any
				// other may hold a password.
				Keep:        "provisioner parameters{cas-type cstorPoolCluster replicaCount cstorVolumePolicy repl protocol thin maxSnapshots stsAffinityGroup poolAffinityTopologyLabel poolHasTopologyKey nodeAffinityTopologyLabel nodeHasTopologyKey nodeSpreadTopologyKey clusterID pool fsName type fsType csi.storage.k8s.io/fstype mkfsOptions imageFormat imageFeatures storage volgroup topolvm.io/device-class " + secretNames + "} reclaimPolicy volumeBindingMode allowVolumeExpansion",
				Annotations: []string{"storageclass.kubernetes.io/is-default-class"},
			},
			{
				GroupKind: krm.GroupKind{Group: storageGroup, Kind: "CSIDriver"}, Version: "v1", Role: RoleFact,
				Plural: "csidrivers", Cluster: true,
				Keep: "spec{attachRequired}",
			},
			{GroupKind: krm.GroupKind{Group: storageGroup, Kind: "CSINode"}, Version: "v1", Role: RoleFact, Plural: "csinodes", Cluster: true},
			{
				GroupKind: krm.GroupKind{Group: "apps", Kind: "Deployment"}, Version: "v1",
				Plural: "deployments", Names: []string{"deploy"}, Static: true, // every engine knows its health
				// The tag of an image says of which release an operator is.
				Keep: "spec{template{spec{containers{image}}}} status{readyReplicas conditions[type=Available]{type status reason lastTransitionTime}}",
			},
			{
				GroupKind: krm.GroupKind{Group: "apps", Kind: "StatefulSet"}, Version: "v1",
				Plural: "statefulsets", Names: []string{"sts"}, Static: true,
				Keep: "spec{replicas template{spec{containers{name}}}} status{readyReplicas}",
			},
			{
				GroupKind: krm.GroupKind{Group: "apps", Kind: "DaemonSet"}, Version: "v1",
				Plural: "daemonsets", Names: []string{"ds"}, Static: true,
				Keep: "spec{template{spec{containers{name}}}} status{desiredNumberScheduled numberReady}",
			},
			{
				GroupKind: krm.GroupKind{Group: snapshotGroup, Kind: "VolumeSnapshotClass"}, Version: "v1",
				Plural: "volumesnapshotclasses", Names: []string{"vsclass"}, Cluster: true, Static: true,
				Keep: "driver deletionPolicy parameters{clusterID}",
			},
			{
				GroupKind: krm.GroupKind{Group: snapshotGroup, Kind: "VolumeSnapshot"}, Version: "v1",
				Plural: "volumesnapshots", Names: []string{"vs"},
				Keep: "spec{source volumeSnapshotClassName} status{readyToUse restoreSize}",
			},
			{
				GroupKind: krm.GroupKind{Group: admissionGroup, Kind: "ValidatingWebhookConfiguration"}, Version: "v1",
				Plural: "validatingwebhookconfigurations", Cluster: true,
				Keep: "webhooks{name rules{resources} timeoutSeconds failurePolicy}",
			},
			{
				// Of Argo CD, which does not know the health of one of its own in a wave.
				GroupKind: krm.GroupKind{Group: "argoproj.io", Kind: "Application"}, Version: "v1alpha1",
				Plural: "applications", Names: []string{"app"}, Health: true, Awaits: awaitsSynced,
			},
			{
				GroupKind: inventory.NodeInventoryKind(), Version: "v1alpha1", Role: RoleFact,
				Plural: "nodeinventories", Names: []string{"ni"}, Cluster: true, Reports: true,
				Keep: "spec status", Node: [][]string{{"metadata", "name"}},
			},
			{
				GroupKind: krm.GroupKind{Group: definitionGroup, Kind: "CustomResourceDefinition"}, Version: "v1",
				Plural: "customresourcedefinitions", Names: []string{"crd"}, Cluster: true, Tells: TellsDefinitions,
				Keep: "spec{versions{name served storage schema{openAPIV3Schema{properties{spec{properties@}}}}}} status{conditions[type=Established]{type status reason}}",
			},
			{
				GroupKind: krm.GroupKind{Kind: inventory.EventKind}, Version: "v1", Role: RoleFact,
				Plural: "events", Tells: TellsEvents,
				// Neither when nor how often: that changes while nothing else does.
				Keep: "involvedObject{apiVersion kind namespace name uid} type reason message",
			},
			// What configures what engines apply; each knows the status of its own.
			{GroupKind: krm.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}, Version: "v1", Plural: "kustomizations", Names: []string{"ks"}, Static: true},
			{GroupKind: krm.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}, Version: "v2", Plural: "helmreleases", Names: []string{"hr"}, Static: true},
			{GroupKind: krm.GroupKind{Group: "source.toolkit.fluxcd.io", Kind: "HelmRepository"}, Version: "v1", Plural: "helmrepositories", Names: []string{"helmrepo"}, Static: true},
			{GroupKind: krm.GroupKind{Group: "source.toolkit.fluxcd.io", Kind: "OCIRepository"}, Version: "v1", Plural: "ocirepositories", Names: []string{"ocirepo"}, Static: true},
		},
		Domains: []string{"poolwright.io", "pv.kubernetes.io", "volume.kubernetes.io", "volume.beta.kubernetes.io"},
	}
}

// FactsOnly is embedded by a System that renders nothing: of what it declares is read
// what is in the cluster, and what Holds says of it.
type FactsOnly struct{}

// Holds implements Holder.
func (FactsOnly) Holds(*krm.Object) []disk.Hold { return nil }

// Start implements Renderer.
func (FactsOnly) Start(Input, []*Spec) Rendering { return nothing{} }

// Assess implements Assessor.
func (FactsOnly) Assess(*inventory.Facts, *disk.Ledger, *change.Change) {}

// Status implements Reporter.
func (FactsOnly) Status(_ *inventory.Facts, spec *Spec, _ Output) health.Status {
	return health.Status{Spec: spec.Object.Ref}
}

// Tree implements Mapper.
func (FactsOnly) Tree(*inventory.Facts, *disk.Ledger, krm.ID) []*health.Tree { return nil }

// Storage implements Survivor.
func (FactsOnly) Storage(*inventory.Facts, *disk.Ledger) resilience.Storage {
	return resilience.Storage{}
}

// nothing renders nothing.
type nothing struct{}

func (nothing) Keep() {}

func (nothing) Choose() []Output { return nil }
