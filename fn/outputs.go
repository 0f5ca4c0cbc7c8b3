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
}

// grip is a disk that the lock of a spec holds: a block device, or a disk by its identity.
type grip struct {
	owner    string
	device   inventory.Key
	identity string
}

func gripOf(owner string, h disk.Hold) grip {
	if h.Device.Name != "" {
		return grip{owner: owner, device: h.Device}
	}
	return grip{owner: owner, identity: h.Identity.String()}
}

// outputs has every system keep what is there, and then each choose in turn. A disk of the
// lock that a spec turns out not to choose again is free for all: they start anew without
// it, so that no later render finds it free first.
func (pkg *prepared) outputs(facts *inventory.Facts, selected, left []*system.Spec) []output {
	given := map[grip]bool{}
	held, manifests := pkg.held(left, facts), pkg.manifests()
	for {
		ledger := pkg.function.ledger(pkg.classified, facts, given)
		outputs := pkg.choose(system.Input{
			Facts: facts, Disks: ledger, Defaults: class.NewDefaults(held), Held: held,
			Manifests: manifests, Partial: pkg.part, OwnOrder: pkg.policy.Order == "own",
		}, selected, left)
		if slices.ContainsFunc(outputs, func(o output) bool { return finding.Failed(o.Findings) }) {
			return outputs // nothing is written
		}
		more := pkg.function.abandoned(ledger, outputs, given)
		if len(more) == 0 {
			return outputs
		}
		maps.Copy(given, more)
	}
}

func (pkg *prepared) choose(in system.Input, selected, left []*system.Spec) []output {
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
			outputs = append(outputs, output{out, &systems[i], specs[j]})
		}
	}
	return outputs
}

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

// abandoned lists the disks that the lock of a spec holds, and that are in what is rendered
// under no name any more.
func (f *Function) abandoned(ledger *disk.Ledger, outputs []output, given map[grip]bool) map[grip]bool {
	more := map[grip]bool{}
	for _, o := range outputs {
		owner := o.spec.Object.OwnerKey()
		kept := map[*disk.Disk]bool{}
		for _, rendered := range o.Objects {
			for _, h := range f.holds(rendered.Object) {
				for _, d := range ledger.Named(h) {
					kept[d] = true
					for _, other := range d.Others() {
						kept[other] = true
					}
				}
			}
		}
		left := func(d *disk.Disk) bool { return !kept[d] }
		for _, before := range o.spec.Before {
			for _, h := range f.holds(before) {
				if !given[gripOf(owner, h)] && slices.ContainsFunc(ledger.Named(h), left) {
					more[gripOf(owner, h)] = true
				}
			}
		}
	}
	return more
}

// ledger is the account of disks before anybody chooses: who holds them by what lives, what
// was rendered before, but for what was given up, and what people wrote.
func (f *Function) ledger(pkg *classified, facts *inventory.Facts, given map[grip]bool) *disk.Ledger {
	ledger := disk.NewLedger(facts)
	for _, owner := range pkg.owners {
		for _, o := range pkg.lock[owner] {
			for _, h := range f.holds(o) {
				if given[gripOf(owner, h)] {
					ledger.Named(h) // what it is known by stays known
					continue
				}
				ledger.Add(disk.Holder{Object: f.specRef(owner), Owner: owner, Source: disk.Lock}, []disk.Hold{h})
			}
		}
	}
	for _, kind := range f.holding() {
		for _, o := range facts.Objects(kind.Group, kind.Kind) {
			ledger.Add(disk.Holder{Object: o.Ref, Owner: o.Owner(), Source: disk.Live}, f.holds(o))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(pkg.others), krm.ID.Compare) {
		o := pkg.others[id]
		ledger.Add(disk.Holder{Object: o.Ref, Owner: o.Owner(), Source: disk.Manifest}, f.holds(o))
	}
	return ledger
}

// holds lists the disks that an object holds, as the systems know it.
func (f *Function) holds(o *krm.Object) []disk.Hold {
	var holds []disk.Hold
	for _, h := range f.holders[o.GroupKind()] {
		holds = append(holds, h.Holds(o)...)
	}
	return holds
}
