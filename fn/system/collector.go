package system

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// Collector gathers what the steps of a render find and choose for one spec.
type Collector struct {
	*Spec
	Findings []finding.Finding
	Choices  []place.Choice
}

// NewCollector collects for a spec, and expects a choice about each of some candidates.
func NewCollector(spec *Spec, candidates int) *Collector {
	return &Collector{Spec: spec, Choices: make([]place.Choice, 0, candidates)}
}

// Report adds a finding on a field of the spec, such as spec.poolConfig.raidType; an empty
// field means the whole object.
func (c *Collector) Report(severity finding.Severity, rule, field, format string, args ...any) {
	c.Collect(c.Finding(severity, rule, field, fmt.Sprintf(format, args...)))
}

// Collect adds a finding.
func (c *Collector) Collect(f finding.Finding) { c.Findings = append(c.Findings, f) }

// Decide records a decision about a node or a disk; role is what it is to be used for, or "".
func (c *Collector) Decide(subject finding.Ref, node, role string, verdict place.Verdict, reason string) {
	c.Choices = append(c.Choices, place.Choice{Spec: c.Object.Ref, Subject: subject, Node: node, Role: role, Verdict: verdict, Reason: reason})
}

// Failed reports whether a finding is an error, so that later steps have nothing to build
// on.
func (c *Collector) Failed() bool { return finding.Failed(c.Findings) }

// Output is what was collected, with the objects that are wanted unless something failed.
func (c *Collector) Output(objects []gitops.Object, released map[krm.ID]bool) Output {
	out := Output{Released: released, Findings: c.Findings, Choices: c.Choices}
	if !c.Failed() {
		out.Objects = objects
	}
	return out
}
