package hypercloud

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// input is what every step of a render reads. What the steps find and choose they write to
// the collector.
type input struct {
	*system.Collector
	system.Input
	owner string
	cfg   config
	whole bool // everything may go
	past
}

// past is the cluster before this run.
type past struct {
	locked *krm.Object // the CephCluster of earlier runs, or nil
	live   *krm.Object // the one that exists, or nil
	unused bool        // what is rendered is known not to live
	prior  []*host     // of both
}

func (in *input) clusterID() krm.ID {
	return krm.ID{Group: cephGroup, Kind: clusterKind, Namespace: in.Object.Namespace, Name: in.Object.Name}
}

// reportAt reports on a field of the spec by its path: keys, and indexes of lists. What is
// not written is reported where the nearest thing around it is.
func (in *input) reportAt(severity finding.Severity, rule string, path []any, format string, args ...any) {
	f := in.Finding(severity, rule, "", fmt.Sprintf(format, args...))
	f.Field = fieldOf(in.Object, path)
	off, _ := written(in.Object, path)
	f.Pos = in.Object.Position(off)
	in.Collect(f)
}

func (in *input) choosing(subject finding.Ref, node string, verdict place.Verdict, reason string) {
	role := ""
	if subject.Kind != nodeKind && (verdict == place.Kept || verdict == place.Chosen || verdict == place.Held) {
		role = "osd"
	}
	in.Decide(subject, node, role, verdict, reason)
}

// before finds an object of earlier runs, or nil.
func (in *input) before(id krm.ID) *krm.Object {
	if i := slices.IndexFunc(in.Before, func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		return in.Before[i]
	}
	return nil
}

// befores are the cluster as it was rendered and as it is in the cluster, as far as they are there.
func (in *input) befores() []*krm.Object {
	if in.unused {
		return nil
	}
	return slices.DeleteFunc([]*krm.Object{in.locked, in.live}, func(o *krm.Object) bool { return o == nil })
}

// isOurs reports whether a live object was rendered for this spec, or by nobody.
func (in *input) isOurs(live *krm.Object) bool {
	return live != nil && (live.Owner() == "" || live.Owner() == in.owner)
}

// mine reports whether a hold on a disk is that of the spec or of its cluster.
func (in *input) mine(h disk.Holder) bool {
	if h.Source != disk.Live {
		return h.Owner == in.owner
	}
	return h.Object.Kind == clusterKind && h.Object.Namespace == in.Object.Namespace && h.Object.Name == in.Object.Name && (h.Owner == "" || h.Owner == in.owner)
}

// lets reports whether a person lets a disk of a host go, or all of them.
func (in *input) lets(h *host, v *device) bool {
	name := in.Object.Name + "/" + h.name
	all, one := in.Consent.Covers(clusterKind, name), in.Consent.Covers(clusterKind, name+"/"+v.last())
	return all || one // both are asked, so that neither is called in vain
}

// selects reports whether the spec allows a node.
func (in *input) selects(n *inventory.Node) bool {
	return selector.MatchesAny(in.cfg.Spec.Storage.NodeSelector.NodeSelectorTerms, n.Object)
}

// refuseNode says why a node gives no disks, or "".
func (in *input) refuseNode(n *inventory.Node) string {
	if !in.selects(n) {
		return "it is not selected by nodeSelector"
	}
	if why := place.RefuseHostname(n, in.Facts); why != "" {
		return why
	}
	return place.RefuseNew(n, in.tolerations("osd"))
}

// tolerations are those of a daemon, and of all.
func (in *input) tolerations(daemon string) []place.Toleration {
	placement := in.cfg.Spec.Ceph.Placement
	return slices.Concat(placement["all"].Tolerations, placement[daemon].Tolerations)
}
