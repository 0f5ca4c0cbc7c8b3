package system

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/schema"
)

// Kinds are the kinds that a set of systems declares, each once, in the order of the
// declarations.
type Kinds struct {
	declarations []Declaration
	all          []Kind
	index        map[krm.GroupKind]int
}

// NewKinds joins the declarations of systems.
func NewKinds(systems ...System) *Kinds {
	k := &Kinds{index: map[krm.GroupKind]int{}}
	for _, s := range systems {
		d := Declared(s)
		k.declarations = append(k.declarations, d)
		for _, kind := range d.Kinds {
			k.add(kind)
		}
	}
	k.add(diskLock())
	k.readOperators()
	for i := range k.all {
		switch teller := &k.all[i]; teller.Tells {
		case TellsDefinitions:
			for _, kind := range k.where(k.needsDefinition) {
				teller.Only = append(teller.Only, kind.Plural+"."+kind.Group)
			}
		case TellsEvents:
			for _, kind := range k.where(func(kind *Kind) bool { return kind.Events }) {
				teller.About = append(teller.About, kind.GroupKind)
			}
		}
	}
	return k
}

// readOperators has a snapshot read the operators of the software of the systems.
func (k *Kinds) readOperators() {
	i, known := k.index[krm.GroupKind{Group: "apps", Kind: "Deployment"}]
	if !known {
		return
	}
	for _, s := range k.Software() {
		if s.Operator != "" && !slices.Contains(k.all[i].Only, "*"+s.Operator) {
			k.all[i].Only = append(k.all[i].Only, "*"+s.Operator)
		}
	}
	k.all[i].OnlyBy = prerequisite.OperatorLabels()
}

// needsDefinition reports whether a snapshot has the definition of a kind: its versions matter to a render, or a
// spec needs it in a cluster.
func (k *Kinds) needsDefinition(kind *Kind) bool {
	return kind.Definition || slices.ContainsFunc(k.Software(), func(s prerequisite.Software) bool { return s.Brings(kind.GroupKind) })
}

// Software lists what people install for the systems.
func (k *Kinds) Software() []prerequisite.Software {
	var all []prerequisite.Software
	for i := range k.declarations {
		all = append(all, k.declarations[i].Software...)
	}
	return all
}

// add joins what one system says of a kind to what others said before: it is what it is
// to the system to which it is most.
func (k *Kinds) add(kind Kind) {
	i, known := k.index[kind.GroupKind]
	if !known {
		k.index[kind.GroupKind] = len(k.all)
		k.all = append(k.all, kind)
		return
	}
	joined, other := kind, k.all[i]
	if !kind.described() {
		joined, other = other, kind
	}
	joined.Role = max(joined.Role, other.Role)
	joined.Stateful = joined.Stateful || other.Stateful
	joined.Reports = joined.Reports || other.Reports
	joined.Holds = joined.Holds || other.Holds
	joined.ByName = joined.ByName || other.ByName
	joined.Strict = cmp.Or(joined.Strict, other.Strict)
	joined.Only = slices.Concat(k.all[i].Only, kind.Only)
	joined.Annotations = slices.Concat(k.all[i].Annotations, kind.Annotations)
	joined.Owners = joined.Owners || other.Owners
	joined.Definition = joined.Definition || other.Definition
	joined.Events = joined.Events || other.Events
	joined.Partial = joined.Partial || other.Partial
	joined.Untried = joined.Untried || other.Untried
	joined.Converts = joined.Converts || other.Converts
	joined.Applied = joined.Applied || other.Applied
	joined.Counted = joined.Counted || other.Counted
	if joined.Awaits == nil {
		joined.Awaits = other.Awaits
	}
	k.all[i] = joined
}

// All lists every kind.
func (k *Kinds) All() []Kind { return slices.Clone(k.all) }

// Find returns a kind.
func (k *Kinds) Find(kind krm.GroupKind) (Kind, bool) {
	i, known := k.index[kind]
	if !known {
		return Kind{}, false
	}
	return k.all[i], true
}

// In lists the kinds of some roles.
func (k *Kinds) In(roles ...Role) []Kind {
	return k.where(func(kind *Kind) bool { return slices.Contains(roles, kind.Role) })
}

// Rendered lists the kinds of what is rendered.
func (k *Kinds) Rendered() []Kind { return k.where((*Kind).rendered) }

// rendered reports whether specs become objects of the kind.
func (k *Kind) rendered() bool { return k.Role == RoleRendered || k.Role == RoleLock || k.Applied }

// Converted lists the kinds of whose objects specs can be made.
func (k *Kinds) Converted() []Kind { return k.where(func(kind *Kind) bool { return kind.Converts }) }

// Applied lists the kinds of what engines apply: what is rendered, whole or in part.
func (k *Kinds) Applied() []Kind {
	return k.where(func(kind *Kind) bool { return kind.rendered() || kind.Partial })
}

// Partial reports whether only a few fields of objects of a kind are rendered.
func (k *Kinds) Partial(kind krm.GroupKind) bool {
	found, _ := k.Find(kind)
	return found.Partial
}

// Tried reports whether a plan tries objects of a kind in a dry run. What people's own
// manifests bring may be of any kind, and is not.
func (k *Kinds) Tried(kind krm.GroupKind) bool {
	found, known := k.Find(kind)
	return known && (found.rendered() || found.Partial) && !found.Untried
}

// Own lists Poolwright's own kinds: those of specs, and of the lock. They have a status
// of ours, but for specs of which a controller writes it.
func (k *Kinds) Own() []Kind {
	return k.where(func(kind *Kind) bool { return kind.Role == RoleSpec && !kind.Applied || kind.Role == RoleLock })
}

