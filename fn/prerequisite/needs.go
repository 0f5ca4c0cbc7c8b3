package prerequisite

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// Needs is what one spec needs of a cluster, beside the kinds that it is rendered to.
type Needs struct {
	Kinds     []krm.GroupKind // without which nothing is rendered, and those that its output needs
	Delivered []string        // names of the software that its output installs
	Nodes     []Nodes
	Reports   *Reports // nil where no disk has to be reported
	Disks     *Disks   // nil where none is chosen
	More      []Check  // what only the system can check
}

// Nodes is how many nodes there have to be.
type Nodes struct {
	Allowed []*inventory.Node            // those that the spec selects
	Refuse  func(*inventory.Node) string // why a node gets nothing new, or ""
	Want    int
	For     string // what is placed on them: pool, replica, monitor
}

// Tolerating refuses nodes for pods with some tolerations.
func Tolerating(tolerations []place.Toleration) func(*inventory.Node) string {
	return func(n *inventory.Node) string { return place.RefuseNew(n, tolerations) }
}

// Reports says that disks have to be reported on some nodes.
type Reports struct {
	On    []*inventory.Node
	Agent bool // by the node disk manager, or by the node agent
}

// Disks says by which findings of a render there are too few eligible disks.
type Disks struct {
	Short   []string // rules of findings
	Unknown []string // those that say that it is not known
}

// checkNodes is the check that there are enough nodes.
func (c *Cluster) checkNodes(n *Nodes) Check {
	check := Check{Check: "nodes"}
	var refused, down []string
	for _, node := range n.Allowed {
		if why := n.Refuse(node); why != "" {
			refused = append(refused, node.Name+" ("+why+")")
		}
		if node.Readiness() != inventory.Ready {
			down = append(down, node.Name)
		}
	}
	usable := len(n.Allowed) - len(refused)
	count := fmt.Sprintf("%d of %s can take pods, for %s", usable, finding.Count(len(n.Allowed), "allowed node"), finding.Count(n.Want, n.For))
	switch {
	case !c.lists(krm.GroupKind{Kind: "Node"}):
		check.Result = Unknown
		check.Message, check.Remedy = c.untold("nodes")
	case usable < n.Want:
		check.Result, check.Message = Failed, count
		if len(refused) > 0 {
			check.Message += ": " + finding.Names(refused)
		}
		check.Remedy = "let the spec select more nodes, or make these ready: kubectl get nodes --show-labels"
	case len(down) > 0:
		check.Result, check.Message = Warning, count+"; not ready: "+finding.Names(down)
		check.Remedy = "see why: kubectl describe node " + down[0]
	default:
		check.Result, check.Message = OK, count
	}
	return check
}

// reported says which nodes are ready, and on which of them nobody reports a disk.
func (c *Cluster) reported(r *Reports) (ready int, silent []string) {
	agent, devices := inventory.NodeInventoryKind(), map[string]bool{}
	for _, d := range c.Facts.Devices {
		devices[d.NodeName] = true
	}
	for _, n := range r.On {
		if n.Readiness() != inventory.Ready {
			continue
		}
		ready++
		inspected := r.Agent && c.Facts.Object(krm.ID{Group: agent.Group, Kind: agent.Kind, Name: n.Name}) != nil
		if !devices[n.Name] && len(c.Facts.DevicesOn(n.Hostname)) == 0 && !inspected {
			silent = append(silent, n.Name)
		}
	}
	return ready, silent
}

// by names who reports disks, as kinds.
func (r *Reports) by() string {
	device := inventory.DeviceKind().Kind
	if r.Agent {
		return device + " or " + inventory.NodeInventoryKind().Kind
	}
	return device
}

// kinds are those of by, as kubectl takes them.
func (r *Reports) kinds() string {
	if r.Agent {
		return Devices + " and no nodeinventories.poolwright.io"
	}
	return Devices
}

// remedy is what to do where nobody reports a disk.
func (r *Reports) remedy(ndm *Software) string {
	if r.Agent {
		return ndm.remedy() + "; or the node agent of Poolwright: kubectl apply -k deploy/nodeagent"
	}
	return ndm.remedy()
}

// known reports whether the facts list the disks.
func (c *Cluster) known(r *Reports) bool {
	return c.lists(inventory.DeviceKind()) || c.lacks(inventory.DeviceKind()) || r.Agent && HasAgent(c.Facts)
}

// HasAgent reports whether a node agent has reported anything.
func HasAgent(facts *inventory.Facts) bool {
	agent := inventory.NodeInventoryKind()
	return len(facts.Objects(agent.Group, agent.Kind)) > 0
}

// NoReports says that the cluster has nothing by which disks are reported: neither the definition of BlockDevices
// nor a NodeInventory. It is "" where that is not so, or not known.
func NoReports(facts *inventory.Facts) string {
	if !facts.Lacks(inventory.DeviceKind()) || HasAgent(facts) {
		return ""
	}
	ndm := NDM()
	return ndm.Missing(Devices)
}

