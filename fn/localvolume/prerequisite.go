package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

// Rules of findings that say that there are too few disks, or that it is not known.
const (
	fewDisks    = "few-disks"
	noObjects   = "no-objects"
	diskMissing = "disk-missing"
	diskUnknown = "disk-unknown"
)

// agent is what carries Volumes and VolumeGroups out.
func agent() prerequisite.Software {
	return prerequisite.Software{
		Name: "the node agent of Poolwright", Install: "kubectl apply --server-side -k deploy/crds && kubectl apply -k deploy/nodeagent",
		Kinds: []krm.GroupKind{volumeGroupKind(), groupGroupKind()},
	}
}

// Needs implements system.Needer.
func (System) Needs(in system.Input, spec *system.Spec, _ system.Output) prerequisite.Needs {
	disks := &prerequisite.Disks{Short: []string{fewDisks, noObjects, diskMissing}, Unknown: []string{diskUnknown}}
	if spec.Object.Kind != templateKind {
		e := newEntry(in, spec)
		nodes := prerequisite.Nodes{Refuse: prerequisite.Tolerating(place.DaemonTolerations()), Want: 1, For: "volume"}
		if n := in.Facts.Node(e.node()); n != nil {
			nodes.Allowed = []*inventory.Node{n}
		}
		needs := prerequisite.Needs{Nodes: []prerequisite.Nodes{nodes}}
		if len(e.named()) > 0 {
			needs.Disks = disks
		}
		return needs
	}
	t := newTemplate(&rendering{Input: in}, in, spec)
	allowed := slices.DeleteFunc(slices.Clone(in.Facts.Nodes), func(n *inventory.Node) bool {
		return !t.cfg.selects(n) || place.RefuseHostname(n, in.Facts) != ""
	})
	needs := prerequisite.Needs{
		Kinds: []krm.GroupKind{{Group: group, Kind: t.cfg.kind()}},
		Nodes: []prerequisite.Nodes{{Allowed: allowed, Refuse: prerequisite.Tolerating(place.DaemonTolerations()), Want: 1, For: "volume"}},
	}
	if t.cfg.disksEach() > 0 {
		needs.Reports, needs.Disks = &prerequisite.Reports{On: allowed, Agent: true}, disks
	}
	return needs
}
