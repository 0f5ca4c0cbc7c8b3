package diskpool

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// state is how a live pool fares, in the words of Mayastor and in ours.
type state struct {
	phase  health.Phase
	reason string   // one CamelCase word, "" for well
	what   string   // says it of the pool
	words  string   // as the pool says it itself: Created, Online
	notes  []string // its error, its alerts, its events
	online bool     // Created and Online
	outage bool     // it does not serve
}

// degraded is the reason of a pool that still serves.
const degraded = "Degraded"

// awaits says what a pool still waits for, "" once it is online.
func awaits(live *krm.Object) string {
	if s := stateOf(live); s.phase != health.OK {
		return "is " + s.what
	}
	return ""
}

// stateOf reads the status of a pool. A newer operator says status beside pool_status,
// and the former counts. nil is a pool that is not there.
//
// Source: mayastor-control-plane, k8s/operators/src/pool/diskpool/crd/v1beta3.rs (CrPoolState, PoolStatus, PoolErrorCode), 2.12.
func stateOf(o *krm.Object) state {
	if o == nil {
		return state{phase: health.Progressing, reason: health.NotApplied, what: "not applied yet", words: health.Missing}
	}
	status := o.Node.Get("status")
	created, serves := status.Str("cr_state"), cmp.Or(status.Str("status"), status.Str("pool_status"))
	s := state{words: strings.Trim(created+", "+serves, ", "), notes: notes(o)}
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
	case "Suspected":
		s.outage = true
		return is(health.Error, "Suspected", "suspected of being lost")
	case "Offline", "Unknown", "":
		switch code, _ := errorOf(status); {
		case code == "ImportDisabled":
			s.outage = true
			return is(health.Error, "Cordoned", "not imported, since Mayastor has a cordon on it (kubectl mayastor uncordon pool NAME --imports)")
		case serves == "Offline":
			s.outage = true
			return is(health.Error, "Offline", "offline")
		case code == "PoolDeleted":
			s.outage = true
			return is(health.Error, "PoolDeleted", "deleted in Mayastor, although the DiskPool exists")
		}
		return is(health.Progressing, "NoAnswer", "created, and the node or the control plane does not answer")
	}
	return unknown(serves)
}

// errorOf is the error of a pool: status.error up to Mayastor 2.8, and status.errorInfo.error from 2.9 on.
func errorOf(status *document.Node) (code, message string) {
	code = cmp.Or(status.Str("errorInfo", "error", "code"), status.Str("error", "code"))
	return code, cmp.Or(status.Str("errorInfo", "error", "message"), status.Str("error", "message"))
}

// severities of alerts, the worst first, as status.errorInfo.alerts names its lists.
var severities = [...]string{"critical", "warning", "attention", "notice"}

// notes are what the pool reports about an error, each once: the condition repeats the code.
func notes(o *krm.Object) []string {
	status := o.Node.Get("status")
	code, message := errorOf(status)
	s := state{}
	s.add(code, message)
	alerts := status.Get("errorInfo", "alerts")
	for _, severity := range severities {
		if codes := texts(alerts.Seq(severity)); len(codes) > 0 {
			s.add(severity, strings.Join(codes, ", "))
		}
	}
	for _, alert := range texts(alerts.Seq()) { // a list, in early releases
		s.add("", alert)
	}
	if text := status.Str("errorInfo", "alertError"); text != "" {
		s.add("alerts unknown", text)
	}
	for _, c := range status.Seq("conditions") {
		if c.Str("type") == "PoolReady" && c.Str("status") == "False" {
			s.add(c.Str("reason"), c.Str("message"))
		}
	}
	return s.notes
}

// texts are the alerts of a list: codes, or objects with a text.
func texts(alerts []document.Node) []string {
	var all []string
	for i := range alerts {
		a := &alerts[i]
		if text := cmp.Or(a.Value(), a.Str("message"), a.Str("description"), a.Str("code")); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// add adds a note. A code that is there already, alone or with a message, is not repeated.
func (s *state) add(code, message string) {
	note := strings.Trim(code+": "+message, ": ")
	for i, n := range s.notes {
		known, _, _ := strings.Cut(n, ": ")
		switch {
		case n == note || code != "" && message == "" && known == code, n == known+": "+message:
			return
		case n == code:
			s.notes[i] = note // with its message
			return
		}
	}
	if note != "" {
		s.notes = append(s.notes, note)
	}
}

// addPurge adds what the deletion of a pool does that is being deleted.
func (s *state) addPurge(o *krm.Object) {
	if s.reason == "Terminating" {
		s.add("", purge(o))
	}
}

// addWarnings adds the events of a pool that report a problem, the newest first: as many as fit a line.
func (s *state) addWarnings(events []inventory.Warning) {
	const most = 3
	for i, e := range events {
		if i == most {
			s.add("", fmt.Sprintf("%d earlier events", len(events)-most))
			return
		}
		s.add(e.Reason, e.Message)
	}
}

// note joins the notes.
func (s *state) note() string { return strings.Join(s.notes, "; ") }

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
