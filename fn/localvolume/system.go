// Package localvolume is the system of local volumes: PersistentVolumes on disks of a node,
// whole, in slices of LVM, in partitions or in sparse files. A person writes Volumes and
// VolumeGroups, which are applied as they stand and carried out by the node agent: here they
// are checked, and remembered by a VolumeLock each. A VolumeTemplate renders one on each node.
//
// Source: MetalK8s, storage-operator, commit 1df3d10b.
package localvolume

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

const (
	group        = "storage.metalk8s.scality.com"
	version      = "v1alpha1"
	volumeKind   = "Volume"
	groupKind    = "VolumeGroup"
	ownGroup     = "poolwright.io"
	ownVersion   = "v1alpha1"
	templateKind = "VolumeTemplate"
	lockKind     = "VolumeLock"
	agentKind    = "NodeInventory"
	nodeKind     = "Node"
	pvKind       = "PersistentVolume"
	claimKind    = "PersistentVolumeClaim"

	reportedGroupKind = "LVMGroup" // of a group that only its node has
)

// Annotations that the system reads.
const (
	annotationCascade = "poolwright.io/cascade" // on a VolumeGroup: its Volumes that no claim has go with it
	annotationAdopt   = "poolwright.io/adopt"   // on a Volume: the UUID of data that it takes over

	annotationReclaim = "poolwright.io/reclaim-policy" // on what a lock remembers, for plans: what becomes of the data of a Volume
)

// System is the local volume system.
type System struct{}

func volumeGroupKind() krm.GroupKind { return krm.GroupKind{Group: group, Kind: volumeKind} }

func groupGroupKind() krm.GroupKind { return krm.GroupKind{Group: group, Kind: groupKind} }

func lockGroupKind() krm.GroupKind { return krm.GroupKind{Group: ownGroup, Kind: lockKind} }

func templateGroupKind() krm.GroupKind { return krm.GroupKind{Group: ownGroup, Kind: templateKind} }

func volumeID(name string) krm.ID { return krm.ID{Group: group, Kind: volumeKind, Name: name} }

func groupID(name string) krm.ID { return krm.ID{Group: group, Kind: groupKind, Name: name} }

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "local volumes",
		Kinds: []system.Kind{
			{
				GroupKind: volumeGroupKind(), Version: version, Role: system.RoleSpec, Whole: volumeKind, Applied: true, Stateful: true,
				Plural: "volumes", Cluster: true, Holds: true, Health: true, Events: true, Awaits: awaits,
				Keep: "spec status{phase observedGeneration deviceName size uuid claim " + system.KeepConditions + "}",
				Node: [][]string{{"spec", "nodeName"}},
			},
			{
				GroupKind: groupGroupKind(), Version: version, Role: system.RoleSpec, Whole: groupKind, Applied: true, Stateful: true,
				Plural: "volumegroups", Names: []string{"vg"}, Cluster: true, Holds: true, Health: true, Events: true, Awaits: awaits,
				Keep:        "spec status{phase observedGeneration size free extentSize devices missing volumes uuid " + system.KeepConditions + "}",
				Annotations: []string{annotationCascade},
				Node:        [][]string{{"spec", "nodeName"}},
			},
			{
				GroupKind: templateGroupKind(), Version: ownVersion, Role: system.RoleSpec, Whole: templateKind,
				Plural: "volumetemplates", Names: []string{"vtpl"}, Cluster: true, Health: true,
			},
			{GroupKind: class.Kind(), Role: system.RoleRendered},
			{
				GroupKind: lockGroupKind(), Version: ownVersion, Role: system.RoleLock,
				Plural: "volumelocks", Cluster: true, Holds: true, Health: true,
			},
		},
		Facts: []krm.GroupKind{
			{Kind: nodeKind}, {Kind: pvKind}, {Kind: claimKind}, class.Kind(), volumeGroupKind(), groupGroupKind(),
			{Group: ownGroup, Kind: agentKind}, inventory.DeviceKind(),
		},
		Software: []prerequisite.Software{agent()},
		Roots: []krm.GroupKind{
			templateGroupKind(), {Kind: claimKind}, {Kind: pvKind}, volumeGroupKind(), groupGroupKind(),
			disk.Kind(), inventory.DeviceKind(), {Kind: nodeKind},
		},
		Domains: []string{"metalk8s.scality.com"},
	}
}
