package cstor

import (
	"slices"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/schema/finding"
)

// volumeConfig judges what is rendered of a volume that moves, against what was rendered
// before, or else what lives.
func (a assessment) volumeConfig() {
	if a.Action == change.Remove {
		a.Judge(change.Safe, "", "it is no longer rendered, which changes nothing about the volume")
		return
	}
	var was []string
	if a.Old != nil {
		was = drain.PoolsOf(a.Old)
	} else if live := a.facts.Object(a.New.ID()); live != nil {
		was = drain.PoolsOf(live)
	}
	now := drain.PoolsOf(a.New)
	missing := func(names, others []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
	}
	switch out, in := missing(was, now), missing(now, was); {
	case len(was) == 0:
		a.Judge(change.Disruptive, "", "it is not known on which pools the volume is")
	case len(now) == 0:
		a.Judge(change.Destructive, "", "the volume loses its last replica, and what is on it")
	case len(out) > 1 || len(out) > 0 && len(in) > 0:
		a.Judge(change.Disruptive, "", "the webhook refuses it: one replica goes at a time, and none comes with it")
	case len(out) > 0:
		a.Judge(change.Disruptive, "", "the replica on "+out[0]+" is deleted; the volume goes on with those on "+finding.Names(now))
	case len(in) > 0:
		a.Judge(change.Safe, "", "a replica is added on "+finding.Names(in)+", and filled from the others while the volume is used")
	default:
		a.Judge(change.Safe, "", "its replicas stay where they are")
	}
}
