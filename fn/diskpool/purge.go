package diskpool

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
)

// annotationDelete is how a person has a pool deleted that does not answer: a comma list.
const annotationDelete = "openebs.io/delete-opts"

// purge says what deleting a live pool does beyond what it always does, as a clause, or is "". A pool is purged where
// its state is Unknown or Offline: the control plane forgets it, with its replicas, and cordons it.
//
// Source: mayastor-control-plane, k8s/operators/src/pool (delete-opts), 2.12.
func purge(o *krm.Object) string {
	known := []string{"purge", "accept", "accept-volume-loss", "accept-snapshot-loss", "purge-accept-all"}
	options := o.AnnotationList(annotationDelete)
	for _, option := range options {
		if !slices.Contains(known, option) {
			return annotationDelete + " has " + option + ", which Mayastor does not know: it deletes no pool with it; write one of " + strings.Join(known, ", ")
		}
	}
	has := func(option string) bool {
		return slices.Contains(options, option) || slices.Contains(options, "purge-accept-all")
	}
	if !has("purge") {
		return ""
	}
	var lost []string
	for _, accepted := range []struct{ option, what string }{
		{"accept-volume-loss", "volumes whose last replica is on it"}, {"accept-snapshot-loss", "snapshots whose last copy is on it"},
	} {
		if has(accepted.option) {
			lost = append(lost, accepted.what)
		}
	}
	text := annotationDelete + " has it purged where it does not answer"
	if len(lost) > 0 {
		text += ", and accepts the loss of " + strings.Join(lost, " and ")
	}
	return text
}
