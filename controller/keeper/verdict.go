package keeper

import (
	"fmt"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/remote"
)

// reason is the reason of condition Ready.
type reason string

// The reasons. What is said of each is in docs/controller.md.
const (
	published reason = "Published"
	upToDate  reason = "UpToDate"

	applying reason = "Applying"

	awaitingMerge  reason = "AwaitingMerge"
	foreignCommits reason = "ForeignCommits"
	declined       reason = "Declined"

	factsUnavailable   reason = "FactsUnavailable"
	serviceUnavailable reason = "ServiceUnavailable"
	publishFailed      reason = "PublishFailed"
	contended          reason = "Contended"
	flapping           reason = "Flapping"
	suspended          reason = "Suspended"

	invalid  reason = "Invalid"
	conflict reason = "Conflict"
)

// Events of pull requests, beside those of the reasons.
const (
	eventMerged    = "Merged"
	eventWithdrawn = "Withdrawn"
)

// class is what a reason means to those who wait.
type class int

const (
	ready   class = iota
	retried       // comes right by itself, or by something that is tried again
	stalled       // a person has to act
)

func (r reason) class() class {
	switch r {
	case published, upToDate, awaitingMerge:
		return ready
	case invalid, conflict, foreignCommits, declined, reason(remote.Refused), reason(remote.Protected), reason(hydration.ReasonClusterChanged):
		return stalled
	}
	return retried
}

// verdict is what came of a look at a Hydration.
type verdict struct {
	reason  reason
	message string
	// again says that the same inputs are to be judged again after a pause: the reason does not lie
	// in them.
	again bool
	after time.Duration // how long the pause is at least
}

func say(r reason, format string, args ...any) verdict {
	return verdict{reason: r, message: fmt.Sprintf(format, args...)}
}

// retry is a verdict on what is outside of the inputs.
func retry(r reason, format string, args ...any) verdict {
	v := say(r, format, args...)
	v.again = true
	return v
}
