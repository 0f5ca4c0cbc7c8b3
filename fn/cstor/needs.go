package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

// Rules of findings that say that there are too few disks.
const (
	awaitingDevices = "awaiting-devices"
	noDefinition    = "no-definition" // and why: nothing can report any
)

// operators are those of cStor, of which the one of pools is needed here.
func operators() prerequisite.Software {
	return prerequisite.Software{
		Name: "OpenEBS cStor", Install: "https://openebs.io/docs/3.10.x/user-guides/cstor", Operator: "cspc-operator",
		Kinds: []krm.GroupKind{{Group: cstorGroup, Kind: poolClusterKind}},
	}
}

// Needs implements system.Needer.
func (System) Needs(in system.Input, spec *system.Spec, out system.Output) prerequisite.Needs {
	c := newCluster(spec, in.Facts, pool.LiveOf(in.Facts), in.Disks, in.DrainVolumes).input
	needs := prerequisite.Needs{
		Kinds: []krm.GroupKind{{Group: deviceGroup, Kind: blockDeviceKind}, {Group: cstorGroup, Kind: poolClusterKind}},
		Nodes: []prerequisite.Nodes{{Allowed: c.allowedAnyway(), Refuse: c.refuseNew, Want: c.fewest(), For: "pool"}},
		More:  []prerequisite.Check{c.webhook(out)},
	}
	// Cloud disks are reported once they are attached.
	local := slices.DeleteFunc(c.allowedAnyway(), func(n *inventory.Node) bool { return c.settings(n.Name).external() })
	if len(local) > 0 || !c.cfg.Spec.OnlyListed && !c.cfg.general.external() {
		needs.Reports, needs.Disks = &prerequisite.Reports{On: local}, &prerequisite.Disks{Short: []string{awaitingDevices, noDefinition}}
	}
	return needs
}

// allowedAnyway lists the nodes that the spec selects, whether or not they run pods.
func (in *input) allowedAnyway() []*inventory.Node {
	return slices.DeleteFunc(slices.Clone(in.facts.Nodes), func(n *inventory.Node) bool {
		return !in.allows(n, n.Name) || place.RefuseHostname(n, in.facts) != ""
	})
}

// refuseNew says why a node gets no new pool now, or "".
func (in *input) refuseNew(n *inventory.Node) string {
	return place.RefuseNew(n, in.settings(n.Name).tolerations)
}

// fewest is how many pools there have to be: without minPoolCount one is enough.
func (in *input) fewest() int {
	if least := in.cfg.Spec.MinPoolCount; least != nil {
		return *least
	}
	return max(1, len(in.cfg.listed), len(in.standing.Nodes()))
}

// webhook is the check that the webhook of cStor has the time for every step of the clusters that are
// rendered, or are to be.
func (in *input) webhook(out system.Output) prerequisite.Check {
	check := prerequisite.Check{Check: "webhook"}
	if !in.state.Timeout.Known {
		check.Result = prerequisite.Unknown
		check.Message = "no " + webhookConfigurationKind + " of cStor is known, so its timeoutSeconds is not"
		check.Remedy = "see timeoutSeconds: kubectl get validatingwebhookconfigurations -o yaml"
		return check
	}
	s := in.cfg.general
	kind := admission.Kind{Disks: s.disks(), Growth: s.expansionDisks(), Group: s.groupSize, Replaces: s.raidType != pool.Stripe}
	var late []string
	longest := admission.Timeout{}
	for _, of := range in.forecast(out) {
		for _, edit := range kind.Edits(of.pools, !of.live) {
			if in.state.Timeout.Allows(edit.Cost) {
				continue
			}
			late = append(late, fmt.Sprintf("%s of CStorPoolCluster %s needs %s", edit.Name, of.name, edit.Cost.Said()))
			enough, _ := admission.Enough(edit.Cost)
			longest.Seconds = max(longest.Seconds, enough.Seconds)
		}
	}
	if len(late) == 0 {
		check.Result, check.Message = prerequisite.OK, "the cStor webhook has the time for every step: it "+in.state.Timeout.Given()
		return check
	}
	check.Result = prerequisite.Warning
	check.Message = strings.Join(late, "; ") + "; the cStor webhook " + in.state.Timeout.Given() + " (timeoutSeconds)"
	check.Remedy = fmt.Sprintf("set timeoutSeconds: %d in its %s", longest.Seconds, webhookConfigurationKind)
	if most := admission.Longest(); longest.Seconds > most.Seconds {
		check.Remedy = fmt.Sprintf("write a lower maxDisksPerCluster: timeoutSeconds: %d, the longest, is too short as well", most.Seconds)
	}
	return check
}

// foreseen is a CStorPoolCluster, with the disks of each of its pools.
type foreseen struct {
	name  string
	pools []int
	live  bool
}

// forecast lists the CStorPoolClusters that are rendered; where there is none yet, the first with the
// fewest pools that the spec wants.
func (in *input) forecast(out system.Output) []foreseen {
	var all []foreseen
	for i := range out.Objects {
		o := out.Objects[i].Object
		if o.GroupKind() != (krm.GroupKind{Group: cstorGroup, Kind: poolClusterKind}) {
			continue
		}
		f := foreseen{name: o.Name, live: in.facts.Object(o.ID()) != nil}
		for _, p := range pool.DecodeCluster(o).Pools {
			f.pools = append(f.pools, len(p.Disks()))
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		pools := defaultPools
		if least := in.cfg.Spec.MinPoolCount; least != nil {
			pools = *least
		}
		if most := in.cfg.Spec.PoolConfig.MaxDisksPerCluster; most > 0 {
			pools = min(pools, max(1, most/in.cfg.general.disks()))
		}
		all = []foreseen{{name: in.name, pools: slices.Repeat([]int{in.cfg.general.disks()}, pools)}}
	}
	slices.SortFunc(all, func(a, b foreseen) int { return cmp.Compare(a.name, b.name) })
	return all
}
