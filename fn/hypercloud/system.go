// Package hypercloud is the system of HyperCloud Storage: a HyperCloudStorage becomes a
// CephCluster of Rook with its pools, filesystems, object stores and classes, and CDI. The
// rendered CephCluster is the lock: it names every disk.
package hypercloud

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// System is the HyperCloud Storage system.
type System struct{ system.FactsOnly }

// Declare implements system.System. In the spec of a CephCluster much else has a place, so
// only fields that are named are kept: what holds a secret need not be called one.
func (System) Declare() system.Declaration {
	const (
		config  = "config{metadataDevice deviceClass osdsPerDevice encryptedDevice}"
		disks   = "useAllDevices deviceFilter devicePathFilter " + config + " devices{name fullpath " + config + "}"
		replica = "replicated{size requireSafeReplicaSize}"
	)
	return system.Declaration{
		Name: "HyperCloud Storage",
		Kinds: []system.Kind{
			{
				GroupKind: gk(ownGroup, specKind), Version: ownVersion, Role: system.RoleSpec, Whole: clusterKind,
				Plural: "hypercloudstorages", Names: []string{"hcs"}, Health: true,
			},
			{
				GroupKind: gk(cephGroup, clusterKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephclusters", Names: []string{"ceph"}, Holds: true, Health: true,
				Keep: "spec{cephVersion{image} dataDirHostPath external{enable} mon{count} storage{useAllNodes " + disks + " nodes{name " + disks + "}" +
					" storageClassDeviceSets{name count}}} status{phase state ceph{health}}",
			},
			{
				GroupKind: gk(cephGroup, poolKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephblockpools", Names: []string{"cephbp"}, Health: true,
				Keep: "spec{failureDomain deviceClass " + replica + "} status{phase}",
			},
			{
				GroupKind: gk(cephGroup, filesystemKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephfilesystems", Names: []string{"cephfs"}, Health: true,
				Keep: "spec{metadataPool{" + replica + "} dataPools{name " + replica + "}} status{phase}",
			},
			{
				GroupKind: gk(cephGroup, subvolumesKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephfilesystemsubvolumegroups", Names: []string{"cephsvg"}, Health: true,
				Keep: "spec{name filesystemName} status{phase}",
			},
			{
				GroupKind: gk(cephGroup, storeKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephobjectstores", Names: []string{"cephos"}, Health: true,
				Keep: "spec{metadataPool{" + replica + "} dataPool{" + replica + "}} status{phase}",
			},
			{
				GroupKind: gk(csiGroup, operatorConfKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "operatorconfigs", Static: true, Keep: "metadata{name}",
			},
			{
				GroupKind: gk(csiGroup, driverKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "drivers", Static: true, Keep: "metadata{name}",
			},
			{GroupKind: gk(storageGroup, classKind), Role: system.RoleRendered},
			{
				GroupKind: gk(snapshotGroup, snapshotKind), Version: "v1", Role: system.RoleRendered,
				Plural: "volumesnapshotclasses", Names: []string{"vsclass"}, Cluster: true, Static: true,
				Keep: "driver deletionPolicy",
			},
			{
				GroupKind: gk(cdiGroup, cdiKind), Version: "v1beta1", Role: system.RoleRendered, Stateful: true,
				Plural: "cdis", Names: []string{"cdi"}, Cluster: true, Health: true,
				Keep: "status{phase}",
			},
			{
				GroupKind: gk(appsGroup, deploymentKind), Version: "v1", Role: system.RoleRendered,
				Plural: "deployments", Names: []string{"deploy"}, Static: true, // every engine knows its health
			},
		},
		Facts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind}, gk(storageGroup, classKind), gk(cephGroup, clusterKind), gk(cephGroup, poolKind),
			gk(cephGroup, filesystemKind), gk(cephGroup, storeKind), gk(cdiGroup, cdiKind),
		},
		Roots: []krm.GroupKind{
			gk(storageGroup, classKind), {Kind: volumeKind}, gk(cephGroup, clusterKind), {Kind: nodeKind}, inventory.DeviceKind(),
		},
		Domains: []string{"rook.io", "kubevirt.io", "ceph.io"},
	}
}
