package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// How long the API server waits for the webhook.
//
// Source: Kubernetes, ValidatingWebhookConfiguration (timeoutSeconds), 1.36.
const (
	defaultTimeout = 5  // seconds, where cStor is installed as it comes
	longestTimeout = 30 // seconds, the most that Kubernetes allows
)

// Timeout is how long the API server waits for the webhook.
type Timeout struct {
	Seconds int
	Known   bool // from its ValidatingWebhookConfiguration
}

// Allows reports whether a rested webhook answers an edit in time for sure: a slot before
// the API server gives up, since it fails from a little below that.
func (t Timeout) Allows(c Cost) bool { return t.allows(c.slots(burst, c.Chance)) }

func (t Timeout) allows(slots int) bool { return slots < rate*t.Seconds }

// Enough is the least timeout with which a rested webhook answers an edit in time for sure;
// ok is false where the longest does not do.
func Enough(c Cost) (t Timeout, ok bool) {
	t.Seconds = c.slots(burst, c.Chance)/rate + 1
	return t, t.Seconds <= longestTimeout
}

// Given says how long the API server waits, as a clause.
func (t Timeout) Given() string {
	given := "is given " + finding.Count(t.Seconds, "second")
	if !t.Known {
		given += " unless its ValidatingWebhookConfiguration, which the inventory does not have, says otherwise"
	}
	return given
}

// readTimeout finds the configuration of the webhook: by its name, or by what it is
// called for.
func readTimeout(facts *inventory.Facts) Timeout {
	for _, o := range facts.Objects("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") {
		for _, w := range o.Node.Seq("webhooks") {
			named := w.Str("name") == "admission-webhook.cstor.openebs.io"
			for _, rule := range w.Seq("rules") {
				for _, resource := range rule.Seq("resources") {
					named = named || strings.EqualFold(resource.Value(), "cstorpoolclusters")
				}
			}
			if !named {
				continue
			}
			if seconds, ok := w.Get("timeoutSeconds").Int(); ok && seconds > 0 && seconds <= longestTimeout {
				return Timeout{int(seconds), true}
			}
			return Timeout{10, true} // what Kubernetes gives to one that does not say
		}
	}
	return Timeout{Seconds: defaultTimeout}
}

// Late is the problem that the webhook may not answer an edit in time, with what would do;
// found is false where it does.
func (s State) Late(old, wanted *pool.Cluster) (p Problem, found bool) {
	old, wanted = s.Resolve(old), s.Resolve(wanted)
	r := review{State: s, Step: NewStep(old, wanted), old: old, wanted: wanted}
	if !r.Empty() {
		r.time()
	}
	if len(r.problems) == 0 {
		return Problem{}, false
	}
	return r.problems[0], true
}

// time says when the webhook may not answer in time, and what would do.
func (r *review) time() {
	cost := r.cost(r.old, r.wanted)
	if r.Timeout.Allows(cost) {
		return
	}
	verb := "needs about"
	if r.Timeout.allows(cost.slots(burst, 0)) {
		verb = "may need up to"
	}
	p := Problem{Outcome: Late, Rule: "webhook-timeout"}
	p.Text = fmt.Sprintf("the cStor webhook %s %s, and %s", verb, cost.Said(), r.Timeout.Given())
	p.Remedy = r.inTime(cost)
	r.add(p)
}

// Said is how long a rested webhook takes for an edit, at most, and what for.
func (c Cost) Said() string {
	_, most := c.Seconds(burst)
	disks, nodes := c.Requests()
	return fmt.Sprintf("%.1f seconds for it (%s for disks, %s)", most, finding.Count(disks, "request"), finding.Count(nodes, "node list"))
}

// inTime says what would be in time: a longer timeout, or smaller steps.
func (r *review) inTime(c Cost) string {
	var ways []string
	if t, ok := Enough(c); ok {
		ways = append(ways, fmt.Sprintf("set timeoutSeconds: %d there", t.Seconds))
	}
	if step := r.smaller(); step != "" {
		ways = append(ways, step)
	}
	if len(ways) == 0 {
		return fmt.Sprintf("timeoutSeconds: %d, the longest, is too short as well; make several smaller clusters", longestTimeout)
	}
	return strings.Join(ways, ", or ")
}

// smaller names a smaller step that is in time, or "".
func (r *review) smaller() string {
	if r.old == nil {
		return ""
	}
	fits := func(edit func(*pool.Cluster)) bool {
		edited := r.old.Clone()
		edit(edited)
		return r.Timeout.Allows(r.cost(r.old, edited))
	}
	switch {
	case len(r.Grown) > 0:
		least, groups := Growth{}, 0
		for _, g := range r.Grown {
			for _, group := range g.Groups {
				if groups == 0 || len(group) < len(least.Groups[0]) {
					least = Growth{g.Old, []pool.Group{group}}
				}
				groups++
			}
		}
		if groups > 1 && fits(least.edit) {
			return "add one RAID group at a time"
		}
	case len(r.Replaced) > 1:
		// While a disk that failed is left in, the webhook refuses the others.
		if r.failed() < 2 && fits(r.Replaced[0].edit) {
			return "replace one disk at a time"
		}
	case len(r.Added) > 1 && len(r.Replaced) == 0:
		least := slices.MinFunc(r.Added, func(a, b *pool.Pool) int { return cmp.Compare(len(a.Disks()), len(b.Disks())) })
		if fits(func(c *pool.Cluster) { c.Pools = append(c.Pools, least) }) {
			return "add one pool at a time"
		}
	}
	return ""
}

// edit makes a cluster grow.
func (g Growth) edit(c *pool.Cluster) {
	p := c.Host(g.Old.Hostname)
	if p.RAIDType == pool.Stripe && len(p.Data) > 0 {
		p.Data = pool.Groups{slices.Concat(p.Data[0], g.Groups[0])}
		return
	}
	p.Data = append(p.Data, g.Groups...)
}

// edit replaces the disk in a cluster.
func (x Replacement) edit(c *pool.Cluster) {
	p := c.Host(x.Host)
	for _, groups := range []pool.Groups{p.Data, p.Cache} {
		for i, group := range groups {
			if at := slices.Index(group, x.Out); at >= 0 {
				groups[i] = slices.Clone(group)
				groups[i][at] = x.In
			}
		}
	}
}

// failed counts the disks that are replaced and not Active.
func (r *review) failed() int {
	n := 0
	for _, replaced := range r.Replaced {
		if d := r.Facts.Device(r.wanted.Namespace, replaced.Out); d != nil && d.State != "Active" {
			n++
		}
	}
	return n
}
