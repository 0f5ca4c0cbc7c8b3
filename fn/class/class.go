// Package class holds what every system keeps of the StorageClasses that it renders: a
// cluster never changes most of a class, one that is used stays, and one of a package is
// the default.
package class

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	group             = "storage.k8s.io"
	kind              = "StorageClass"
	volumeKind        = "PersistentVolume"
	claimKind         = "PersistentVolumeClaim"
	AnnotationDefault = "storageclass.kubernetes.io/is-default-class" // "true" on the class of claims that name none
)

// Class is a StorageClass (storage.k8s.io/v1).
type Class struct {
	Name          string
	Default       bool
	Provisioner   string
	Parameters    map[string]string
	ReclaimPolicy string
	Binding       string // volumeBindingMode
	Expansion     bool   // allowVolumeExpansion
}

// Kind is that of a class.
func Kind() krm.GroupKind { return krm.GroupKind{Group: group, Kind: kind} }

// ID is the identity of the class of a name.
func ID(name string) krm.ID { return krm.ID{Group: group, Kind: kind, Name: name} }

// Read reads a class; what it leaves out is what Kubernetes takes for it.
func Read(o *krm.Object) Class {
	c := Class{
		Name: o.Name, Default: o.Annotation(AnnotationDefault) == "true", Provisioner: o.Node.Str("provisioner"), Parameters: o.Node.StrMap("parameters"),
		ReclaimPolicy: cmp.Or(o.Node.Str("reclaimPolicy"), "Delete"), Binding: cmp.Or(o.Node.Str("volumeBindingMode"), "Immediate"),
	}
	c.Expansion, _ = o.Node.Get("allowVolumeExpansion").Bool()
	return c
}

// Object is the class as it is rendered.
func (c *Class) Object() *krm.Object {
	parameters := document.Object()
	for _, key := range slices.Sorted(maps.Keys(c.Parameters)) {
		parameters.Set(key, document.Text(c.Parameters[key]))
	}
	o := krm.Make(group+"/v1", kind, "", c.Name,
		document.F("provisioner", document.Text(c.Provisioner)),
		document.F("parameters", parameters),
		document.F("reclaimPolicy", document.Text(c.ReclaimPolicy)),
		document.F("volumeBindingMode", document.Text(c.Binding)),
		document.F("allowVolumeExpansion", document.Bool(c.Expansion)),
	)
	if c.Default {
		o.SetAnnotation(AnnotationDefault, "true")
	}
	return o
}

// Before is the class of a name as it lives or was rendered, nil where it is free to be
// anything: what was rendered and is known not to live can still change.
func Before(facts *inventory.Facts, rendered []*krm.Object, name string) *Class {
	live := facts.Object(ID(name))
	if live == nil && facts.Tells(group, kind, "") {
		return nil
	}
	for _, o := range rendered {
		if o.ID() == ID(name) {
			c := Read(o)
			return &c
		}
	}
	if live == nil {
		return nil
	}
	c := Read(live)
	return &c
}

// Changed names what is not as before and a cluster never changes, "" for nothing:
// "parameters (pool)".
func (c *Class) Changed(before *Class) string {
	if before == nil {
		return ""
	}
	var changed []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"provisioner", c.Provisioner == before.Provisioner}, {"parameters", maps.Equal(c.Parameters, before.Parameters)},
		{"reclaimPolicy", c.ReclaimPolicy == before.ReclaimPolicy}, {"volumeBindingMode", c.Binding == before.Binding},
	} {
		if !f.same {
			changed = append(changed, f.name)
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return finding.Names(changed) + differences(c.Parameters, before.Parameters)
}

// differences names the parameters that differ.
func differences(a, b map[string]string) string {
	var keys []string
	for key := range a {
		if a[key] != b[key] {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, found := a[key]; !found {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return " (" + finding.Names(keys) + ")"
}

// User names a volume or claim of a class, or is "".
func User(facts *inventory.Facts, name string) string {
	for _, kind := range []string{volumeKind, claimKind} {
		for _, o := range facts.Objects("", kind) {
			if o.Node.Str("spec", "storageClassName") == name {
				return o.Ref.String()
			}
		}
	}
	return ""
}

// Register is the account of the classes of a package.
type Register struct {
	names     map[string]bool
	byDefault string // the default class, as messages name it
}

// NewRegister opens the account with the classes that no spec renders now.
func NewRegister(held []*krm.Object) *Register {
	r := &Register{names: map[string]bool{}}
	for _, o := range held {
		if o.GroupKind() == Kind() {
			c := Read(o)
			r.add(&c, o.Ref.String())
		}
	}
	return r
}

// Add records a class of a spec. Where it is a second default class, the first is
// returned, as messages name it.
func (r *Register) Add(c *Class, spec finding.Ref) (first string) {
	return r.add(c, finding.Ref{APIVersion: group + "/v1", Kind: kind, Name: c.Name}.String()+" of "+spec.String())
}

func (r *Register) add(c *Class, called string) (first string) {
	r.names[c.Name] = true
	switch {
	case !c.Default:
		return ""
	case r.byDefault == "":
		r.byDefault = called
		return ""
	}
	return r.byDefault
}

// Has reports whether a class is among those of the package, and those that are added.
func (r *Register) Has(name string) bool { return r.names[name] }

// Default is the default class of the package, as messages name it, or "".
func (r *Register) Default() string { return r.byDefault }
