// Package hypercloud is the system of HyperCloud Storage: a HyperCloudStorage becomes a
// CephCluster of Rook with its pools, filesystems, object stores and classes, and CDI. The
// rendered CephCluster is the lock: it names every disk.
//
// Source: Rook, Documentation and deploy/examples, 1.14 to 1.21.
// Source: containerized-data-importer, definition of CDI, 1.66.
package hypercloud

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// System is the HyperCloud Storage system.
type System struct{ system.FactsOnly }

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "HyperCloud Storage",
		Kinds: []system.Kind{
			{
				GroupKind: gk(ownGroup, specKind), Version: ownVersion, Role: system.RoleSpec, Whole: clusterKind,
				Plural: "hypercloudstorages", Names: []string{"hcs"}, Health: true, State: true, Removal: wipe,
			},
			{
				GroupKind: gk(cephGroup, clusterKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephclusters", Names: []string{"ceph"}, Holds: true, Grows: true, Converts: true, Health: true,
				Keep: keepCluster, Awaits: awaits,
			},
			{
				GroupKind: gk(cephGroup, poolKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephblockpools", Names: []string{"cephbp"}, Health: true,
				Keep: keepPool, Awaits: awaits,
			},
			{
				GroupKind: gk(cephGroup, filesystemKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephfilesystems", Names: []string{"cephfs"}, Health: true,
				Keep: keepFilesystem, Awaits: awaits,
			},
			{
				GroupKind: gk(cephGroup, subvolumesKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephfilesystemsubvolumegroups", Names: []string{"cephsvg"}, Health: true,
				Keep: keepSubvolumes, Awaits: awaits,
			},
			{
				GroupKind: gk(cephGroup, storeKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "cephobjectstores", Names: []string{"cephos"}, Health: true,
				Keep: keepStore, Awaits: awaits,
			},
			{
				GroupKind: gk(csiGroup, operatorConfKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "operatorconfigs", Static: true, Keep: keepNothing,
			},
			{
				GroupKind: gk(csiGroup, driverKind), Version: "v1", Role: system.RoleRendered, Stateful: true,
				Plural: "drivers", Static: true, Keep: keepNothing,
			},
			{GroupKind: gk(storageGroup, classKind), Role: system.RoleRendered},
			{GroupKind: gk(snapshotGroup, snapshotKind), Role: system.RoleRendered},
			{
				GroupKind: gk(cdiGroup, cdiKind), Version: "v1beta1", Role: system.RoleRendered, Stateful: true,
				Plural: "cdis", Names: []string{"cdi"}, Cluster: true, Health: true,
				Keep: keepCDI, Awaits: awaits,
			},
			{GroupKind: gk(appsGroup, deploymentKind), Role: system.RoleRendered, Untried: true, Only: deploymentNames(), Annotations: []string{osdReplace, osdReady}},
			{GroupKind: gk(definitionGroup, definitionKind), Stateful: true, Only: definitionNames()},
			// Whoever may write these may have their engine apply anything. A release that goes takes what it installed along; the others leave it.
			{GroupKind: gk("helm.toolkit.fluxcd.io", "HelmRelease"), Role: system.RoleRendered, Untried: true, Stateful: true},
			{GroupKind: gk("source.toolkit.fluxcd.io", "HelmRepository"), Role: system.RoleRendered, Untried: true},
			{GroupKind: gk("source.toolkit.fluxcd.io", "OCIRepository"), Role: system.RoleRendered, Untried: true},
			{GroupKind: gk("kustomize.toolkit.fluxcd.io", "Kustomization"), Role: system.RoleRendered, Untried: true},
			{GroupKind: gk("argoproj.io", "Application"), Role: system.RoleRendered, Untried: true},
		},
		Facts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind}, gk(storageGroup, classKind), gk(cephGroup, clusterKind), gk(cephGroup, poolKind),
			gk(cephGroup, filesystemKind), gk(cephGroup, subvolumesKind), gk(cephGroup, storeKind), gk(cdiGroup, cdiKind), gk(csiGroup, operatorConfKind),
			gk(csiGroup, driverKind), gk(snapshotGroup, snapshotKind), gk(appsGroup, deploymentKind), gk(definitionGroup, definitionKind),
		},
		Software: software(),
		Roots: []krm.GroupKind{
			gk(ownGroup, specKind), {Kind: claimKind}, {Kind: volumeKind}, gk(storageGroup, classKind), gk(cephGroup, poolKind),
			gk(cephGroup, filesystemKind), gk(cephGroup, storeKind), gk(cephGroup, clusterKind), {Kind: nodeKind}, inventory.DeviceKind(),
		},
		Domains: []string{"rook.io", "kubevirt.io", "ceph.io"},
	}
}
