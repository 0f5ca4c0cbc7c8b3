package cstorvolume

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

const installCStor = "https://openebs.io/docs/3.10.x/user-guides/cstor"

// volumes is what makes volumes on the pools of cStor.
func volumes() prerequisite.Software {
	return prerequisite.Software{
		Name: "OpenEBS cStor", Install: installCStor, Operator: volume.Operator,
		Kinds: []krm.GroupKind{policyGroupKind(), {Group: pool.APIGroup, Kind: volume.ConfigKind}},
	}
}

// Needs implements system.Needer.
func (System) Needs(in system.Input, spec *system.Spec, _ system.Output) prerequisite.Needs {
	needs := prerequisite.Needs{Kinds: []krm.GroupKind{{Group: pool.APIGroup, Kind: volume.ConfigKind}}, More: driverParts(in.Facts)}
	cfg, err := readConfig(spec)
	pools := pool.LiveOf(in.Facts).Instances(spec.Object.Namespace, cfg.Spec.Cluster)
	if err != nil || len(pools) == 0 {
		return needs // the nodes are those of the pools to come
	}
	// The pods of the pools are there, and their taints tolerated.
	nodes := prerequisite.Nodes{Refuse: prerequisite.Tolerating([]place.Toleration{{Operator: "Exists"}}), Want: cmp.Or(cfg.Spec.ReplicaCount, min(3, len(pools))), For: "replica"}
	for _, p := range pools {
		if on := in.Facts.Host(p.Hostname); len(on) == 1 && !slices.Contains(nodes.Allowed, on[0]) {
			nodes.Allowed = append(nodes.Allowed, on[0])
		}
	}
	slices.SortFunc(nodes.Allowed, func(a, b *inventory.Node) int { return strings.Compare(a.Name, b.Name) })
	needs.Nodes = []prerequisite.Nodes{nodes}
	return needs
}

// driverParts are the checks of the CSI driver, one for each of its parts. Without the operator of volumes, of which
// there is a check, nothing is known of them.
func driverParts(facts *inventory.Facts) []prerequisite.Check {
	if !volume.Installed(facts) {
		return nil
	}
	lacks := volume.Lacks(facts)
	return []prerequisite.Check{
		partOf(facts, lacks, volume.ControllerKind, volume.ControllerName),
		partOf(facts, lacks, volume.NodeDriverKind, volume.NodeDriverName),
	}
}

// partOf is the check of one part of the CSI driver. What is lacking and lets volumes be made and used is a warning.
func partOf(facts *inventory.Facts, lacks []volume.Lack, kind, name string) prerequisite.Check {
	check := prerequisite.Check{Result: prerequisite.OK, Check: "operator/" + name, Message: "ready, with every container"}
	if !facts.Has(krm.GroupKind{Group: "apps", Kind: kind}) {
		check.Result, check.Message = prerequisite.Unknown, "no "+kind+" is known, so the CSI driver of cStor is not"
		check.Remedy = "refresh the inventory with poolwright inventory"
	}
	var said []string
	for i := range lacks {
		lack := &lacks[i]
		if lack.Object.Kind != kind {
			continue
		}
		if check.Result = prerequisite.Warning; !lack.Later || slices.ContainsFunc(lacks[:i], func(l volume.Lack) bool { return l.Object.Kind == kind && !l.Later }) {
			check.Result = prerequisite.Failed
		}
		said = append(said, lack.String())
		check.Message = strings.Join(said, "; ")
		check.Remedy = "install the CSI driver again as the release of cStor has it: " + installCStor
	}
	return check
}
