package fn

import (
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// consented is the object of the output of a spec that is gone on which a person allows that
// all of it goes, or nil.
func (c *classified) consented(owner string) *krm.Object {
	id, _ := krm.ParseOwner(owner)
	kind, found := c.kinds.Find(id.GroupKind())
	if !found || kind.Role != system.RoleSpec {
		return nil
	}
	at := slices.IndexFunc(c.lock[owner], func(o *krm.Object) bool {
		return system.NewConsent(o.AnnotationList(krm.AnnotationAllowRemoval)).Covers(kind.Whole, id.Name)
	})
	if at < 0 {
		return nil
	}
	return c.lock[owner][at]
}

// remove has the systems that remove step by step say what stays for now of specs that are
// gone, with consent.
func (pkg *prepared) remove(r *reconciler) []finding.Finding {
	var findings []finding.Finding
	for _, owner := range pkg.ownersWithoutSpec() {
		consent, s := pkg.consented(owner), pkg.function.of(owner)
		if consent == nil || pkg.partial {
			continue
		}
		remover, inSteps := s.System.(system.Remover)
		if !inSteps {
			continue
		}
		object := *consent // it stands where the consent is given
		object.Ref = pkg.function.specRef(owner)
		gone := &system.Spec{Object: &object, Before: pkg.lock[owner], Consent: system.NewConsent(object.AnnotationList(krm.AnnotationAllowRemoval))}
		out := remover.Remove(r.facts, gone)
		if findings = append(findings, out.Findings...); finding.Failed(out.Findings) {
			continue
		}
		protect(gone, &out, &s.Declaration, pkg.policy.Policy)
		r.reconcile(gone, &out, &s.Declaration)
	}
	return findings
}
