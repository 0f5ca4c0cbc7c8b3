// Package prerequisite checks what a spec needs of a cluster before its storage can work:
// definitions of its kinds, operators, nodes, disks and permissions. A system says what its
// specs need (Software, Needs); the checks are the same for all systems.
package prerequisite

import (
	"cmp"
	"slices"
)

// Result is what a check found.
type Result string

// The results, the worst first.
const (
	Failed  Result = "failed"
	Warning Result = "warning"
	Unknown Result = "unknown" // the facts do not say
	OK      Result = "ok"
)

// Results lists all of them, the worst first.
func Results() []Result { return []Result{Failed, Warning, Unknown, OK} }

// Check is one prerequisite, and whether the cluster has it.
type Check struct {
	Result  Result `json:"result"`
	Check   string `json:"check"`   // such as crd/blockdevices.openebs.io
	Spec    string `json:"spec"`    // that needs it, "" for what every spec needs
	Message string `json:"message"` // one line
	Remedy  string `json:"remedy"`  // what to do; "" only where it is ok
}

// InPackage is the message of a check of what the package itself brings.
const InPackage = "in the package"

// Summary counts the checks by result.
type Summary struct {
	OK      int `json:"ok"`
	Warning int `json:"warning"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
}

// Summarize counts checks.
func Summarize(checks []Check) Summary {
	var s Summary
	for i := range checks {
		switch checks[i].Result {
		case OK:
			s.OK++
		case Warning:
			s.Warning++
		case Failed:
			s.Failed++
		case Unknown:
			s.Unknown++
		}
	}
	return s
}

// Sort orders checks by result, the worst first, then by check and spec.
func Sort(checks []Check) {
	rank := func(c Check) int { return slices.Index(Results(), c.Result) }
	slices.SortStableFunc(checks, func(a, b Check) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Check, b.Check), cmp.Compare(a.Spec, b.Spec))
	})
}

// worst joins checks of one name to one: the worst result with its remedy, and every message that
// is as bad.
func worst(checks []Check) Check {
	Sort(checks)
	c := checks[0]
	for _, other := range checks[1:] {
		if other.Result == c.Result && other.Message != c.Message {
			c.Message += "; " + other.Message
		}
	}
	return c
}
