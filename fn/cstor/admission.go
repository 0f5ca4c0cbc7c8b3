package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// admit reports what would become of a CStorPoolCluster that is to be rendered, were it
// applied now.
func admit(in *input, of *standing.Cluster, wanted *pool.Cluster) {
	old := baseline(in, of)
	problems := in.state.Review(old, wanted)
	judged, had := map[string]bool{}, old.Has()
	held := of.Before != nil && admission.NewStep(of.Before, wanted).Empty()
	for _, p := range problems {
		judged[p.Disk] = true
		if was := in.standing.OnHost(p.Host); p.Rule == "disk-elsewhere" && was != nil && in.standing.Pooled(p.Disk) && in.live.elsewhere(was.Pool) != "" {
			continue // the pool is rendered to move, and there is a finding that it cannot yet
		}
		severity := severityOf(p)
		if old == nil && (in.standing.Pooled(p.Disk) || p.Rule == "node-count" && in.standing.OnHost(p.Host) != nil) {
			severity = finding.Warning // what was rendered earlier is held, and nothing lives of it
		}
		if held && had[p.Disk] && (p.Rule == "disk-inactive" || p.Rule == "disk-missing") {
			severity = finding.Warning // a disk that lives is broken, and nothing is asked that was not before
		}
		in.report(severity, p.Rule, "", "%s", fate(p, old != nil)+p.Advice())
	}
	for _, p := range wanted.Pools {
		for _, name := range p.Disks() {
			if had[name] || judged[name] || in.standing.Pooled(name) {
				continue
			}
			want := in.keep(in.standing.NodeOn(p.Hostname, in.facts))
			want.Volumes = func(*inventory.Volume) bool { return true }
			if reason := in.ledger.Verdict(in.disk(name), want).Reason(); reason != "" {
				in.report(finding.Error, "disk-unfit", "", "block device %s cannot be in the pool on %s: %s; the cStor webhook does not look at that", name, p.Hostname, reason)
			}
		}
	}
	warnOfHostnames(in, wanted.Pools)
	if !slices.ContainsFunc(problems, func(p admission.Problem) bool { return p.Outcome == admission.Late }) {
		warnOfEdits(in, of, wanted)
	}
}

// baseline is what the API server compares with: the live pool cluster, or what was
// rendered where the facts do not tell of any; nil where there is none.
func baseline(in *input, of *standing.Cluster) *pool.Cluster {
	switch {
	case of.Current != nil:
		return of.Current
	case of.Before == nil || in.facts.Tells(cstorGroup, poolClusterKind, in.namespace):
		return nil
	}
	rendered := *of.Before
	rendered.Pools = nil
	for _, p := range in.standing.PoolsOf(of) { // among them those that were restored
		rendered.Pools = append(rendered.Pools, p.Pool)
	}
	return &rendered
}

// severityOf is an error for what must not be applied.
func severityOf(p admission.Problem) finding.Severity {
	switch {
	case p.Outcome == admission.Late, p.Outcome == admission.Unknown, p.Rule == "two-changes", p.Rule == "write-cache":
		return finding.Warning
	}
	return finding.Error
}

// fate says what becomes of an edit, and who sees to that.
func fate(p admission.Problem, update bool) string {
	switch p.Outcome {
	case admission.Refused:
		if update {
			return "the cStor admission webhook would refuse the change of the CStorPoolCluster: "
		}
		return "the cStor admission webhook would refuse the CStorPoolCluster: "
	case admission.Ignored:
		return "the cStor webhook lets it pass, and the operator never carries it out: "
	case admission.Broken:
		return "the cStor webhook lets it pass, and it goes wrong: "
	case admission.Late:
		return "the API server may refuse the CStorPoolCluster, since it waits too short for the cStor webhook: "
	case admission.Lost:
		return "the cStor webhook lets it pass, and data is lost: "
	}
	return ""
}

// warnOfHostnames says which nodes escape the day-2 checks of the webhook.
func warnOfHostnames(in *input, pools []*pool.Pool) {
	var nodes []string
	for _, p := range pools {
		for _, n := range in.facts.Host(p.Hostname) {
			if n.Name == p.Hostname {
				continue
			}
			// Of a node that was renamed there is a warning already.
			if was := in.standing.OnHost(p.Hostname); was == nil || was.Node == n.Name || in.facts.Node(was.Node) != nil {
				nodes = append(nodes, fmt.Sprintf("%s (%s)", n.Name, p.Hostname))
			}
		}
	}
	if len(nodes) > 0 {
		in.report(finding.Warning, "hostname-differs", "",
			"the hostname label is not the name of node %s: the cStor webhook then checks no later change of its pool, so never edit the CStorPoolCluster by hand",
			finding.Names(nodes))
	}
}
