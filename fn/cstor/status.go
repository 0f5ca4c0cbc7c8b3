package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Status implements system.Reporter: it follows the flow from the node over claim,
// attachment and block device to the pools, and compares what was rendered with
// what is there.
//
// A node that is down explains everything on it, so its disks and pools are not
// looked at: they would only turn the status to and fro while it starts again.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	s := newSituation(facts, spec, out)
	s.checkRendered()
	s.checkNodes()
	s.checkClaims()
	s.checkAttachments()
	s.checkDevices()
	for _, of := range s.before.Clusters() {
		s.checkPoolCluster(of)
	}
	s.checkPools()
	s.detail()
	s.checkMoves()
	s.checkTransitions()
	status := s.report.Status(spec.Object.Ref, s.pools()+" healthy"+s.full())
	status.Transitions = out.Transitions
	if len(out.Transitions) > 0 && status.Phase == health.Progressing {
		status.Message = out.Transitions[0].String() + ": " + status.Message
	}
	return status
}

// standing is one CStorClusterConfig as it stands.
type situation struct {
	*system.Spec
	names
	facts     *inventory.Facts
	before    *standing.Standing       // what was rendered or else is live
	out       system.Output            // what the facts give now
	instances []*pool.Instance         // of all CStorPoolClusters
	rendered  map[string][]*krm.Object // by kind, in order of their names
	wanted    map[string][]*krm.Object // what would be rendered by now, by kind
	storages  map[string]string        // the Storage of an attachment
	down      map[string]bool          // nodes that are missing or not ready
	report    health.Report
}

func newSituation(facts *inventory.Facts, spec *system.Spec, out system.Output) *situation {
	s := &situation{
		Spec: spec, names: names{spec.Object.Namespace, spec.Object.Name}, facts: facts, out: out,
		rendered: map[string][]*krm.Object{}, wanted: map[string][]*krm.Object{}, storages: map[string]string{}, down: map[string]bool{},
	}
	live := pool.LiveOf(facts)
	clusters := findPoolClusters(s.names, spec.Object.OwnerKey(), spec.Before, admission.NewState(facts, live))
	s.before = standing.New(record.Read(spec.Before), clusters, facts)
	for _, of := range clusters {
		s.instances = append(s.instances, live.Instances(s.namespace, of.Name)...)
	}
	for _, o := range spec.Before {
		if !o.Retained() {
			s.rendered[o.Kind] = append(s.rendered[o.Kind], o)
		}
	}
	for _, o := range out.Objects {
		if !o.Retained {
			s.wanted[o.Kind] = append(s.wanted[o.Kind], o.Object)
		}
	}
	for _, objects := range s.rendered {
		slices.SortFunc(objects, func(a, b *krm.Object) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, claim := range append(slices.Clone(s.rendered[volumeClaimKind]), s.wanted[volumeClaimKind]...) {
		s.storages[record.AttachmentName(s.namespace, claim.Name)] = claim.Name
		s.storages[record.JoinName(s.namespace, claim.Name, record.NodeOfVolume(claim))] = claim.Name
	}
	return s
}

// full says how many pools are above the threshold of poolExpansion, where any is.
func (s *situation) full() string {
	n := 0
	for _, f := range s.out.Findings {
		if f.Rule == rulePoolFull {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d above the threshold of poolExpansion (see poolwright render)", n)
}

// pools says "3 of 3 pools".
func (s *situation) pools() string {
	n := len(s.before.Pools())
	return fmt.Sprintf("%d of %s", n, finding.Count(n, "pool"))
}

// checkRendered tells whether there is anything to look at.
func (s *situation) checkRendered() {
	step := s.report.Step("object")
	if finding.Failed(s.out.Findings) {
		p := health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(s.out.Findings)}
		if len(s.facts.Nodes) == 0 {
			p.Message = "there is no Node among the facts, so nothing can be chosen"
		}
		step.Add(p)
		return
	}
	if !s.IsRendered() && !s.before.IsRunning() {
		step.Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotRendered, Since: created(s.Object),
			Message: "nothing is rendered for it yet, and no CStorPoolCluster " + s.name + " is in the cluster; run poolwright render, commit and apply what it writes",
		})
		return
	}
	// Its pools and claims tell of what was applied, too.
	rendered, applied := 0, len(s.instances)
	for _, of := range s.before.Clusters() {
		applied += s.claimed(of)
	}
	for _, o := range s.Before {
		if o.Group() == daoGroup {
			continue
		}
		rendered++
		if s.facts.Object(o.ID()) != nil {
			applied++
		}
	}
	if rendered > 0 && applied == 0 {
		step.Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotApplied,
			Message: fmt.Sprintf("rendered (%s), but not in the cluster yet; commit and apply it", finding.Count(rendered, "object")),
		})
	}
}

