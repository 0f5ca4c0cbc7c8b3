package cstorvolume

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Status implements system.Reporter: what is rendered, then the claims, then the volumes
// of the class, also of those who claim from it themselves.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	s := state{facts: facts, spec: spec, volumes: volume.IndexOf(facts)}
	var r health.Report
	s.checkObjects(r.Step("object"), out.Findings)
	s.checkDriver(r.Step("driver"))
	claims := r.Step("claim")
	for _, o := range spec.Before {
		if o.GroupKind() == (krm.GroupKind{Kind: claimKind}) {
			claims.Count()
			s.claims++
			s.checkClaim(claims, o)
		}
	}
	volumes, attachments := r.Step("volume"), r.Step("attachment")
	for _, v := range s.volumes.Sorted {
		if v.Volume != nil && v.Volume.Node.Str("spec", "storageClassName") == spec.Object.Name {
			volumes.Count()
			s.served++
			checkVolume(volumes, v)
			s.checkAttachments(attachments, v)
		}
	}
	return r.Status(spec.Object.Ref, fmt.Sprintf("%s and %s of the class healthy", finding.Count(s.claims, "claim"), finding.Count(s.served, "volume")))
}

// state is what a status is made of.
type state struct {
	facts          *inventory.Facts
	spec           *system.Spec
	volumes        *volume.Index
	claims, served int
}

// checkObjects reports what of the class is not rendered or not there.
func (s *state) checkObjects(step *health.Step, findings []finding.Finding) {
	there := func(o *krm.Object) bool { return s.facts.Object(o.ID()) != nil }
	switch {
	case finding.Failed(findings):
		step.Add(health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(findings)})
	case !s.spec.IsRendered():
		p := health.Problem{Phase: health.Progressing, Reason: health.NotRendered, Message: "nothing is rendered for it yet; run poolwright render, commit and apply what it writes"}
		for _, f := range findings {
			if f.Rule == "awaiting-pools" || f.Rule == "awaiting-instances" {
				p.Message = f.Message
			}
		}
		step.Add(p)
	case !slices.ContainsFunc(s.spec.Before, there):
		step.Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotApplied,
			Message: fmt.Sprintf("rendered (%s), but not in the cluster yet; commit and apply it", finding.Count(len(s.spec.Before), "object")),
		})
	default:
		for _, o := range s.spec.Before {
			isClaim := o.GroupKind() == krm.GroupKind{Kind: claimKind}
			if !isClaim && !there(o) && s.facts.Tells(o.Group(), o.Kind, o.Namespace) {
				p := health.Problem{Phase: health.Progressing, Reason: health.NotApplied, What: "not applied yet", Subject: o.Kind + " " + o.Name}
				if o.GroupKind() == policyGroupKind() && s.facts.Object(class.ID(s.spec.Object.Name)) != nil {
					p.Phase, p.Reason, p.What = health.Error, "PolicyMissing", "missing, and the class names it: no volume is made"
				}
				step.Count()
				step.Add(p)
			}
		}
	}
}

// checkClaim reports what is amiss with a claim that is rendered.
func (s *state) checkClaim(step *health.Step, rendered *krm.Object) {
	p := health.Problem{Phase: health.Progressing, Subject: rendered.Namespace + "/" + rendered.Name}
	live := s.facts.Object(rendered.ID())
	switch {
	case live == nil:
		p.Reason, p.What = health.NotApplied, "not applied yet"
	case live.Deleting():
		p.Phase, p.Reason, p.What = health.Error, "Terminating", "being deleted, and not by Poolwright"
	case live.Node.Str("status", "phase") == "Bound":
		if s.grows(rendered, live) {
			p.Reason, p.What, p.Note = "Growing", "growing", live.Node.Str("status", "capacity", "storage")+" of "+rendered.Node.Str("spec", "resources", "requests", "storage")
			step.Add(p)
		}
		return
	case live.Node.Str("status", "phase") == "Lost":
		p.Phase, p.Outage, p.Reason, p.What = health.Error, true, "ClaimLost", "bound to a volume that is gone"
	case s.waits():
		p.Reason, p.What = "WaitForFirstConsumer", "waiting for the first pod that uses it"
	default:
		p.Reason, p.What = "ClaimPending", "without a volume yet"
	}
	step.Add(p)
}

// grows reports whether a volume is not as large yet as its claim is rendered.
func (s *state) grows(rendered, live *krm.Object) bool {
	has := quantity.Bytes(live.Node.Str("status", "capacity", "storage"))
	return has > 0 && has < quantity.Bytes(rendered.Node.Str("spec", "resources", "requests", "storage"))
}

// waits reports whether the class makes a volume only for a pod.
func (s *state) waits() bool {
	c := class.Rendered(s.spec.Before, s.spec.Object.Name)
	return c != nil && c.Binding == "WaitForFirstConsumer"
}

// checkVolume reports what is amiss with a volume.
func checkVolume(step *health.Step, v *volume.Chain) {
	user := v.User()
	p := health.Problem{Subject: user.Namespace + "/" + user.Name, Note: fmt.Sprintf("%s, %d of %s healthy", v.Name, v.Healthy(nil), finding.Count(v.Factor(), "replica"))}
	config := ""
	if v.Config != nil {
		config = v.Config.Node.Str("status", "phase")
	}
	switch {
	case config == "Failed":
		p.Phase, p.Outage, p.Reason, p.What, p.Note = health.Error, true, "VolumeFailed", "not made: the operators gave up", v.Name
	case v.Target == nil && v.Config == nil && len(v.Replicas) == 0:
		return // the snapshot says nothing of it
	case v.Target == nil:
		p.Phase, p.Reason, p.What = health.Progressing, "VolumeCreating", "being made"
	default:
		phase := v.Target.Node.Str("status", "phase")
		switch p.Phase = v.Phase(); p.Phase {
		case health.OK:
			return
		case health.Progressing:
			p.Reason, p.What = "VolumeRebuilding", "on the way: "+cmp.Or(phase, "no status yet")
		default:
			p.Outage = v.Healthy(nil) < v.Quorum()
			p.Reason, p.What = "VolumeIll", "not well: "+phase
			if phase == "Healthy" {
				p.What = "short of replicas, though its target says Healthy"
			}
			if down := v.DownPools(); len(down) > 0 {
				p.Note += "; " + finding.Names(down)
			}
		}
	}
	step.Add(p)
}
