package dryrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// result sorts the answers into what is there and what would be.
func (r *run) result(wanted []*krm.Object, answers []answer) *Result {
	result := &Result{Served: r.served}
	var untried, unread []*krm.Object
	absent, warned := map[string][]*krm.Object{}, map[string][]*krm.Object{}
	for i, w := range wanted {
		a := &answers[i]
		delete(r.live, w.ID())
		for _, text := range a.warned {
			warned[text] = append(warned[text], w)
		}
		switch {
		case a.unread:
			unread = append(unread, w)
			continue
		case a.dying:
			result.tell(w, finding.Error, "being-deleted", dying(a.live))
			continue
		case a.refused != nil:
			result.Findings = append(result.Findings, refusals(w, a.refused)...)
		case a.absent != "":
			absent[a.absent] = append(absent[a.absent], w)
			result.New = append(result.New, w)
		case a.live == nil:
			result.New = append(result.New, w)
		default:
			if a.live.isClientSide(r.options.Manager) {
				dropped(a.applied.Node, a.live.lastApplied, w.Node)
			}
			result.Old = append(result.Old, strip(&a.live.Object))
			result.New = append(result.New, strip(a.applied))
		}
		if a.untried {
			untried = append(untried, w)
		}
		if a.effect != "" {
			result.tell(w, finding.Warning, "not-tried", "is compared here and not tried with the API server: "+a.effect)
		}
		if a.live != nil && a.live.Owner() != "" && a.live.Owner() != w.RenderedFor() {
			result.tell(w, finding.Warning, "taken-over", "exists as output of "+a.live.Owner()+
				": is that another package's? Two that apply one object undo each other, and one that prunes deletes it")
		}
	}
	for what, objects := range absent {
		result.tell(objects[0], finding.Info, "not-there-yet", "would be created, unchecked: "+what+" is not in the cluster yet"+more(objects))
	}
	for text, objects := range warned {
		result.tell(objects[0], finding.Warning, "api-warning", "the API server warns: "+text+more(objects))
	}
	if len(untried) > 0 {
		result.tell(untried[0], finding.Info, "only-compared", "is compared here and not tried with the API server, which takes rights that nobody should have for a plan: what it would default or refuse is not known"+more(untried))
	}
	if len(unread) > 0 {
		kinds := map[string]bool{}
		for _, w := range unread {
			kinds[w.Kind] = true
		}
		result.tell(unread[0], finding.Warning, "not-compared", "is not compared with the cluster"+more(unread)+": there is no permission to list "+finding.Names(slices.Sorted(maps.Keys(kinds)))+"; ask for it, or compare with kubectl diff")
	}
	for _, l := range r.live {
		switch owner := l.Owner(); {
		case r.options.Partial != nil && r.options.Partial(l.GroupKind()):
		case r.owners[owner]:
			result.Old = append(result.Old, strip(&l.Object))
		case owner != "":
			result.Others = append(result.Others, strip(&l.Object))
		}
	}
	result.Findings = finding.Sort(result.Findings)
	return result
}

func (r *Result) tell(w *krm.Object, severity finding.Severity, rule, message string) {
	r.Findings = append(r.Findings, finding.Finding{Severity: severity, Rule: rule, Object: w.Ref, Pos: w.At(), Message: message})
}

// more says of how many other objects the same is true as of the first.
func more(objects []*krm.Object) string {
	if len(objects) == 1 {
		return ""
	}
	return fmt.Sprintf("; the same holds for %d more", len(objects)-1)
}

// dying says what an apply does to an object that is being deleted: nothing.
func dying(l *liveObject) string {
	kept := ""
	var finalizers []string
	for _, f := range l.Node.Seq("metadata", "finalizers") {
		finalizers = append(finalizers, f.Str())
	}
	if len(finalizers) > 0 {
		kept = ", and only its finalizers keep it (" + strings.Join(finalizers, ", ") + ")"
	}
	return "is being deleted since " + l.Node.Str("metadata", "deletionTimestamp") + kept +
		": no apply stops that, and what it holds goes with it; save that first, and plan again when it is gone"
}
