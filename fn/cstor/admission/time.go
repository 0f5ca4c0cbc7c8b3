package admission

import (
	"fmt"
	"math"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// What the webhook may ask of the API server: five requests a second after a burst of
// ten.
//
// Source: cstor-operators, admission webhook (client-go with its default limits), 3.6.0, measured.
// Source: Kubernetes, ValidatingWebhookConfiguration (timeoutSeconds), 1.36.
const (
	burst          = 10
	rate           = 5  // requests a second
	defaultTimeout = 5  // seconds, where cStor is installed as it comes
	longestTimeout = 30 // seconds, the most that Kubernetes allows
)

// Timeout is how long the API server waits for the webhook.
type Timeout struct {
	Seconds int
	Known   bool // from its ValidatingWebhookConfiguration
}

// Allows reports whether the webhook answers in time when it needs this many requests.
func (t Timeout) Allows(requests int) bool { return requests <= burst+rate*t.Seconds }

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

// Cost is how many requests the webhook makes about an edit. Some depend on the order in
// which it happens to look at pools: it makes Least to Most.
type Cost struct{ Least, Most int }

// Cost counts the requests of a step. n disks are claimed, k are new, g is the size of
// a RAID group: create n; settings, a pool added or removed 2n+k; growth 2n+k+k(1+n),
// the last with a stripe write cache always and else by chance; a replacement 3n+g+5.
func (s Step) Cost(old, wanted *pool.Cluster, claimed func(name string) bool) Cost {
	disks := wanted.Disks()
	requests, kept := len(disks), 0
	if old != nil {
		kept = len(old.Disks())
	}
	for _, name := range disks {
		if claimed(name) {
			requests++
		}
	}
	replaced := 0
	for _, c := range s.Replaced {
		if !c.Cache {
			requests += kept + len(c.Group) + 5
			replaced++
		}
	}
	requests += replaced // the disk that goes is counted as the n-th that is claimed
	cost := Cost{requests, requests}
	for _, g := range s.Grown {
		k := 0
		for _, group := range g.Groups {
			k += len(group)
		}
		cost.Most += k * (1 + kept)
		if len(g.Old.Cache) > 0 && g.Old.CacheType == pool.Stripe {
			cost.Least += k * (1 + kept)
		}
	}
	return cost
}

// Late is the problem that the webhook may not answer an edit in time, with what would do;
// found is false where it does.
func (s State) Late(old, wanted *pool.Cluster) (p Problem, found bool) {
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
	had := map[string]bool{}
	if r.old != nil {
		for _, name := range r.old.Disks() {
			had[name] = true
		}
	}
	cost := r.Cost(r.old, r.wanted, func(name string) bool { return had[name] || r.claimed(name) })
	if r.Timeout.Allows(cost.Most) {
		return
	}
	needs := fmt.Sprintf("needs about %s for it", seconds(cost.Most))
	if r.Timeout.Allows(cost.Least) {
		needs = fmt.Sprintf("may need up to %s for it", seconds(cost.Most))
	}
	given := "is given " + finding.Count(r.Timeout.Seconds, "second")
	if !r.Timeout.Known {
		given = given + " unless its ValidatingWebhookConfiguration, which the inventory does not have, says otherwise"
	}
	p := Problem{Outcome: Late, Rule: "webhook-timeout"}
	p.Text = fmt.Sprintf("the cStor webhook %s (%s), and %s", needs, finding.Count(cost.Most, "request"), given)
	p.Remedy = r.inTime(cost.Most)
	r.add(p)
}

// inTime says what would be in time: a longer timeout, or smaller steps.
func (r *review) inTime(requests int) string {
	var ways []string
	if t := enough(requests); t <= longestTimeout {
		ways = append(ways, fmt.Sprintf("set timeoutSeconds: %d there", t))
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
	n := len(r.old.Disks())
	fits := func(requests int) bool { return r.Timeout.Allows(requests) }
	switch {
	case len(r.Grown) > 0:
		k, groups := math.MaxInt, 0
		for _, g := range r.Grown {
			for _, group := range g.Groups {
				k, groups = min(k, len(group)), groups+1
			}
		}
		if groups > 1 && fits(growthRequests(n, k)) {
			return "add one RAID group at a time"
		}
	case len(r.Replaced) > 1:
		// While a disk that failed is left in, the webhook refuses the others.
		if g := len(r.Replaced[0].Group); r.failed() < 2 && fits(replacementRequests(n, g)) {
			return "replace one disk at a time"
		}
	case len(r.Added) > 1 && len(r.Replaced) == 0:
		k := math.MaxInt
		for _, p := range r.Added {
			k = min(k, len(p.Disks()))
		}
		if fits(additionRequests(n, k)) {
			return "add one pool at a time"
		}
	}
	return ""
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

// enough is the least timeout, in seconds, in which so many requests are made for sure:
// a webhook fails from about 0.3 seconds below it. More than the longest there is not.
func enough(requests int) int {
	if longest := (Timeout{Seconds: longestTimeout}); longest.Allows(requests) {
		return min(longestTimeout, int(math.Ceil(float64(requests-burst)/rate+0.3)))
	}
	return longestTimeout + 1
}

func seconds(requests int) string {
	return finding.Count(max(0, (requests-burst+rate-1)/rate), "second")
}

// claimed reports whether the cluster has a claim on a disk already.
func (r *review) claimed(name string) bool {
	d := r.Facts.Device(r.wanted.Namespace, name)
	if d == nil {
		return false
	}
	claim := r.Facts.ClaimOf(d)
	return claim != nil && claim.PoolCluster == r.wanted.Name
}
