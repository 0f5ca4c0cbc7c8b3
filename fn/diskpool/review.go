package diskpool

import (
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Review implements system.Reviewer: whether the release has the fields, and the keys of the labels.
func (System) Review(in system.Input, spec *system.Spec) []finding.Finding {
	s := newSet(in, spec)
	if !s.Failed() {
		s.readRelease()
	}
	return s.Findings
}
