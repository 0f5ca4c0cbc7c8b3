package verify

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/cstorvolume/preview"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// pending judges a volume that is not bound: what the operators do not make, and what they
// leave behind (reference of cStor, section 7).
func (p *proof) pending(c *conformance.Check, v *volume.Chain, claim *krm.Object) {
	phase := orNone(phaseOf(v.Config))
	var left []string
	for _, o := range []*krm.Object{v.Target, p.serviceOf(v), p.deploymentOf(v)} {
		if o != nil {
			c.Part(o.Ref)
			left = append(left, o.Kind+" "+o.Name)
		}
	}
	p.refused(c, v, claim)
	if c.Verdict() != finding.Error {
		c.Error(conformance.Missing, c.Subject, "has no volume: %s is %s; what the operators say is in its events", v.Config.Ref, phase)
	}
	if len(left) > 0 {
		c.Error(conformance.LeftOver, v.Config.Ref, "is %s, and %s are left over of it: delete the claim, and then the config if it stays", phase, strings.Join(left, ", "))
	}
	for _, r := range v.Replicas {
		c.Error(conformance.Extra, r.Ref, "is there, and %s is %s", v.Config.Ref, phase)
	}
}

// refused adds why the operators make no volume of a claim, or of a config without one, or do
// not scale it, as preview has it.
func (p *proof) refused(c *conformance.Check, v *volume.Chain, claim *krm.Object) {
	about := claim
	if claim == nil {
		about = v.Config
	}
	if p.refusals == nil {
		p.refusals = map[finding.Ref][]finding.Finding{}
		_, findings := preview.Of(p.facts, p.rendered, p.unsettled())
		for _, f := range findings {
			if f.Severity == finding.Error {
				p.refusals[f.Object] = append(p.refusals[f.Object], f)
			}
		}
	}
	c.Findings = append(c.Findings, p.refusals[about.Ref]...)
}

// unsettled lists the claims and configs whose volumes are not made, or to be scaled.
func (p *proof) unsettled() []*krm.Object {
	all := slices.Clone(p.volumes.Waiting)
	for _, v := range p.volumes.Sorted {
		switch {
		case v.Config == nil, phaseOf(v.Config) == chain.PhaseBound && !scales(v.Config):
		case v.Claim != nil:
			all = append(all, v.Claim)
		case p.claimOf(v) == nil:
			all = append(all, v.Config)
		}
	}
	return all
}

// scales reports whether a config asks for other pools than its volume is on.
func scales(config *krm.Object) bool {
	wanted := config.Node.Get("spec", "policy", "replicaPoolInfo")
	return wanted != nil && !slices.Equal(poolNames(wanted.Items()), poolNames(config.Node.Seq("status", "poolInfo")))
}

func (p *proof) serviceOf(v *volume.Chain) *krm.Object {
	return p.facts.Object(krm.ID{Kind: serviceKind, Namespace: v.Namespace, Name: v.Name})
}

func (p *proof) deploymentOf(v *volume.Chain) *krm.Object {
	return p.facts.Object(krm.ID{Group: "apps", Kind: deploymentKind, Namespace: v.Namespace, Name: chain.TargetName(v.Name)})
}

// abandoned judges what is left of a volume whose config is gone.
func (p *proof) abandoned(c *conformance.Check, v *volume.Chain) {
	if !p.tells(c, krm.GroupKind{Group: pool.APIGroup, Kind: volume.ConfigKind}, v.Namespace) {
		return
	}
	for _, o := range append([]*krm.Object{v.Target}, v.Replicas...) {
		if o != nil {
			p.leftOver(c, o)
		}
	}
}

func (p *proof) leftOver(c *conformance.Check, o *krm.Object) {
	c.Error(conformance.LeftOver, o.Ref, "is left over: there is no %s for it; delete it once nobody needs what is on it", volume.ConfigKind)
}

// leftOvers looks for targets and services of volumes of which there is nothing else. made are
// the volumes of which there is.
func (p *proof) leftOvers(made map[string]bool) {
	for _, o := range append(p.facts.Objects("", serviceKind), p.facts.Objects("apps", deploymentKind)...) {
		name := o.Name
		switch {
		case o.Kind == serviceKind && o.Label(chain.LabelTargetService) == "":
			continue
		case o.Kind == deploymentKind && o.Label("app") != chain.TargetApp:
			continue
		case o.Kind == deploymentKind:
			name = strings.TrimSuffix(name, chain.TargetName(""))
		}
		c := &conformance.Check{Subject: o.Ref}
		if made[name] {
			v := p.volumes.Handle(name)
			if v.Config != nil || v.Claim != nil || v.Volume != nil {
				continue
			}
		}
		if p.tells(c, krm.GroupKind{Group: pool.APIGroup, Kind: volume.ConfigKind}, o.Namespace) {
			p.leftOver(c, o)
			p.checks = append(p.checks, *c)
		}
	}
}

// Policy reports a policy that a class names, and that is not in the namespace of the
// operators.
func Policy(c *conformance.Check, facts *inventory.Facts, sc *class.Class, namespace string) {
	policy := sc.Parameters["cstorVolumePolicy"]
	id := krm.ID{Group: pool.APIGroup, Kind: chain.PolicyKind, Namespace: namespace, Name: policy}
	if policy == "" || facts.Object(id) != nil {
		return
	}
	if !facts.Tells(id.Group, id.Kind, namespace) {
		c.Untold(finding.Ref{}, id.Kind)
		return
	}
	ref := finding.Ref{APIVersion: "storage.k8s.io/v1", Kind: class.Kind().Kind, Name: sc.Name}
	c.Error(rulePolicy, ref, "names %s %s, which is not in namespace %s: the operators make no volume of the class; apply it", chain.PolicyKind, policy, namespace)
}

// unusedClasses looks at the policies of classes that live, that nobody has a volume of, and
// that are not rendered: those of specs are verified with these.
func (p *proof) unusedClasses() {
	told := map[finding.Ref]bool{}
	for i := range p.checks {
		for _, f := range p.checks[i].Findings {
			told[f.Object] = told[f.Object] || f.Rule == rulePolicy
		}
	}
	for _, o := range p.facts.Objects(class.Kind().Group, class.Kind().Kind) {
		if told[o.Ref] || class.Rendered(p.rendered, o.Name) != nil || o.Node.Str("provisioner") != volume.Driver {
			continue
		}
		c := conformance.Check{Subject: o.Ref}
		sc := class.Read(o)
		Policy(&c, p.facts, &sc, p.volumes.ClusterOfClass(o.Name).Namespace)
		if c.Verdict() == finding.Error {
			p.checks = append(p.checks, c)
		}
	}
}
