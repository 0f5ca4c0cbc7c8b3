package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkAnnotations warns of annotations of ours that a spec has and nothing reads: passed over in
// silence, a drain that is misspelt would never begin. Those of a kind stand in its definition;
// consent is read of every spec.
func (pkg *prepared) checkAnnotations(o *krm.Object) {
	const domain = ownGroup + "/"
	var known []string
	for _, f := range o.Node.Get("metadata", "annotations").Fields() {
		name, ours := strings.CutPrefix(f.Key, domain)
		if !ours || f.Key == krm.AnnotationAllowRemoval || f.Key == krm.AnnotationInventory {
			continue
		}
		if known == nil {
			known = []string{strings.TrimPrefix(krm.AnnotationAllowRemoval, domain)}
			for _, key := range pkg.function.schemas.Annotations(o.GroupKind()) {
				if name, ours := strings.CutPrefix(key, domain); ours && !slices.Contains(known, name) {
					known = append(known, name)
				}
			}
		}
		if slices.Contains(known, name) {
			continue
		}
		pkg.findings = append(pkg.findings, finding.Finding{
			Severity: finding.Warning, Rule: "unknown-annotation", Object: o.Ref,
			Field: "metadata.annotations[" + f.Key + "]", Pos: o.At("metadata", "annotations", f.Key),
			Message: fmt.Sprintf("unknown annotation %q, which nothing reads%s; known here: %s", name, schema.DidYouMean(name, known), strings.Join(known, ", ")),
		})
	}
}
