package hypercloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Kinds of Kubernetes that a state asks for.
const (
	definitionGroup = "apiextensions.k8s.io"
	definitionKind  = "CustomResourceDefinition"
)

// Deployments that have to be available.
const (
	rookOperator       = "rook-ceph-operator"
	csiOperator        = "ceph-csi-controller-manager"
	snapshotController = "snapshot-controller"
	cdiOperator        = "cdi-operator"
)

// state is how a live object fares, in the words of its operator and in ours.
type state struct {
	phase   health.Phase
	outage  bool   // storage is down, not only at risk
	reason  string // one CamelCase word, "" for well
	what    string // says it of the object
	words   string // as the object says it itself: Ready, HEALTH_OK
	note    string // more about this one
	message string // all of it, where it is not one of several
	since   time.Time
}

// stateOf reads the status of an object of any kind that a HyperCloudStorage becomes, or
// that it needs. nil is an object that is not there.
func stateOf(o *krm.Object) state {
	switch {
	case o == nil:
		return state{phase: health.Progressing, reason: health.NotApplied, what: "not there yet", words: health.Missing}
	case o.Deleting():
		return state{phase: health.Error, outage: true, reason: "Terminating", what: "being deleted, and not by Poolwright", words: "Terminating"}
	}
	switch o.GroupKind() {
	case gk(cephGroup, clusterKind):
		return readCluster(o).fares()
	case gk(cephGroup, poolKind), gk(cephGroup, filesystemKind),
		gk(cephGroup, subvolumesKind), gk(cephGroup, storeKind):
		return phaseState(o)
	case gk(cdiGroup, cdiKind):
		return cdiState(o)
	case gk(appsGroup, deploymentKind):
		return deploymentState(o)
	case gk(definitionGroup, definitionKind):
		return definitionState(o)
	}
	return state{phase: health.OK} // there is nothing more to it than to be there
}

// awaits says what an object of Rook or CDI still waits for, "" once it is ready.
func awaits(live *krm.Object) string {
	if st := stateOf(live); st.phase != health.OK {
		return alone("it", st)
	}
	return ""
}

// phaseState is that of what belongs to a Ceph cluster: Rook says in one word how it is,
// and tries again what it calls a failure.
//
// Source: Rook, pkg/apis/ceph.rook.io/v1 (ConditionType), 1.20.
func phaseState(o *krm.Object) state {
	s := state{words: o.Node.Str("status", "phase")}
	ready := condition(o, "Ready")
	s.since = transition(ready)
	switch s.words {
	case "Ready":
		s.phase = health.OK
	case "Failure", "ReconcileFailed", "Failed":
		s.phase, s.reason, s.what = health.Error, "Failed", "failed"
		s.note = cmp.Or(ready.Str("message"), o.Node.Str("status", "message"))
	case "":
		s.phase, s.reason, s.what = health.Progressing, "NotReady", "without a status, so that Rook has not looked at it yet"
	default:
		s.phase, s.reason, s.what, s.note = health.Progressing, "NotReady", "not ready", s.words
	}
	return s
}

// cdiState is that of CDI.
func cdiState(o *krm.Object) state {
	s := state{words: o.Node.Str("status", "phase")}
	degraded := condition(o, "Degraded")
	switch {
	case s.words == "Error", degraded.Str("status") == "True":
		s.phase, s.reason, s.what = health.Error, "CDIFailed", "failed"
		s.note, s.since = cmp.Or(degraded.Str("message"), degraded.Str("reason")), transition(degraded)
	case s.words == "Deployed":
		s.phase = health.OK
	default:
		s.phase, s.reason, s.what, s.note = health.Progressing, "CDINotDeployed", "not deployed", s.words
	}
	return s
}

// deploymentState is whether a Deployment is available, as it says itself.
func deploymentState(o *krm.Object) state {
	available := condition(o, "Available")
	s := state{phase: health.OK, words: "Available", since: transition(available)}
	if available.Str("status") != "True" {
		s.phase, s.reason, s.what, s.words = health.Progressing, "NotAvailable", "not available", "NotAvailable"
		s.note = available.Str("reason")
	}
	return s
}

// definitionState is whether the API server serves what a definition says.
func definitionState(o *krm.Object) state {
	established := condition(o, "Established")
	s := state{phase: health.OK, words: "Established"}
	if established.Str("status") != "True" {
		s.phase, s.reason, s.what, s.words = health.Progressing, "DefinitionsMissing", "not established", "NotEstablished"
		s.note = established.Str("reason")
	}
	return s
}

// liveCluster is a live CephCluster, decoded.
type liveCluster struct {
	phase, state, message string
	health                string  // HEALTH_OK, HEALTH_WARN, HEALTH_ERR; "" before Ceph answers
	checks                []check // what Ceph finds amiss
	counted               bool    // the running daemons were counted
	running               int     // OSDs
	declared              int     // OSDs that its spec asks for; 0 where it names no devices
	ready                 *document.Node
}

// check is one of Ceph's health checks that is raised.
type check struct{ name, severity string }

