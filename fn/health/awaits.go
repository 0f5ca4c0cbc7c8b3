package health

import (
	"cmp"
	"fmt"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Awaits says what a live object of Kubernetes itself, or of an operator that follows its
// conventions, still waits for; "" once it is ready. One without a status is ready.
//
// Source: sigs.k8s.io/cli-utils, pkg/kstatus (README, The Kubernetes API conventions).
func Awaits(live *krm.Object) string {
	if live.Deleting() {
		return "is being deleted"
	}
	status := live.Node.Get("status")
	if observed, told := status.Get("observedGeneration").Int(); told {
		if generation, _ := live.Node.Get("metadata", "generation").Int(); observed < generation {
			return "its controller has not seen the last change yet"
		}
	}
	switch live.GroupKind() {
	case krm.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return unless(status, "Established")
	case krm.GroupKind{Kind: "PersistentVolumeClaim"}:
		if phase := status.Str("phase"); phase != "Bound" {
			return "is " + cmp.Or(phase, "Pending")
		}
		return ""
	case krm.GroupKind{Group: "apps", Kind: "Deployment"}:
		if why := pods(live, "updatedReplicas"); why != "" {
			return why
		}
		return unless(status, "Available")
	case krm.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return pods(live, "readyReplicas")
	case krm.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return daemons(status)
	case krm.GroupKind{Group: "batch", Kind: "Job"}:
		return unless(status, "Complete")
	}
	if c := conditionOf(status, "Ready"); c != nil {
		return unless(status, "Ready")
	}
	return ""
}

// unless says that a condition is not true.
func unless(status *document.Node, kind string) string {
	c := conditionOf(status, kind)
	if c.Str("status") == "True" {
		return ""
	}
	text := "is not " + kind
	if why := cmp.Or(c.Str("message"), c.Str("reason")); why != "" {
		text += ": " + why
	}
	return text
}

// pods says that an object has fewer pods than it is to have.
func pods(live *krm.Object, field string) string {
	wanted, set := live.Node.Get("spec", "replicas").Int()
	if !set {
		wanted = 1
	}
	if have, _ := live.Node.Get("status", field).Int(); have < wanted {
		return fmt.Sprintf("has %d of %d pods", have, wanted)
	}
	return ""
}

func daemons(status *document.Node) string {
	wanted, told := status.Get("desiredNumberScheduled").Int()
	if !told {
		return "its controller has not seen it yet"
	}
	if ready, _ := status.Get("numberReady").Int(); ready < wanted {
		return fmt.Sprintf("has %d of %d pods", ready, wanted)
	}
	return ""
}

// conditionOf finds the condition of a type, nil if there is none.
func conditionOf(status *document.Node, kind string) *document.Node {
	conditions := status.Seq("conditions")
	for i := range conditions {
		if conditions[i].Str("type") == kind {
			return &conditions[i]
		}
	}
	return nil
}
