package fn

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// Function is the Poolwright function for a set of storage systems. It keeps nothing from
// one call to the next, and may be used by several goroutines.
type Function struct {
	schemas *schema.Schemas
	systems []registered
	kinds   *system.Kinds
	holders map[krm.GroupKind][]system.Holder // who knows which disks an object of a kind holds
}

// registered is a system and what it declares.
type registered struct {
	system.System
	system.Declaration
}

// New makes the function of some systems, which choose in this order.
func New(schemas *schema.Schemas, systems ...system.System) *Function {
	f := &Function{schemas: schemas, kinds: system.NewKinds(systems...), holders: map[krm.GroupKind][]system.Holder{}}
	for _, s := range systems {
		d := system.Declared(s)
		f.systems = append(f.systems, registered{s, d})
		for _, kind := range d.Kinds {
			if kind.Holds {
				f.holders[kind.GroupKind] = append(f.holders[kind.GroupKind], s)
			}
		}
	}
	return f
}

// Kinds are the kinds that the systems declare.
func (f *Function) Kinds() *system.Kinds { return f.kinds }

// Schemas are the definitions that documents are checked against.
func (f *Function) Schemas() *schema.Schemas { return f.schemas }

// of is the system of the spec that an owner annotation names, or nil.
func (f *Function) of(owner string) *registered {
	spec, _ := krm.ParseOwner(owner)
	for i := range f.systems {
		if kind, found := f.systems[i].Kind(spec.GroupKind()); found && kind.Role == system.RoleSpec {
			return &f.systems[i]
		}
	}
	return nil
}

// holding lists the kinds of which objects hold disks, sorted.
func (f *Function) holding() []krm.GroupKind {
	return slices.SortedFunc(maps.Keys(f.holders), krm.GroupKind.Compare)
}

// specRef names the spec that an owner annotation means.
func (f *Function) specRef(owner string) finding.Ref {
	id, _ := krm.ParseOwner(owner)
	kind, found := f.kinds.Find(id.GroupKind())
	if !found {
		return finding.Ref{Kind: "spec", Name: owner}
	}
	return finding.Ref{APIVersion: kind.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}
