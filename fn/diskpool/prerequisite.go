package diskpool

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

// Rules of findings that say that there are too few disks.
const (
	noPools  = "no-pools"
	fewDisks = "few-disks"
)

// mayastor is what makes a pool of a DiskPool.
func mayastor() prerequisite.Software {
	return prerequisite.Software{
		Name: "OpenEBS Mayastor", Install: "https://openebs.io/docs/quickstart-guide/installation", Operator: "operator-diskpool",
		Kinds: []krm.GroupKind{poolGroupKind()},
	}
}

// Needs implements system.Needer.
func (System) Needs(in system.Input, spec *system.Spec, _ system.Output) prerequisite.Needs {
	s := newSet(in, spec)
	allowed := slices.DeleteFunc(slices.Clone(in.Facts.Nodes), func(n *inventory.Node) bool {
		return !s.selects(n) || place.RefuseHostname(n, in.Facts) != ""
	})
	nodes := prerequisite.Nodes{Allowed: allowed, Refuse: prerequisite.Tolerating(place.DaemonTolerations()), Want: 1, For: "pool"}
	for _, class := range s.cfg.Spec.StorageClasses {
		if class.Replicas > nodes.Want {
			nodes.Want, nodes.For = class.Replicas, "replica"
		}
	}
	needs := prerequisite.Needs{
		Kinds: []krm.GroupKind{poolGroupKind()}, Nodes: []prerequisite.Nodes{nodes},
		Reports: &prerequisite.Reports{On: allowed, Agent: true}, Disks: &prerequisite.Disks{Short: []string{noPools, fewDisks}},
	}
	if len(in.Facts.Objects(ownGroup, agentKind)) == 0 {
		needs.Kinds = append(needs.Kinds, inventory.DeviceKind())
	}
	return needs
}
