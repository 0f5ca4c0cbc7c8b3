package localvolume

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// classObject finds a StorageClass among what people wrote and the facts, or nil.
func classObject(facts *inventory.Facts, manifests []*krm.Object, name string) *krm.Object {
	if i := slices.IndexFunc(manifests, func(o *krm.Object) bool { return o.ID() == class.ID(name) }); i >= 0 {
		return manifests[i]
	}
	return facts.Object(class.ID(name))
}

// classOf reads it.
func classOf(facts *inventory.Facts, manifests []*krm.Object, name string) *class.Class {
	o := classObject(facts, manifests, name)
	if o == nil {
		return nil
	}
	found := class.Read(o)
	return &found
}

// reclaimPolicy is what becomes of the data of a Volume: as its PersistentVolume says or is to say, as
// its class says, or said when it was rendered, or "" where nothing is known.
func reclaimPolicy(facts *inventory.Facts, manifests []*krm.Object, v *volume) string {
	policy := v.template.Str("spec", "persistentVolumeReclaimPolicy")
	if pv := persistentOf(facts, v.name).object; pv != nil {
		policy = cmp.Or(pv.Node.Str("spec", "persistentVolumeReclaimPolicy"), policy)
	}
	if c := classOf(facts, manifests, v.class); policy == "" && c != nil {
		policy = cmp.Or(c.ReclaimPolicy, "Delete")
	}
	return cmp.Or(policy, v.reclaim)
}
