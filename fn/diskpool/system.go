// Package diskpool is the system of Mayastor DiskPools: a DiskPoolSet says on which nodes
// and disks pools are wanted, and becomes one DiskPool a disk and the StorageClasses of
// the set. The rendered DiskPools are the lock.
//
// Source: mayastor-control-plane, k8s/operators/src/pool, 2.0 to 2.12.
// Source: mayastor-control-plane, control-plane/csi-driver (parameters of a class), 2.12.
package diskpool

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

const (
	ownGroup   = "poolwright.io"
	ownVersion = "v1alpha1"
	setKind    = "DiskPoolSet"
	group      = "openebs.io"
	poolKind   = "DiskPool"
	nodeKind   = "Node"
	agentKind  = "NodeInventory"
	volumeKind = "PersistentVolume"
	claimKind  = "PersistentVolumeClaim"
	driver     = "io.openebs.csi-mayastor" // the CSI driver of Mayastor
)

// Keys that the system reads and writes.
const (
	annotationDisk     = "poolwright.io/disk"         // on a DiskPool: wwn=...,serial=...,size=<bytes>
	annotationChosen   = "poolwright.io/chosen"       // on a DiskPool: why its node and its disk were chosen
	annotationReplace  = "poolwright.io/replace"      // on a set: DiskPool/<name>[,...]
	annotationReplaces = "poolwright.io/replaces"     // on a DiskPool: the name of the one that it takes the place of
	annotationTags     = "openebs.io/allowed-bd-tags" // on a set: tags of BlockDevices that do not exclude them
	labelSet           = "poolwright-set"             // of a pool; a slash would break routes of Mayastor to 2.12
	labelEngine        = "openebs.io/engine"
	engine             = "mayastor"
)

// System is the DiskPool system.
type System struct{}

func poolGroupKind() krm.GroupKind { return krm.GroupKind{Group: group, Kind: poolKind} }

// Declare implements system.System.
func (System) Declare() system.Declaration {
	return system.Declaration{
		Name: "DiskPool",
		Kinds: []system.Kind{
			{
				GroupKind: krm.GroupKind{Group: ownGroup, Kind: setKind}, Version: ownVersion, Role: system.RoleSpec, Whole: setKind,
				Plural: "diskpoolsets", Names: []string{"dps"}, Health: true,
			},
			{
				GroupKind: poolGroupKind(), Version: "v1beta3", Role: system.RoleRendered, Stateful: true,
				Plural: "diskpools", Names: []string{"dsp"}, Holds: true, Converts: true, Health: true, Definition: true, Events: true,
				Keep: "spec{node disks topology encryptionConfig{source{secret{name}}} maxExpansion clusterSize cluster_size} " +
					"status{cr_state pool_status status error{code message} errorInfo{error{code message} alerts alertError} " + system.KeepConditions + "}",
				Used: []string{"status", "used"}, Total: []string{"status", "capacity"},
				Node:        [][]string{{"spec", "node"}},
				Annotations: []string{annotationDelete}, Awaits: awaits,
			},
			{GroupKind: class.Kind(), Role: system.RoleRendered},
		},
		Facts:    []krm.GroupKind{{Kind: nodeKind}, {Kind: volumeKind}, {Kind: claimKind}, class.Kind(), poolGroupKind()},
		Software: []prerequisite.Software{prerequisite.NDM(), mayastor()},
		Roots: []krm.GroupKind{
			class.Kind(), {Kind: volumeKind}, poolGroupKind(), {Kind: nodeKind}, inventory.DeviceKind(), disk.Kind(),
		},
		Domains: []string{"openebs.io"},
	}
}