// Read lists the kinds that a snapshot reads.
func (k *Kinds) Read() []Kind { return k.read(func(*Kind) bool { return true }) }

// Status lists the kinds of fact that rendering, the risks of a change and statuses are
// made of.
func (k *Kinds) Status() []Kind {
	named := map[krm.GroupKind]bool{}
	for i := range k.declarations {
		for _, kind := range k.declarations[i].Facts {
			named[kind] = true
		}
	}
	return k.read(func(kind *Kind) bool {
		return named[kind.GroupKind] || kind.Reports || kind.Holds || kind.Tells != TellsOfItself
	})
}

// Tree lists the kinds of fact that trees are made of.
func (k *Kinds) Tree() []Kind {
	kinds := append(k.Status(), k.Roots()...)
	return k.read(func(kind *Kind) bool {
		return slices.ContainsFunc(kinds, func(other Kind) bool { return other.GroupKind == kind.GroupKind })
	})
}

// FactsOf lists the kinds of fact that the specs among some objects look at.
func (k *Kinds) FactsOf(objects []*krm.Object) []krm.GroupKind {
	there := map[krm.GroupKind]bool{}
	for _, o := range objects {
		there[o.GroupKind()] = true
	}
	var facts []krm.GroupKind
	for i := range k.declarations {
		d := &k.declarations[i]
		if slices.ContainsFunc(d.Specs(), func(kind Kind) bool { return there[kind.GroupKind] }) {
			facts = append(facts, d.Facts...)
		}
	}
	slices.SortFunc(facts, krm.GroupKind.Compare)
	return slices.Compact(facts)
}

// Domains lists those whose labels and annotations controllers act on.
func (k *Kinds) Domains() []string {
	var domains []string
	for i := range k.declarations {
		domains = append(domains, k.declarations[i].Domains...)
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

// DryRuns says what a server-side dry run does all the same, a sentence a system.
func (k *Kinds) DryRuns() []string {
	var all []string
	for i := range k.declarations {
		if text := k.declarations[i].DryRun; text != "" {
			all = append(all, text)
		}
	}
	return all
}

// IsFact reports whether an object is of a kind that only a cluster has.
func (k *Kinds) IsFact(o *krm.Object) bool {
	kind, known := k.Find(o.GroupKind())
	return known && kind.Role == RoleFact
}

// Stateful reports whether an object may hold data to the system that rendered it. So may
// one of an owner that is not known.
func (k *Kinds) Stateful(o *krm.Object) bool {
	owner, _ := krm.ParseOwner(o.RenderedFor())
	for i := range k.declarations {
		d := &k.declarations[i]
		if kind, found := d.Kind(owner.GroupKind()); found && kind.Role == RoleSpec {
			return d.Stateful(o)
		}
	}
	return true
}

// Specs lists the specs among objects.
func (k *Kinds) Specs(objects []*krm.Object) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool { return !k.IsSpec(o.GroupKind()) })
}

// IsSpec reports whether a kind is one of spec.
func (k *Kinds) IsSpec(kind krm.GroupKind) bool {
	found, known := k.Find(kind)
	return known && found.Role == RoleSpec
}

// IsApplied reports whether a kind is one of spec that is applied as it stands.
func (k *Kinds) IsApplied(kind krm.GroupKind) bool {
	found, known := k.Find(kind)
	return known && found.Role == RoleSpec && found.Applied
}

// Roots lists the kinds that a tree may start at, from the top of a tree to its bottom.
func (k *Kinds) Roots() []Kind {
	var roots []Kind
	seen := map[krm.GroupKind]bool{}
	for i := range k.declarations {
		for _, root := range k.declarations[i].Roots {
			if kind, known := k.Find(root); known && !seen[root] {
				seen[root] = true
				roots = append(roots, kind)
			}
		}
	}
	return roots
}

// Root finds the kind that a tree may start at by what a person calls it.
func (k *Kinds) Root(name string) (Kind, error) {
	var known, all []string
	for _, kind := range k.Roots() {
		if kind.IsCalled(name) {
			return kind, nil
		}
		known = append(known, kind.Kind)
		all = append(append(append(all, kind.Kind), kind.Names...), kind.Plural)
	}
	return Kind{}, fmt.Errorf("no tree starts at a %q%s; it can at %s", name, schema.DidYouMean(name, all), strings.Join(known, ", "))
}

// IsCalled reports whether a person means the kind by a name.
func (k *Kind) IsCalled(name string) bool {
	name = strings.ToLower(name)
	return name == strings.ToLower(k.Kind) || name == k.Plural || slices.Contains(k.Names, name)
}

func (k *Kinds) where(holds func(*Kind) bool) []Kind {
	return slices.DeleteFunc(k.All(), func(kind Kind) bool { return !holds(&kind) })
}

// read lists those of the kinds that a snapshot reads: of those that are about others, only
// what some system asks for.
func (k *Kinds) read(holds func(*Kind) bool) []Kind {
	return k.where(func(kind *Kind) bool {
		asked := kind.Tells == TellsOfItself || len(kind.Only) > 0 || len(kind.About) > 0
		return (kind.Keep != "" || kind.Identity) && asked && holds(kind)
	})
}

// SystemOf is what people call the system that brings a kind, "" for a kind of no system.
func (k *Kinds) SystemOf(kind krm.GroupKind) string {
	for i := range k.declarations {
		if _, found := k.declarations[i].Kind(kind); found && k.declarations[i].Name != "" {
			return k.declarations[i].Name
		}
	}
	return ""
}
