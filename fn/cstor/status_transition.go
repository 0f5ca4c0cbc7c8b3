package cstor

import (
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/transition"
)

// inTransition is the reason of what is well, and on its way to what the spec says.
const inTransition = "InTransition"

// checkMoves looks for volumes that are to move, and whose part is not rendered yet as it now
// would be, or not applied.
func (s *situation) checkMoves() {
	step := s.report.Step("volume")
	s.checkUnrendered(step, cstorVolumeConfigKind)
	for _, o := range s.rendered[cstorVolumeConfigKind] {
		if live := s.facts.Object(o.ID()); live != nil && !within(o.Node.Get("spec"), live.Node.Get("spec")) {
			step.Count()
			step.Add(health.Problem{
				Phase: health.Progressing, Reason: "OutOfSync", Subject: o.Name, What: "not on the pools that are rendered (commit and apply it)",
			})
		}
	}
}

// checkTransitions tells of what is on its way to what the spec says, and of which each step
// may be well by itself.
func (s *situation) checkTransitions() {
	step := s.report.Step("CStorPoolCluster")
	for _, t := range s.out.Transitions {
		for _, under := range t.Steps {
			if under.State != transition.Done {
				message := under.What
				if under.Wait != "" {
					message += ", " + under.Wait
				}
				if len(s.out.Transitions) > 1 {
					message = t.Object.Name + ": " + message
				}
				step.Add(health.Problem{Phase: health.Progressing, Made: true, Reason: inTransition, Message: message})
				break
			}
		}
	}
}
