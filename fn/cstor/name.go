package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// names derives the names of what is rendered for one spec, whose own these are.
type names struct{ namespace, name string }

func (n names) storageSet(node string) string { return record.SetName(n.name, node) }

func (n names) storage(node string, r record.Role, index int) string {
	return record.StorageName(n.name, node, r, index)
}

func (n names) claimID(storage string) krm.ID {
	return krm.ID{Kind: volumeClaimKind, Namespace: n.namespace, Name: storage}
}

func (n names) storageID(storage string) krm.ID {
	return krm.ID{Group: daoGroup, Kind: storageKind, Namespace: n.namespace, Name: storage}
}

// storage is the name of a volume of a node, which keeps it when the pool goes elsewhere.
func (e *existing) storage(node string, r record.Role, index int) string {
	return e.names.storage(e.standing.VolumesOf(node), r, index)
}

func (n names) storageRef(storage string) finding.Ref {
	return finding.Ref{APIVersion: daoVersion, Kind: storageKind, Namespace: n.namespace, Name: storage}
}

func (n names) deviceRef(device string) finding.Ref {
	return finding.Ref{APIVersion: deviceVersion, Kind: blockDeviceKind, Namespace: n.namespace, Name: device}
}
