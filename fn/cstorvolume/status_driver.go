package cstorvolume

import (
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/health"
)

// checkDriver reports what does not run of the CSI driver, once anything of the class exists.
func (s *state) checkDriver(step *health.Step) {
	if !s.spec.IsRendered() {
		return
	}
	for _, lack := range volume.Lacks(s.facts) {
		step.Add(health.Problem{Phase: health.Error, Made: lack.Later, Reason: "DriverNotRunning", Message: lack.String()})
	}
}

// checkAttachments reports what is wrong with a volume on the nodes that it is used on.
func (s *state) checkAttachments(step *health.Step, v *volume.Chain) {
	for _, f := range v.Faults(s.facts) {
		step.Count()
		step.Add(health.Problem{Phase: f.Phase, Reason: f.Reason, Message: f.Object.Kind + " " + f.Object.Name + " " + f.Text})
	}
}
