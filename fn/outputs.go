package fn

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// output is what a system makes of one spec.
type output struct {
	system.Output
	system *registered
	spec   *system.Spec
	kept   map[*disk.Disk]bool // of a spec with a lock: the disks that are in what is rendered
}

// chosen is what the systems made of the specs, and the account of disks afterwards.
type chosen struct {
	outputs  []output
	leave    departures
	in       system.Input // what they were made from
	handover *handover
	failed   bool // nothing is written

	renderings []system.Rendering // after their Choose
}

// outputs has every system keep what is there, and then each choose in turn. A disk of the
// lock that a spec turns out not to choose again is free for all: they start without
// it, so that no later render finds it free first. So is one of a spec that leaves.
func (pkg *prepared) outputs(facts *inventory.Facts, selected, left []*system.Spec) *chosen {
	given := map[grip]bool{}
	held, manifests := pkg.held(left, facts), pkg.manifests()
	holdings := pkg.function.holdings(pkg.classified, facts)
	handover := newHandover(pkg, facts, holdings.locked)
	for {
		ledger := holdings.open(pkg.function, facts, given)
		if handover.forget(ledger) {
			continue
		}
		handover.hold(ledger)
		in := system.Input{
			Facts: facts, Disks: ledger, Defaults: class.NewDefaults(held), Held: held,
			Manifests: manifests, Partial: pkg.part, OwnOrder: pkg.policy.Order == "own", Engine: pkg.policy.Engine,
			DrainVolumes: pkg.policy.Drain.Volumes,
			Unsound:      pkg.unsoundObjects(),
		}
		outputs, leave, renderings := pkg.choose(in, selected, left)
		if slices.ContainsFunc(outputs, func(o output) bool { return finding.Failed(o.Findings) }) {
			return &chosen{outputs, leave, in, handover, true, renderings}
		}
		more := pkg.abandoned(ledger, holdings, outputs, given)
		handover.giveUp(ledger, leave, given, more)
		if len(more) == 0 {
			return &chosen{outputs, leave, in, handover, false, renderings}
		}
		maps.Copy(given, more)
	}
}

// findings are those of every spec, and of those that are gone.
func (c *chosen) findings() (all []finding.Finding) {
	for i := range c.outputs {
		all = append(all, c.outputs[i].Findings...)
	}
	for _, findings := range c.leave {
		all = append(all, findings...)
	}
	return all
}

func (pkg *prepared) choose(in system.Input, selected, left []*system.Spec) ([]output, departures, []system.Rendering) {
	systems := pkg.function.systems
	renderings := make([]system.Rendering, len(systems))
	for i := range systems {
		renderings[i] = systems[i].Start(in, systems[i].of(selected))
	}
	for _, r := range renderings {
		r.Keep()
	}
	var outputs []output
	for i := range systems {
		specs := systems[i].of(selected)
		if follower, follows := renderings[i].(system.Follower); follows {
			follower.Follow(followed(outputs, left))
		}
		for j, out := range renderings[i].Choose() {
			outputs = append(outputs, output{Output: out, system: &systems[i], spec: specs[j]})
		}
	}
	leave := departures{}
	for _, owner := range pkg.ownersWithoutSpec() {
		id, _ := krm.ParseOwner(owner)
		for i := range systems {
			leaver, leaves := renderings[i].(system.Leaver)
			if kind, found := systems[i].Kind(id.GroupKind()); leaves && found && kind.Role == system.RoleSpec && !pkg.partial {
				leave[owner] = leaver.Leave(system.Gone{ID: id, Before: pkg.lock[owner]})
			}
		}
	}
	return outputs, leave, renderings
}

// departures are the specs that are gone, by the owner key of what was rendered for them, of
// which a system says itself whether that may go, too: what speaks against it, and what is to
// be known of it.
type departures map[string][]finding.Finding

// followed are the specs that chose, and those that are left as they are.
func followed(outputs []output, left []*system.Spec) []system.Followed {
	all := make([]system.Followed, 0, len(outputs)+len(left))
	for _, o := range outputs {
		all = append(all, system.Followed{Spec: o.spec, Output: o.Output})
	}
	for _, spec := range left {
		out := system.Output{}
		for _, o := range spec.Before {
			out.Objects = append(out.Objects, gitops.Object{Object: o})
		}
		all = append(all, system.Followed{Spec: spec, Output: out})
	}
	return all
}
