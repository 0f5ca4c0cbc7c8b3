package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// collector gathers what the steps of a render find and choose for one spec.
type collector struct {
	*system.Collector
	spec *system.Spec
}

// newCollector expects a choice about each of some candidates.
func newCollector(spec *system.Spec, candidates int) *collector {
	return &collector{system.NewCollector(spec, candidates), spec}
}

// report adds a finding on a field of the spec.
func (c *collector) report(severity finding.Severity, rule, field, format string, args ...any) {
	c.Report(severity, rule, c.written(field), format, args...)
}

// written is where the spec says what a CStorClusterConfig says at a field.
func (c *collector) written(field string) string {
	if c.spec.Object.Kind == autoKind {
		return inAuto(field)
	}
	return field
}

// choose records a decision.
func (c *collector) choose(subject finding.Ref, node string, r record.Role, verdict place.Verdict, reason string) {
	c.Decide(subject, node, string(r), verdict, reason)
}

// failed reports whether a finding is an error, so that later steps have nothing to
// build on.
func (c *collector) failed() bool { return c.Failed() }
