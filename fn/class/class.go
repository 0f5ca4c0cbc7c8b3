// Package class is StorageClasses as every system renders them: what a cluster never
// changes of one, who uses it, and which one is the default of the cluster.
//
// Source: Kubernetes, Storage Classes, 1.36.
package class

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const (
	group = "storage.k8s.io"
	kind  = "StorageClass"

	// annotationDefault is on the class of claims that name none.
	annotationDefault = "storageclass.kubernetes.io/is-default-class"
)

// Class is a StorageClass.
type Class struct {
	Name                   string
	Default                bool
	Provisioner            string
	Parameters             map[string]string
	ReclaimPolicy, Binding string
	AllowsExpansion        bool
	MountOptions           []string
}

// Kind is the kind of a StorageClass.
func Kind() krm.GroupKind { return krm.GroupKind{Group: group, Kind: kind} }

// ID is the identity of a StorageClass.
func ID(name string) krm.ID { return krm.ID{Group: group, Kind: kind, Name: name} }

// Read reads a StorageClass. What is not set is as the API server has it.
func Read(o *krm.Object) Class {
	c := Class{
		Name: o.Name, Default: o.Annotation(annotationDefault) == "true",
		Provisioner: o.Node.Str("provisioner"), Parameters: o.Node.StrMap("parameters"),
		ReclaimPolicy: cmp.Or(o.Node.Str("reclaimPolicy"), "Delete"), Binding: cmp.Or(o.Node.Str("volumeBindingMode"), "Immediate"),
	}
	c.AllowsExpansion, _ = o.Node.Get("allowVolumeExpansion").Bool()
	for _, option := range o.Node.Seq("mountOptions") {
		c.MountOptions = append(c.MountOptions, option.Value())
	}
	return c
}

// Object makes the StorageClass.
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
		document.F("allowVolumeExpansion", document.Bool(c.AllowsExpansion)),
	)
	if len(c.MountOptions) > 0 {
		options := document.List()
		for _, option := range c.MountOptions {
			options.Add(document.Text(option))
		}
		o.Node.Set("mountOptions", options)
	}
	if c.Default {
		o.SetAnnotation(annotationDefault, "true")
	}
	return o
}

// Before is the class of a name as it was rendered, among some objects, or as it is in the cluster; nil
// where it is free to be anything: what was rendered and is known not to live can still
// change.
func Before(facts *inventory.Facts, rendered []*krm.Object, name string) *Class {
	live := facts.Object(ID(name))
	if live == nil && facts.Tells(group, kind, "") {
		return nil
	}
	if c := Rendered(rendered, name); c != nil {
		return c
	}
	if live == nil {
		return nil
	}
	c := Read(live)
	return &c
}

// Rendered is the class of a name among some objects, or nil.
func Rendered(objects []*krm.Object, name string) *Class {
	for _, o := range objects {
		if o.ID() == ID(name) {
			c := Read(o)
			return &c
		}
	}
	return nil
}

// UserOf names a volume or claim of a class, or is "".
func UserOf(facts *inventory.Facts, name string) string {
	for _, kind := range []string{"PersistentVolume", "PersistentVolumeClaim"} {
		for _, o := range facts.Objects("", kind) {
			if o.Node.Str("spec", "storageClassName") == name {
				return o.Ref.String()
			}
		}
	}
	return ""
}
