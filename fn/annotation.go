package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkAnnotations warns of annotations of ours that a spec has, or gives to what is made of it, and that
// nothing reads: passed over in silence, a drain that is misspelt would never begin. Those of a kind stand
// in its definition; consent is read of every spec that renders.
func (pkg *prepared) checkAnnotations(o *krm.Object) {
	known := pkg.function.schemas.Annotations(o.GroupKind(), "metadata")
	if pkg.kinds.IsApplied(o.GroupKind()) {
		if o.Annotation(krm.AnnotationAllowRemoval) != "" {
			pkg.warnOfAnnotation(o, []string{"metadata"}, krm.AnnotationAllowRemoval, "nothing reads it here: a %s goes once its file does, and no claim may have it then; remove it", o.Kind)
		}
	} else {
		known = append([]string{krm.AnnotationAllowRemoval}, known...)
	}
	pkg.checkAnnotationsOf(o, []string{"metadata"}, known, krm.AnnotationAllowRemoval, krm.AnnotationInventory)
	template := []string{"spec", "template", "metadata"}
	pkg.checkAnnotationsOf(o, template, pkg.function.schemas.Annotations(o.GroupKind(), template...))
}

// checkAnnotationsOf does so for one set of annotations. Those that others read pass.
func (pkg *prepared) checkAnnotationsOf(o *krm.Object, metadata, known []string, others ...string) {
	const domain = ownGroup + "/"
	var names []string
	for _, key := range known {
		if name, ours := strings.CutPrefix(key, domain); ours && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, f := range o.Node.Get(append(slices.Clone(metadata), "annotations")...).Fields() {
		name, ours := strings.CutPrefix(f.Key, domain)
		switch {
		case !ours || slices.Contains(names, name) || slices.Contains(others, f.Key):
		case len(names) == 0:
			pkg.warnOfAnnotation(o, metadata, f.Key, "unknown annotation %q, which nothing reads; remove it", name)
		default:
			pkg.warnOfAnnotation(o, metadata, f.Key, "unknown annotation %q, which nothing reads%s; known here: %s", name, schema.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
}

func (pkg *prepared) warnOfAnnotation(o *krm.Object, metadata []string, key, format string, args ...any) {
	path := append(slices.Clone(metadata), "annotations", key)
	pkg.findings = append(pkg.findings, finding.Finding{
		Severity: finding.Warning, Rule: "unknown-annotation", Object: o.Ref,
		Field: strings.Join(metadata, ".") + ".annotations[" + key + "]", Pos: o.At(path...),
		Message: fmt.Sprintf(format, args...),
	})
}
