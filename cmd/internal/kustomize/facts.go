package kustomize

import (
	"regexp"
	"strconv"

	"sigs.k8s.io/kustomize/api/resource"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// facts keep inventory files away from kustomize, which takes a minute for what
// is read here in a tenth of a second. It gets the identity of each Inventory,
// and the function gets the file itself. That is only right as long as nothing
// in the kustomization looks inside: if a patch or the like names Inventory, the
// build starts again without this.
type facts struct {
	enabled   bool
	files     map[string][]byte // the stubs of each file, by its path; nil for a file that is left as it is
	byStub    []*krm.Object
	mentioned bool // by something that is not an inventory file
}

const (
	inventoryKind  = "Inventory"
	inventoryGroup = "poolwright.io"
	annotationStub = "poolwright.io/inventory-stub"
)

var kindInventory = regexp.MustCompile(`kind["']?\s*:\s*["']?Inventory\b`)

// read returns what kustomize gets to see of a file.
func (f *facts) read(path string, data []byte) []byte {
	if !f.enabled || !kindInventory.Match(data) {
		return data
	}
	stubs, known := f.files[path]
	if !known {
		stubs = f.stubs(path, data)
		f.files[path] = stubs
	}
	if stubs == nil {
		f.mentioned = true
		return data
	}
	return stubs
}

// stubs returns a file of stubs for a file of nothing but inventories that are
// dropped from the output anyway, and nil for any other.
func (f *facts) stubs(path string, data []byte) []byte {
	objects, err := krm.Parse(&document.Source{Name: path, Data: data})
	if err != nil || len(objects) == 0 {
		return nil
	}
	for _, o := range objects {
		if o.Kind != inventoryKind || o.Group() != inventoryGroup || o.Annotation(krm.AnnotationLocalConfig) != "true" || o.Name == "" {
			return nil
		}
	}
	var out []byte
	for _, o := range objects {
		stub := krm.Make(o.APIVersion, o.Kind, o.Namespace, o.Name)
		for _, field := range []string{"labels", "annotations"} {
			if m := o.Node.Get("metadata", field); m != nil {
				stub.Node.Get("metadata").Set(field, *m)
			}
		}
		annotations := *stub.Node.Get("metadata", "annotations")
		annotations.SetFields(append(annotations.Fields()[:len(annotations.Fields()):len(annotations.Fields())],
			document.F(annotationStub, document.Text(strconv.Itoa(len(f.byStub))))))
		stub.Node.Get("metadata").Set("annotations", annotations)
		f.byStub = append(f.byStub, o)
		out = document.Append(append(out, "---\n"...), stub.Node, 0)
	}
	return out
}

// used reports whether kustomize got a stub.
func (f *facts) used() bool { return len(f.byStub) > 0 }

// object returns what a stub stands for, and nil if it is none.
func (f *facts) object(r *resource.Resource, shown string) *krm.Object {
	i, err := strconv.Atoi(r.GetAnnotations()[annotationStub])
	if err != nil || i < 0 || i >= len(f.byStub) {
		return nil
	}
	o := f.byStub[i]
	o.Source.Name = shown
	return o
}
