package fn

import (
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
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

// removal is the spec that is gone, with consent, of a system that removes step by step, and what stays
// for now of what was rendered for it; nil for another.
func (pkg *prepared) removal(facts *inventory.Facts, owner string) (*system.Spec, system.Output) {
	consent := pkg.consented(owner)
	if consent == nil || pkg.partial {
		return nil, system.Output{}
	}
	remover, inSteps := pkg.function.of(owner).System.(system.Remover)
	if !inSteps {
		return nil, system.Output{}
	}
	object := *consent // it stands where the consent is given
	object.Ref = pkg.function.specRef(owner)
	gone := &system.Spec{Object: &object, Before: pkg.lock[owner], Consent: system.NewConsent(object.AnnotationList(krm.AnnotationAllowRemoval))}
	return gone, remover.Remove(facts, gone)
}

// remove has the systems that remove step by step say what stays for now of specs that are
// gone, with consent.
func (pkg *prepared) remove(r *reconciler, chosen *chosen) []finding.Finding {
	var findings []finding.Finding
	for _, owner := range pkg.ownersWithoutSpec() {
		s := pkg.function.of(owner)
		gone, out := pkg.removal(r.facts, owner)
		if gone == nil {
			continue
		}
		if !finding.Failed(out.Findings) && !chosen.failed {
			chosen.handover.add(chosen.in.Disks, gone, &out, pkg.kept(chosen.in.Disks, owner, out.Objects))
		}
		if findings = append(findings, out.Findings...); finding.Failed(out.Findings) {
			continue
		}
		protect(gone, &out, &s.Declaration, pkg.policy.Policy)
		r.reconcile(gone, &out, &s.Declaration)
	}
	return findings
}
