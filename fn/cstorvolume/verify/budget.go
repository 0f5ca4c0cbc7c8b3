package verify

import (
	"slices"

	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// budget is a PodDisruptionBudget of cStor: all volumes on the same pools share it.
type budget struct {
	object *krm.Object
	pools  []string
	used   bool
}

// readBudgets finds the budgets, by the cluster of their pools.
func (p *proof) readBudgets() {
	for _, o := range p.facts.Objects("policy", budgetKind) {
		cluster := o.Label(inventory.LabelPoolCluster)
		if cluster == "" {
			continue
		}
		b := &budget{object: o}
		for _, e := range o.Node.Seq("spec", "selector", "matchExpressions") {
			if e.Str("key") == chain.BudgetKey && e.Str("operator") == "In" {
				for _, v := range e.Seq("values") {
					b.pools = append(b.pools, v.Value())
				}
			}
		}
		at := inventory.Key{Namespace: o.Namespace, Name: cluster}
		p.budgets[at] = append(p.budgets[at], b)
	}
}

// covers reports whether the pods of all pools are in the budget.
func (b *budget) covers(pools []chain.Pool) bool {
	return !slices.ContainsFunc(pools, func(at chain.Pool) bool { return !slices.Contains(b.pools, at.Name) })
}

// budget looks for the budget that keeps more than one pool of a volume from being drained.
func (p *proof) budget(c *conformance.Check, v *volume.Chain, want *chain.Volume) {
	if len(want.Pools) == 0 || !p.tells(c, krm.GroupKind{Group: "policy", Kind: budgetKind}, want.Namespace) {
		return
	}
	var names []string
	for _, at := range want.Pools {
		names = append(names, at.Name)
	}
	of := p.budgets[inventory.Key{Namespace: want.Namespace, Name: want.Cluster}]
	named := ""
	if v.Config != nil {
		named = v.Config.Label(chain.LabelBudget)
		if named == "" {
			named = v.Config.Annotation(chain.LabelBudget)
		}
	}
	at := -1
	if named != "" {
		if at = slices.IndexFunc(of, func(b *budget) bool { return b.object.Name == named }); at < 0 {
			ref := finding.Ref{APIVersion: "policy/v1", Kind: budgetKind, Namespace: want.Namespace, Name: named}
			c.Error(ruleBudget, ref, "is missing, so that a drain may take several pools of %s at once (%s)", c.Subject, finding.Names(names))
			return
		}
	} else if at = slices.IndexFunc(of, func(b *budget) bool { return b.covers(want.Pools) }); at < 0 {
		c.Error(ruleBudget, c.Subject, "has %s and no %s that covers their pools (%s), so that a drain may take several at once", finding.Count(want.Replicas, "replica"), budgetKind, finding.Names(names))
		return
	}
	b := of[at]
	b.used = true
	c.Part(b.object.Ref)
	if !b.covers(want.Pools) {
		c.Error(ruleBudget, b.object.Ref, "covers %s, and not all pools of %s (%s)", finding.Names(b.pools), c.Subject, finding.Names(names))
	}
	if n := b.object.Node.Str("spec", "maxUnavailable"); n != "1" {
		c.Error(ruleBudget, b.object.Ref, "has maxUnavailable %q, and should have 1", n)
	}
}

// unusedBudgets reports budgets that no volume needs.
func (p *proof) unusedBudgets() {
	for _, of := range p.budgets {
		for _, b := range of {
			if !b.used {
				c := conformance.Check{Subject: b.object.Ref}
				c.Error(conformance.Extra, b.object.Ref, "is extra: no volume of three or more replicas needs it (it covers %s); it only gets in the way of drains", finding.Names(b.pools))
				p.checks = append(p.checks, c)
			}
		}
	}
}
