package class

import (
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Defaults knows the classes of a package, and who has made which the default. All systems that
// render classes share it, as they share the ledger of disks.
type Defaults struct {
	first map[string]string // what is the default of, to which class that is
	names map[string]bool   // of all StorageClasses
}

// NewDefaults begins with the classes among manifests that no spec renders now.
func NewDefaults(held []*krm.Object) *Defaults {
	d := &Defaults{first: map[string]string{}, names: map[string]bool{}}
	for _, o := range held {
		if o.GroupKind() == Kind() {
			d.Know(o.Name)
		}
	}
	if i := slices.IndexFunc(held, func(o *krm.Object) bool {
		return o.GroupKind() == Kind() && o.Annotation(annotationDefault) == "true"
	}); i >= 0 {
		d.first[kind] = held[i].Ref.String()
	}
	return d
}

// Know records that a spec renders a StorageClass, default or not.
func (d *Defaults) Know(name string) { d.names[name] = true }

// Knows reports whether a manifest or a spec that has chosen has a StorageClass.
func (d *Defaults) Knows(name string) bool { return d.names[name] }

// Taken reports whether there is a default StorageClass.
func (d *Defaults) Taken() bool { return d.first[kind] != "" }

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
