package class

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/schema/finding"
)

// Change is what is other than before at a field of a spec, and cannot be.
type Change struct {
	Field string // of the spec
	Text  string // says it of the class, with what to do
}

// Changes are those that a cluster never makes, by the field of the spec that they come from, in the order of the
// fields of the class. at is that field, for one of the class: provisioner, reclaimPolicy, volumeBindingMode, or a
// parameter as parameters.thin.
func (c *Class) Changes(before *Class, at func(field string) string) []Change {
	if before == nil {
		return nil
	}
	var fields []string
	were := map[string][]string{}
	add := func(field, was, is string) {
		if was == is {
			return
		}
		of := at(field)
		if were[of] == nil {
			fields = append(fields, of)
		}
		were[of] = append(were[of], field+" "+cmp.Or(was, "not set"))
	}
	add("provisioner", before.Provisioner, c.Provisioner)
	all := map[string]string{}
	if before.Provisioner == c.Provisioner { // another one has other parameters
		maps.Copy(all, before.Parameters)
		maps.Copy(all, c.Parameters)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		add("parameters."+key, before.Parameters[key], c.Parameters[key])
	}
	add("reclaimPolicy", before.ReclaimPolicy, c.ReclaimPolicy)
	add("volumeBindingMode", before.Binding, c.Binding)
	changes := make([]Change, len(fields))
	for i, field := range fields {
		changes[i] = Change{field, fmt.Sprintf("exists with %s, and a cluster never changes that; set it back, or give the class a new name", finding.Names(were[field]))}
	}
	return changes
}
