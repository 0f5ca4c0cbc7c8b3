package localvolume

import (
	"cmp"
	"fmt"
	"time"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Reasons of the condition Ready that the system knows. What else may stand there is shown
// as it stands.
const (
	reasonPending     = "Pending"
	reasonTerminating = "Terminating"
)

// state is how a live Volume or VolumeGroup is.
type state struct {
	phase   health.Phase
	reason  string // one CamelCase word
	what    string // says it of the object
	message string // of the agent
	since   time.Time
	word    string // the phase in the words of the agent, for trees
}

// byPhase takes the state of what has no condition Ready from its phase.
//
// Source: MetalK8s, storage-operator/api/v1alpha1/volume_types.go (VolumePhase), 124.0.
func (s *state) byPhase(phase string) {
	switch s.word = phase; phase {
	case "":
		s.phase, s.reason, s.what = health.Progressing, "NotCreated", "not taken up by the node agent yet"
	case reasonPending:
		s.phase, s.reason, s.what = health.Progressing, reasonPending, "being made"
	case "Available":
		s.phase, s.reason, s.what = health.OK, health.Healthy, "ready"
	case "Failed":
		s.reason, s.what = "Failed", "not ready"
	case reasonTerminating:
		s.reason, s.what = reasonTerminating, "being deleted"
	default:
		s.reason, s.what = "UnknownState", "of an unknown state: its phase is "+phase+", and it has no condition Ready"
	}
}

// awaits says what a Volume or VolumeGroup still waits for, "" once it is ready.
func awaits(live *krm.Object) string {
	s := stateOf(inventory.New(nil), live)
	switch {
	case s.phase == health.OK:
		return ""
	case s.message != "":
		return "is " + s.what + ": " + s.message
	}
	return "is " + s.what
}

// stateOf reads the state of a live Volume or VolumeGroup; nil is one that is not there.
//
// Source: MetalK8s, storage-operator/api/v1alpha1/volume_types.go (ConditionReason), 124.0.
func stateOf(facts *inventory.Facts, o *krm.Object) state {
	if o == nil {
		return state{phase: health.Progressing, reason: "NotCreated", what: "not in the cluster yet; commit and apply it"}
	}
	r := readyOf(o)
	s := state{phase: health.Error, reason: cmp.Or(r.reason, "UnknownState"), message: r.message}
	s.since, _ = time.Parse(time.RFC3339, r.since)
	generation, _ := o.Node.Get("metadata", "generation").Int()
	observed, told := o.Node.Get("status", "observedGeneration").Int()
	if !told {
		observed, told = r.generation, r.generation > 0
	}
	switch {
	case r.count > 1:
		s.reason, s.what, s.word = "UnknownState", fmt.Sprintf("of no known state: it has %d conditions Ready", r.count), "Unknown"
	case o.Deleting():
		s.reason, s.what, s.word = reasonTerminating, "being deleted", reasonTerminating
	case r.count == 0:
		s.byPhase(o.Node.Str("status", "phase"))
	case told && observed < generation:
		s.phase, s.reason, s.what, s.word = health.Progressing, "NotObserved", "not looked at since its last change", o.Node.Str("status", "phase")
	case r.status == "True":
		s.phase, s.reason, s.what, s.word = health.OK, health.Healthy, "ready", "Available"
	case r.status == "False":
		s.reason, s.what, s.word = cmp.Or(r.reason, "Failed"), "not ready", "Failed"
	case r.status == "Unknown" && r.reason == reasonPending:
		s.phase, s.what, s.word = health.Progressing, "being made", reasonPending
	case r.status == "Unknown" && r.reason == reasonTerminating:
		s.what, s.word = "being deleted", reasonTerminating
	default:
		s.reason, s.what, s.word = "UnknownState", "of an unknown state: Ready is "+cmp.Or(r.status, "nothing")+", "+cmp.Or(r.reason, "without a reason"), cmp.Or(o.Node.Str("status", "phase"), r.status)
	}
	if s.phase == health.OK && o.Kind == volumeKind {
		switch pv := persistentOf(facts, o.Name); pv.phase {
		case "Failed", "Lost":
			s.phase, s.reason, s.what = health.Error, "PersistentVolume"+pv.phase, "ready, and its PersistentVolume is "+pv.phase
		}
	}
	return s
}
