// Package conformance is what verify says: whether what the operators made is what was
// rendered, and healthy. The systems check; here is the form of their answers, and how much
// each of them weighs.
package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Check is about one thing that a person asks for: a spec, a claim, a cluster of pools.
type Check struct {
	Subject  finding.Ref
	At       document.Position // where the subject is written, if it is
	Parts    []finding.Ref     // what it is made of, the subject apart: what is there, and what should be
	Findings []finding.Finding

	parts map[finding.Ref]bool
}

// Of starts a check.
func Of(subject *krm.Object) *Check {
	c := &Check{Subject: subject.Ref}
	if subject.Source != nil {
		c.At = subject.At()
	}
	return c
}

// Part adds something that it is made of, once.
func (c *Check) Part(ref finding.Ref) {
	if ref == c.Subject || c.parts[ref] {
		return
	}
	if c.parts == nil {
		c.parts = map[finding.Ref]bool{}
	}
	c.parts[ref] = true
	c.Parts = append(c.Parts, ref)
}

// Error reports what is not as it is to be.
func (c *Check) Error(rule string, object finding.Ref, format string, args ...any) {
	c.report(finding.Error, rule, object, format, args...)
}

// Warn reports what is unwell, or cannot be judged.
func (c *Check) Warn(rule string, object finding.Ref, format string, args ...any) {
	c.report(finding.Warning, rule, object, format, args...)
}

// Untold says that a kind is not verified, since the facts do not list it. object is what
// needs it, zero for all of them.
func (c *Check) Untold(object finding.Ref, kind string) {
	c.Warn("untold", object, "objects of kind %s are not verified: the inventory does not contain this kind; refresh the inventory", kind)
}

func (c *Check) report(severity finding.Severity, rule string, object finding.Ref, format string, args ...any) {
	f := finding.Finding{Severity: severity, Rule: rule, Object: object, Message: fmt.Sprintf(format, args...)}
	if object == c.Subject {
		f.Pos = c.At
	}
	c.Findings = append(c.Findings, f)
}

// Add takes over what a status reports: what exists and is unhealthy is a warning, and all else,
// also what is still on its way, is not as it is to be.
func (c *Check) Add(status *health.Status) {
	for i := range status.Problems {
		p := &status.Problems[i]
		severity := finding.Error
		if p.Made {
			severity = finding.Warning
		}
		c.report(severity, rule(p.Reason), c.Subject, "%s", p.Message)
	}
}

// rule writes the reason of a status as the rule of a finding: PoolOffline as pool-offline.
func rule(reason string) string {
	var b strings.Builder
	for i, char := range reason {
		if i > 0 && char >= 'A' && char <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(char)
	}
	return strings.ToLower(b.String())
}

// Verdict is the worst severity among the findings, "" where nothing is amiss. An info is no
// more than a remark.
func (c *Check) Verdict() finding.Severity {
	var verdict finding.Severity
	for i := range c.Findings {
		switch c.Findings[i].Severity {
		case finding.Error:
			return finding.Error
		case finding.Warning:
			verdict = finding.Warning
		}
	}
	return verdict
}

// Summary counts the findings, the worst first: "1 error, 2 warnings"; "" for none.
func (c *Check) Summary() string {
	var parts []string
	for _, severity := range []finding.Severity{finding.Error, finding.Warning, finding.Info} {
		n := 0
		for i := range c.Findings {
			if c.Findings[i].Severity == severity {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, finding.Count(n, string(severity)))
		}
	}
	return strings.Join(parts, ", ")
}

// IsAbout reports whether the check is about an object that meant names.
func (c *Check) IsAbout(meant func(finding.Ref) bool) bool {
	return meant(c.Subject) || slices.ContainsFunc(c.Parts, meant)
}

// Findings are those of all checks, sorted, each once.
func Findings(checks []Check) []finding.Finding {
	var all []finding.Finding
	for i := range checks {
		all = append(all, checks[i].Findings...)
	}
	return finding.Sort(all)
}

// Sort puts checks into the order of their subjects.
func Sort(checks []Check) {
	slices.SortStableFunc(checks, func(a, b Check) int {
		return cmp.Or(
			cmp.Compare(a.Subject.Kind, b.Subject.Kind),
			cmp.Compare(a.Subject.Namespace, b.Subject.Namespace),
			cmp.Compare(a.Subject.Name, b.Subject.Name),
		)
	})
}