func readCluster(o *krm.Object) *liveCluster {
	status := o.Node.Get("status")
	c := &liveCluster{
		phase: status.Str("phase"), state: status.Str("state"), message: status.Str("message"),
		health: status.Str("ceph", "health"), declared: declaredOSDs(o), ready: condition(o, "Ready"),
	}
	if details := status.Get("ceph", "details"); details != nil {
		for i := range details.Fields() {
			f := &details.Fields()[i]
			c.checks = append(c.checks, check{f.Key, f.Value.Str("severity")})
		}
	}
	slices.SortFunc(c.checks, func(a, b check) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.name, b.name)) // HEALTH_ERR first
	})
	if versions := status.Get("ceph", "versions", "osd"); versions != nil {
		c.counted = true
		for i := range versions.Fields() {
			n, _ := versions.Fields()[i].Value.Int()
			c.running += int(n)
		}
	}
	return c
}

// created reports whether Rook has made the cluster, at least once since it last began
// to change something.
func (c *liveCluster) created() bool { return c.state == "Created" }

// raised names the health checks that are raised.
func (c *liveCluster) raised() string {
	var names []string
	for _, check := range c.checks {
		names = append(names, check.name)
	}
	return finding.Names(names)
}

// osdsMissing is the reason of a cluster of which some OSDs do not run.
const osdsMissing = "OSDsMissing"

// fares is the one worst thing about the cluster.
func (c *liveCluster) fares() state {
	s := state{words: strings.Trim(strings.Join([]string{c.phase, c.state, c.health}, ", "), ", "), since: transition(c.ready)}
	is := func(phase health.Phase, reason, what, note string) state {
		s.phase, s.reason, s.what, s.note = phase, reason, what, note
		return s
	}
	switch {
	case c.health == "HEALTH_ERR":
		s.outage, s.since = true, time.Time{}
		return is(health.Error, "HealthError", "in HEALTH_ERR", c.raised())
	case c.phase == "Failure" || c.state == "Error":
		return is(health.Error, "Failed", "failed", c.message)
	case c.created() && c.running == 0:
		s.outage, s.since = true, time.Time{}
		return is(health.Error, "NoOSDs", "made, and has no OSD that runs", c.osdNote())
	case c.created() && c.running < c.declared:
		s.since = time.Time{} // the condition Ready reports something else
		return is(health.Error, osdsMissing, fmt.Sprintf("short of OSDs: %d of %d run", c.running, c.declared), c.osdNote())
	case c.phase == "" && c.state == "":
		return is(health.Progressing, "ClusterNotReady", "without a status, so that Rook has not looked at it yet", "")
	case c.phase != "Ready" || !c.created():
		return is(health.Progressing, "ClusterNotReady", "not ready", cmp.Or(c.message, strings.Trim(c.phase+", "+c.state, ", ")))
	case c.health != "HEALTH_OK" && c.health != "HEALTH_WARN":
		return is(health.Progressing, "HealthUnknown", "without word of Ceph's health", c.health)
	case c.declared > 0 && c.running > c.declared:
		return is(health.Progressing, "OSDsLeft", fmt.Sprintf("left with %s more than is declared", finding.Count(c.running-c.declared, "OSD")),
			"what was taken out has to be purged; see "+guide)
	}
	s.phase = health.OK
	return s
}

// osdNote is what helps to find an OSD that does not run.
func (c *liveCluster) osdNote() string {
	parts := []string{c.health}
	if !c.counted {
		parts = append(parts, "Rook has counted none")
	}
	if raised := c.raised(); raised != "" {
		parts = append(parts, raised)
	}
	return strings.Trim(strings.Join(parts, ", "), ", ")
}

// warning is what Ceph warns of in a cluster that is well otherwise, or "".
func (c *liveCluster) warning() string {
	if c.health != "HEALTH_WARN" {
		return ""
	}
	return strings.TrimSuffix("HEALTH_WARN: "+c.raised(), ": ")
}

// declaredOSDs is how many OSDs a CephCluster asks for: one a device, or as many as it
// says, for the device, its node or all.
func declaredOSDs(o *krm.Object) int {
	storage := o.Node.Get("spec", "storage")
	count := 0
	nodes := storage.Seq("nodes")
	for i := range nodes {
		devices := nodes[i].Seq("devices")
		if len(devices) == 0 {
			devices = storage.Seq("devices")
		}
		for j := range devices {
			text := cmp.Or(devices[j].Str("config", "osdsPerDevice"), nodes[i].Str("config", "osdsPerDevice"), storage.Str("config", "osdsPerDevice"), "1")
			n, err := strconv.Atoi(text)
			if err != nil {
				n = 1 // Rook does as if nothing was said
			}
			count += n
		}
	}
	return count
}

// condition finds a condition of an object; nil if there is none.
func condition(o *krm.Object, kind string) *document.Node {
	conditions := o.Node.Seq("status", "conditions")
	for i := range conditions {
		if conditions[i].Str("type") == kind {
			return &conditions[i]
		}
	}
	return nil
}

func transition(c *document.Node) time.Time {
	t, _ := time.Parse(time.RFC3339, c.Str("lastTransitionTime")) // zero where it is unknown
	return t
}
