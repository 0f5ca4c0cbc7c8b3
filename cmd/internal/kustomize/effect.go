package kustomize

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// addedFile holds what a function adds.
const addedFile = "added.yaml"

// difference says what a function did as a component does it: resources that
// are added, and patches for what was changed or removed. It is nil if that is
// nothing. As the last step of a build it adds nothing that is local-config: kustomize
// would drop it, and takes minutes for thousands of objects. What was there before may
// be read by a var.
func difference(before, after []*krm.Object, last bool) (effect *types.Kustomization, added []byte) {
	effect = emptyStep()
	old := map[identity]*krm.Object{}
	for _, o := range before {
		old[identify(o)] = o
	}
	kept := map[identity]bool{}
	var text bytes.Buffer
	for _, o := range after {
		id := identify(o)
		kept[id] = true
		was, known := old[id]
		switch {
		case !known && last && o.Annotation(krm.AnnotationLocalConfig) == "true":
		case !known:
			if text.Len() > 0 {
				text.WriteString("---\n")
			}
			text.Write(textOf(o))
		case was != o && !document.Equal(was.Node, o.Node):
			var ops patch
			ops.fields("", was.Node, o.Node)
			effect.Patches = append(effect.Patches, types.Patch{Target: only(o), Patch: ops.String()})
		}
	}
	for _, o := range before {
		if !kept[identify(o)] {
			effect.Patches = append(effect.Patches, types.Patch{Target: only(o), Patch: fmt.Sprintf(
				"$patch: delete\napiVersion: %s\nkind: %s\nmetadata:\n  name: %q\n", o.APIVersion, o.Kind, o.Name)})
		}
	}
	switch {
	case text.Len() > 0:
		effect.Resources = []string{addedFile}
	case len(effect.Patches) == 0:
		return nil, nil
	}
	return effect, text.Bytes()
}

// identity is what kustomize distinguishes objects by.
type identity struct{ apiVersion, kind, namespace, name string }

func identify(o *krm.Object) identity {
	return identity{o.APIVersion, o.Kind, withoutDefault(o.Namespace), o.Name}
}

// withoutDefault is a namespace, "" for the one that is meant without one.
func withoutDefault(namespace string) string {
	if namespace == "default" {
		return ""
	}
	return namespace
}

func textOf(o *krm.Object) []byte {
	if o.Raw != nil {
		return o.Raw
	}
	return document.Append(nil, o.Node, 0)
}

// only selects one object.
func only(o *krm.Object) *types.Selector {
	group, version := resid.ParseGroupVersion(o.APIVersion)
	return &types.Selector{ResId: resid.ResId{Gvk: resid.NewGvk(group, version, o.Kind), Name: "^" + regexp.QuoteMeta(o.Name) + "$", Namespace: o.Namespace}}
}

// patch is a JSON patch (RFC 6902), one operation a line.
type patch []string

func (p *patch) String() string { return "[" + strings.Join(*p, ",\n") + "]" }

// add appends an operation; a removal has no value.
func (p *patch) add(op, path string, value *document.Node) {
	n := document.Object(document.F("op", document.Text(op)), document.F("path", document.Text(path)))
	if value != nil {
		n.Set("value", *value)
	}
	*p = append(*p, string(document.AppendJSON(nil, &n)))
}

// fields makes the entries of one map those of another.
func (p *patch) fields(at string, old, now *document.Node) {
	for i := range old.Fields() {
		if key := old.Fields()[i].Key; now.Field(key) == nil {
			p.add("remove", at+pointer(key), nil)
		}
	}
	for i := range now.Fields() {
		f := &now.Fields()[i]
		was := old.Get(f.Key)
		switch {
		case was == nil:
			p.add("add", at+pointer(f.Key), &f.Value)
		case was.Kind() == document.Map && f.Value.Kind() == document.Map:
			p.fields(at+pointer(f.Key), was, &f.Value)
		case !document.Equal(was, &f.Value):
			p.add("replace", at+pointer(f.Key), &f.Value)
		}
	}
}

func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
