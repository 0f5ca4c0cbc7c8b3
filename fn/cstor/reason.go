package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Why a node or a disk was chosen, as the lock remembers it: one word in
// CStorClusterPlan spec.nodes[].reason, or CStorClusterStorageSet
// spec.blockDevices[].reason.
const (
	reasonOldest   = "oldest"   // the oldest node that could carry a pool
	reasonZone     = "zone"     // the oldest such node of the zone with the fewest pools
	reasonFit      = "fit"      // the disk that fits the spec and its group best
	reasonReplaced = "replaced" // the disk took the place of another one
	reasonListed   = "listed"   // the spec lists the node
	reasonRoom     = "room"     // the other pools are too full and cannot grow
)

// sayReason is what a word of the lock means, "" for one that is not known.
func sayReason(word string) string {
	switch word {
	case reasonOldest:
		return "it was chosen as the oldest node that could carry a pool"
	case reasonZone:
		return "it was chosen as the oldest node of the zone with the fewest pools"
	case reasonListed:
		return "it was chosen as the spec lists it"
	case reasonFit:
		return "it was chosen as the best fit"
	case reasonReplaced:
		return "it took the place of another disk"
	case standing.Adopted:
		return "it was adopted with an existing pool"
	case standing.Moved:
		return "its pool followed its disks from another node"
	case reasonRoom:
		return "it was chosen since a pool was too full and none could grow"
	}
	return ""
}

// rememberReasons adds to what stays why it was chosen, where the lock tells.
func rememberReasons(choices []place.Choice, lock []*krm.Object) {
	if len(lock) == 0 {
		return
	}
	reasons := make(map[finding.Ref]string, len(choices))
	for _, o := range lock {
		switch o.Kind {
		case clusterPlanKind:
			for _, n := range o.Node.Seq("spec", "nodes") {
				reasons[system.NodeRef(n.Str("name"))] = sayReason(n.Str("reason"))
			}
		case storageSetKind:
			for _, d := range o.Node.Seq("spec", "blockDevices") {
				ref := finding.Ref{APIVersion: deviceVersion, Kind: blockDeviceKind, Namespace: o.Namespace, Name: d.Str("name")}
				reasons[ref] = sayReason(d.Str("reason"))
			}
		}
	}
	for i := range choices {
		c := &choices[i]
		if reason := reasons[c.Subject]; reason != "" && (c.Verdict == place.Kept || c.Verdict == place.Held) {
			c.Reason += "; " + reason
		}
	}
}
