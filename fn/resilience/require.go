package resilience

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema"
)

// Requirement is what a pipeline requires of the volumes, and whether it holds.
type Requirement struct {
	Require        string          `json:"require"` // as it was written
	Holds          bool            `json:"holds"`
	Counterexample *Counterexample `json:"counterexample"` // null if it holds

	kind, node string // any one node, zone or disk; or a node by its name
	limit      State  // the best state that is too bad
}

// Counterexample is the first object without which a requirement does not hold, and its worst volume.
type Counterexample struct {
	Object string `json:"object"`
	Volume string `json:"volume"`
	State  State  `json:"state"` // the worst that the facts allow

	may bool // the facts allow a better one
}

// The limits of a requirement.
const (
	noLoss     = "no-loss"
	noStop     = "no-stop"
	noDegraded = "no-degraded"
)

// ParseRequirement reads "any one node", zone or disk, or "node/NAME", with :no-loss, :no-stop or :no-degraded behind it. The error is
// a UsageError.
func ParseRequirement(text string) (Requirement, error) {
	r := Requirement{Require: text}
	object, limit, limited := strings.Cut(strings.Join(strings.Fields(text), " "), ":")
	if !limited {
		limit = noLoss
	}
	limits := map[string]State{noLoss: Lost, noStop: Stops, noDegraded: Degraded}
	if r.limit = limits[limit]; r.limit == "" {
		words := []string{noLoss, noStop, noDegraded}
		return r, misuse("--require %q: %q is not one of %s%s", text, limit, strings.Join(words, ", "), schema.DidYouMean(limit, words))
	}
	kind, anyOne := strings.CutPrefix(object, "any one ")
	node, one := strings.CutPrefix(object, "node/")
	switch {
	case anyOne && slices.Contains(Kinds(), kind):
		r.kind = kind
	case one && node != "":
		r.node = node
	default:
		return r, misuse("--require %q: write \"any one node\", zone or disk, or node/NAME, and :no-loss, :no-stop or :no-degraded behind it", text)
	}
	return r, nil
}

// Check judges a requirement by the worst states that the facts allow. The error is an UnknownError.
func (s *Situation) Check(r Requirement) (Requirement, error) {
	var objects []further
	if r.node != "" {
		if !s.ledger.nodes[r.node] {
			return r, absent("Node", r.node, s.ledger.nodeNames())
		}
		objects = []further{{"node/" + r.node, lossOf(r.node)}}
	} else if objects = s.further(r.kind); len(objects) == 0 {
		return r, UnknownError("--require \"" + r.Require + "\" cannot be checked: the inventory has no " + r.kind + " that could be lost")
	}
	failsNow := s.exceeds(s.ledger.Volumes, r.limit)
	for _, more := range objects {
		with := s.With(more.damage)
		if failsNow || slices.ContainsFunc(with.hit, func(rule *Rule) bool {
			return s.ledger.volumes[rule.id] > 0 && !r.limit.WorseThan(with.Of(rule).Worst)
		}) {
			r.Counterexample = with.worst(more.object)
			return r, nil
		}
	}
	r.Holds = true
	return r, nil
}

// exceeds reports whether the worst state of any item is as bad as a limit.
func (s *Situation) exceeds(items []Item, limit State) bool {
	return slices.ContainsFunc(items, func(i Item) bool { return !limit.WorseThan(s.Of(i.Rule).Worst) })
}

// worst is the worst volume without an object.
func (s *Situation) worst(object string) *Counterexample {
	var c *Counterexample
	for i := range s.ledger.Volumes {
		item := &s.ledger.Volumes[i]
		if v := s.Of(item.Rule); c == nil || v.Worst.WorseThan(c.State) {
			c = &Counterexample{Object: object, Volume: item.Object.String(), State: v.Worst, may: v.State != v.Worst}
		}
	}
	return c
}

// Failure says why the requirement does not hold.
func (r *Requirement) Failure() string {
	c := r.Counterexample
	does := map[State]string{Lost: "is lost", Stops: "stops", Degraded: "is degraded"}[c.State]
	if c.may {
		does = map[State]string{Lost: "may be lost", Stops: "may stop", Degraded: "may be degraded"}[c.State]
	}
	return "--require \"" + r.Require + "\" does not hold: without " + c.Object + " " + c.Volume + " " + does
}
