package cstor

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// collector gathers what the steps of a render find and choose for one spec.
type collector struct {
	spec     *system.Spec
	findings []finding.Finding
	choices  []place.Choice
}

// newCollector expects a choice about each of some candidates.
func newCollector(spec *system.Spec, candidates int) *collector {
	return &collector{spec: spec, choices: make([]place.Choice, 0, candidates)}
}

// report adds a finding on a field of the spec.
func (c *collector) report(severity finding.Severity, rule, field, format string, args ...any) {
	c.collect(c.spec.Finding(severity, rule, field, fmt.Sprintf(format, args...)))
}

func (c *collector) collect(f finding.Finding) { c.findings = append(c.findings, f) }

// choose records a decision.
func (c *collector) choose(subject finding.Ref, node string, r role, verdict place.Verdict, reason string) {
	c.choices = append(c.choices, place.Choice{
		Spec: c.spec.Object.Ref, Subject: subject, Node: node, Role: string(r), Verdict: verdict, Reason: reason,
	})
}

// failed reports whether a finding is an error, so that later steps have nothing to
// build on.
func (c *collector) failed() bool { return finding.Failed(c.findings) }