// checkNodes reports the nodes that are missing or not ready.
//
// Source: Kubernetes, Node Status (conditions), 1.36.
func (s *situation) checkNodes() {
	step := s.report.Step("node")
	var problems []health.Problem
	for _, name := range s.before.Nodes() {
		step.Count()
		p := health.Problem{Phase: health.Error, Outage: true, Subject: name, Node: name}
		hostname := s.hostname(name)
		n := s.facts.Node(name)
		if hosts := s.facts.Host(hostname); n == nil && len(hosts) == 1 {
			n = hosts[0]
		}
		switch {
		case n == nil:
			p.Reason, p.What = "NodeMissing", "missing from the cluster"
			s.down[name] = true
		case hostname != "" && n.Hostname != hostname:
			p.Reason, p.What = "HostnameChanged", "without the hostname label that its pool selects"
			p.Note = fmt.Sprintf("%q, not %q", n.Hostname, hostname)
		default:
			ready := condition(n.Object, "Ready")
			switch since := changed(ready); ready.Str("status") {
			case "", "True": // a snapshot need not hold it
				s.report.Unchanged(since)
				continue
			default:
				s.down[name] = true
				p.Reason, p.What, p.Since, p.Note = "NodeNotReady", "not ready", since, ready.Str("reason")
				p.Made = true
				if n.Unschedulable {
					// Somebody works on it, and will bring it back.
					p.Phase, p.What = health.Progressing, "not ready and cordoned"
				}
			}
		}
		problems = append(problems, p)
	}
	for _, p := range problems {
		// Volumes go on without one node of several. With more of them down, or the
		// only one, they stop: that is no maintenance.
		if len(problems) > 1 || len(s.before.Nodes()) == 1 {
			p.Phase = health.Error
		}
		step.Add(p)
	}
}

// hostname is the host on which the pool of a node is, or is to be.
func (s *situation) hostname(node string) string {
	if p := s.before.Pool(node); p != nil {
		return p.Hostname
	}
	return s.before.SetOf(node).Hostname
}

// checkAwaited takes over what the renderer awaits. What was seen of it in the
// same step comes first, and tells more.
func (s *situation) checkAwaited(step *health.Step, rule string) {
	for _, f := range s.out.Findings {
		if f.Rule == rule {
			step.Add(health.Problem{Phase: health.Progressing, Made: rule == "awaiting-spare", Reason: awaiting(rule), Message: f.Message})
		}
	}
}

// checkUnrendered looks for objects that the spec and the cluster ask for by now
// and that are not rendered, or rendered otherwise.
func (s *situation) checkUnrendered(step *health.Step, kind string) {
	for _, o := range s.wanted[kind] {
		have := s.before.Object(o.ID())
		if have == nil {
			step.Count()
			have = s.facts.Object(o.ID()) // to be taken over
		}
		if have != nil && within(o.Node.Get("spec"), have.Node.Get("spec")) {
			continue
		}
		storage := s.storageOf(o.Name)
		step.Add(health.Problem{
			Phase: health.Progressing, Made: true, Reason: renderPending, Subject: o.Name, Storage: storage, Node: s.nodeOf(storage),
			What: "not rendered as they now would be (refresh the inventory, run poolwright render, commit)",
		})
	}
}
