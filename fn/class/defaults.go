package class

import (
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Defaults knows who has made which class the default of a package. All systems that
// render classes share it, as they share the ledger of disks.
type Defaults struct {
	first map[string]string // what is the default of, to which class that is
}

// NewDefaults begins with the classes among manifests that no spec renders now.
func NewDefaults(held []*krm.Object) *Defaults {
	d := &Defaults{first: map[string]string{}}
	if i := slices.IndexFunc(held, func(o *krm.Object) bool {
		return o.GroupKind() == Kind() && o.Annotation(annotationDefault) == "true"
	}); i >= 0 {
		d.first[kind] = held[i].Ref.String()
	}
	return d
}

// Take makes a StorageClass of a spec the default. If another one is that already, it is
// returned as people call it, and stays; else "".
func (d *Defaults) Take(name string, spec finding.Ref) (first string) {
	o := finding.Ref{APIVersion: group + "/v1", Kind: kind, Name: name}
	return d.TakeFor(kind, o, spec)
}

// TakeFor does the same for the default of anything else, such as the
// VolumeSnapshotClasses of one driver.
func (d *Defaults) TakeFor(what string, class, spec finding.Ref) (first string) {
	if first = d.first[what]; first == "" {
		d.first[what] = class.String() + " of " + spec.String()
	}
	return first
}
