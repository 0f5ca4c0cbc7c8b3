package place

import "github.com/poolwright/poolwright/schema/finding"

// Verdict is what became of a candidate.
type Verdict string

// The verdicts, from best to worst.
const (
	Kept    Verdict = "kept"    // was in use before and stays
	Chosen  Verdict = "chosen"  // newly taken
	Held    Verdict = "held"    // the spec no longer wants it, but it holds data
	Awaited Verdict = "awaited" // wanted, but a fact is missing
	Free    Verdict = "free"    // could be used, is not needed
	Refused Verdict = "refused" // must not be used
)

// Choice is one decision and its reason, for poolwright explain.
type Choice struct {
	Spec    finding.Ref `json:"spec"`           // the spec it was made for
	Subject finding.Ref `json:"subject"`        // the Node, BlockDevice or Storage
	Node    string      `json:"node,omitempty"` // where the subject is, for disks
	Role    string      `json:"role,omitempty"` // data, cache, spare
	Verdict Verdict     `json:"verdict"`
	Reason  string      `json:"reason"`
}