// checkReports is the check that disks are reported on every node.
func (c *Cluster) checkReports(r *Reports) Check {
	check := Check{Check: "ndm"}
	ndm := NDM()
	ready, silent := c.reported(r)
	switch {
	case !c.known(r):
		check.Result = Unknown
		check.Message, check.Remedy = c.untold(r.kinds())
	case c.lacks(inventory.DeviceKind()) && len(silent) == ready:
		check.Result, check.Message, check.Remedy = Failed, ndm.Missing(Devices), r.remedy(&ndm)
	case len(silent) == ready:
		check.Result = Failed
		check.Message = fmt.Sprintf("no %s on any of %s", r.by(), finding.Count(ready, "allowed, ready node"))
		check.Remedy = "let " + ndm.Name + " run on these nodes, and see its filters: " + ndm.Install
	case len(silent) > 0:
		check.Result = Warning
		check.Message = fmt.Sprintf("no %s on %s", r.by(), finding.Names(silent))
		check.Remedy = "let " + ndm.Name + " run on these nodes, and see its filters: " + ndm.Install
	default:
		check.Result, check.Message = OK, fmt.Sprintf("disks are reported on %s", finding.Count(ready, "allowed, ready node"))
	}
	return check
}

// Rendered is what a render of the spec said.
type Rendered struct {
	Findings []finding.Finding
	Choices  []place.Choice
}

// checkDisks is the check that there are enough eligible disks: a render has looked.
func (c *Cluster) checkDisks(needs *Needs, r Rendered) Check {
	const explain = "see why each disk is refused: poolwright explain"
	check := Check{Check: "disks"}
	used := 0
	for _, choice := range r.Choices {
		if choice.Subject.Kind != "Node" && (choice.Verdict == place.Kept || choice.Verdict == place.Chosen) {
			used++
		}
	}
	i := slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error })
	switch short, unknown := firstOf(r.Findings, needs.Disks.Short, finding.Error, finding.Warning), firstOf(r.Findings, needs.Disks.Unknown, finding.Warning, finding.Info); {
	case needs.Reports != nil && !c.known(needs.Reports):
		check.Result = Unknown
		check.Message, check.Remedy = c.untold(needs.Reports.kinds())
	case needs.Reports != nil && c.lacks(inventory.DeviceKind()) && !(needs.Reports.Agent && HasAgent(c.Facts)):
		ndm := NDM()
		check.Result, check.Message, check.Remedy = Failed, ndm.Missing(Devices), needs.Reports.remedy(&ndm)
	case short != "":
		check.Result, check.Message, check.Remedy = Failed, short, explain
	case unknown != "":
		check.Result, check.Message, check.Remedy = Unknown, unknown, explain
	case used == 0 && i >= 0:
		check.Result, check.Message, check.Remedy = Unknown, "no disk was looked at: "+said(r.Findings[i]), "correct the spec or the inventory: poolwright render shows what is wrong"
	default:
		check.Result, check.Message = OK, finding.Count(used, "eligible disk")+finding.Agree(used, " is chosen", " are chosen")
	}
	return check
}

// firstOf is the first finding of some rules and severities with its field, or "".
func firstOf(fs []finding.Finding, rules []string, severities ...finding.Severity) string {
	i := slices.IndexFunc(fs, func(f finding.Finding) bool {
		return slices.Contains(rules, f.Rule) && slices.Contains(severities, f.Severity)
	})
	if i < 0 {
		return ""
	}
	return said(fs[i])
}

// said is a finding without its object and its place.
func said(f finding.Finding) string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// Check checks what a spec needs. kinds are those that have to be served, of the software that
// brings each.
func (c *Cluster) Check(spec finding.Ref, software []Software, kinds []Kind, needs *Needs, rendered Rendered) []Check {
	var checks []Check
	for _, s := range software {
		delivered := slices.Contains(needs.Delivered, s.Name)
		needed := false
		for _, k := range kinds {
			if s.Brings(k.GroupKind) {
				needed = true
				checks = append(checks, c.definition(k, s, delivered))
			}
		}
		if needed && s.Operator != "" {
			checks = append(checks, c.operator(s, delivered))
		}
	}
	var nodes []Check
	for i := range needs.Nodes {
		nodes = append(nodes, c.checkNodes(&needs.Nodes[i]))
	}
	if len(nodes) > 0 {
		checks = append(checks, worst(nodes))
	}
	if needs.Reports != nil {
		checks = append(checks, c.checkReports(needs.Reports))
	}
	if needs.Disks != nil {
		checks = append(checks, c.checkDisks(needs, rendered))
	}
	checks = append(checks, needs.More...)
	for i := range checks {
		checks[i].Spec = spec.String()
	}
	return checks
}
