package diskpool

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
)

// state is how a live pool fares, in the words of Mayastor and in ours.
type state struct {
	phase  health.Phase
	reason string // one CamelCase word, "" for well
	what   string // says it of the pool
	words  string // as the pool says it itself: Created, Online
	note   string // its error, its alerts
	online bool   // Created and Online
	outage bool   // it does not serve
}

// degraded is the reason of a pool that still serves.
const degraded = "Degraded"

// stateOf reads the status of a pool. A newer operator says status beside pool_status,
// and the former counts. nil is a pool that is not there.
func stateOf(o *krm.Object) state {
	if o == nil {
		return state{phase: health.Progressing, reason: health.NotApplied, what: "not applied yet", words: health.Missing}
	}
	status := o.Node.Get("status")
	created, serves := status.Str("cr_state"), cmp.Or(status.Str("status"), status.Str("pool_status"))
	s := state{words: strings.Trim(created+", "+serves, ", "), note: note(o)}
	is := func(phase health.Phase, reason, what string) state {
		s.phase, s.reason, s.what = phase, reason, what
		return s
	}
	unknown := func(value string) state {
		return is(health.Error, "UnknownState", fmt.Sprintf("in a state that is not known: %q", value))
	}
	switch known := created == "Created" || created == "Creating" || created == "Terminating"; {
	case o.Deleting(), created == "Terminating":
		return is(health.Progressing, "Terminating", "being deleted")
	case created == "":
		return is(health.Progressing, "NotCreated", "without a status, so that nobody has made it yet")
	case !known:
		return unknown(created)
	case created == "Creating" && (serves == "" || serves == "Online" || serves == "Unknown"):
		return is(health.Progressing, "Creating", "being made")
	}
	switch serves {
	case "Online":
		s.phase, s.online = health.OK, true
		return s
	case "Degraded":
		return is(health.Error, degraded, "degraded; it still serves")
	case "Faulted":
		s.outage = true
		return is(health.Error, "Faulted", "faulted")
	case "Offline":
		s.outage = true
		return is(health.Error, "Offline", "offline")
	case "Suspected":
		s.outage = true
		return is(health.Error, "Suspected", "suspected of being lost")
	case "Unknown", "":
		return is(health.Progressing, "NoAnswer", "created, and the node or the control plane does not answer")
	}
	return unknown(serves)
}

// note is what the pool says about an error.
func note(o *krm.Object) string {
	status := o.Node.Get("status")
	var parts []string
	if code := status.Str("error", "code"); code != "" {
		parts = append(parts, code)
	}
	for _, alert := range status.Seq("errorInfo", "alerts") {
		if text := cmp.Or(alert.Value(), alert.Str("message"), alert.Str("description"), alert.Str("code")); text != "" {
			parts = append(parts, text)
		}
	}
	for _, c := range status.Seq("conditions") {
		if c.Str("type") == "PoolReady" && c.Str("status") == "False" {
			if text := cmp.Or(c.Str("message"), c.Str("reason")); text != "" {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, "; ")
}

// addWarning adds the newest event that tells of something wrong with the pool.
func (s *state) addWarning(event string) {
	if reason, _, _ := strings.Cut(event, ":"); s.note == reason {
		s.note = "" // the event says it, and more
	}
	s.note = strings.Trim(s.note+"; "+event, "; ")
}

// usedSpace says how much of a live pool is in use, or "".
func usedSpace(o *krm.Object) string {
	if o == nil {
		return ""
	}
	if percent := o.Annotation(krm.AnnotationUsedPercent); percent != "" {
		return percent + " percent of it is in use"
	}
	used, isUsed := o.Node.Get("status", "used").Int()
	capacity, isCapacity := o.Node.Get("status", "capacity").Int()
	if !isUsed || !isCapacity || capacity <= 0 {
		return ""
	}
	return strconv.FormatInt(used, 10) + " of its " + strconv.FormatInt(capacity, 10) + " bytes are in use"
}
