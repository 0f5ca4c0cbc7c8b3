package fn

import (
	"github.com/poolwright/poolwright/fn/krm"
)

// postpone leaves a render to the next one that changes more, if it changes nothing but that locks lose what
// is over (system.Kind.Passing): neither an engine nor an operator would see the commit.
func (r *reconciler) postpone() {
	kept := map[krm.ID]wanted{}
	for owner, objects := range r.pkg.lock {
		spec := r.pkg.spec(owner)
		for _, o := range objects {
			kind, _ := r.pkg.kinds.Find(o.GroupKind())
			switch w, found := r.wanted[o.ID()]; {
			case found && !w.changed:
			case found && len(kind.Passing) > 0:
				if left := kind.Without(o.Node, w.Object.Node); !sameContent(&krm.Object{Node: &left}, w.Object) {
					return
				}
				w.Object, w.changed = o, false
				kept[o.ID()] = w
			case !found && kind.Passes && spec != nil:
				kept[o.ID()] = wanted{Rendered: Rendered{Path: keptPath(spec, o), Object: o}, spec: spec}
			default:
				return
			}
		}
	}
	if len(kept) == 0 {
		return
	}
	for id, w := range r.wanted {
		if _, also := kept[id]; w.changed && !also {
			return
		}
	}
	for id, w := range kept {
		r.wanted[id] = w
	}
}
