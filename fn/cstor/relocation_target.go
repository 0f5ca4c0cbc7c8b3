package cstor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// annotationAllowMove is, on a spec, consent that pools follow their disks although their
// old nodes are still there: CStorClusterStorageSet/<config>-<node>[,...].
const annotationAllowMove = "poolwright.io/allow-move"

// moveConsent is what annotationAllowMove names.
type moveConsent struct {
	names
	given *system.Consent
}

func (c moveConsent) allows(node string) bool {
	return c.given.Covers(storageSetKind, c.storageSet(node))
}

// annotation is what allows the pool of a node to move.
func (c moveConsent) annotation(node string) string {
	return annotationAllowMove + ": " + storageSetKind + "/" + c.storageSet(node)
}

// unwanted says why the new node of a pool may not carry it, or "".
func (r *relocation) unwanted(d *displaced) string {
	to := r.host(d.to)
	if why := cmp.Or(place.RefuseHostname(to, r.facts), place.RefuseNew(to, r.settings(to.Name).tolerations)); why != "" {
		return "node " + to.Name + " can carry no pool: " + why
	}
	if !r.allows(to, to.Name) {
		field, why := r.notAllowed(to.Name)
		if field == selectorField {
			return "node " + to.Name + " is not selected by " + selectorField + "; select it"
		}
		return "node " + to.Name + " " + why + "; give it an entry"
	}
	if s := r.settings(to.Name); !r.entryFollows(d.Node, to.Name) && s != r.settings(d.Node) && !r.fits(s, d.Pool) {
		return "the spec wants another pool on node " + to.Name + ", with " + s.field("raidType") + ": " + s.raidType + "; write an entry of " + r.written(listedField) + " that fits"
	}
	return ""
}

// unfit says which disk of a pool cannot be trusted to be what it was, or "".
func (r *relocation) unfit(d *displaced) string {
	want := r.keep(d.Node)
	want.Node = r.host(d.to)
	for _, name := range d.Disks() {
		now, was := r.disk(name), r.standing.SetOf(d.Node).Known[name].Identity
		verdict := r.ledger.Verdict(now, want)
		doubt := cmp.Or(verdict.Of(disk.WrongNode, disk.NotActive), verdict.Doubt())
		switch id := now.Known(); {
		case doubt != "":
			return "block device " + name + ": " + strings.TrimPrefix(doubt, "it ") + "; look at the disk"
		case id.Empty():
			return "block device " + name + " has no serial number, WWN or by-id link, so that nothing shows that it is the same disk; put it back"
		case isAnother(id, was):
			return fmt.Sprintf("block device %s is another disk than it was (%s, was %s); put the disk back", name, id, was)
		}
	}
	return ""
}

// isAnother reports whether a disk is not the one that the lock knows by its name, as far
// as that knows anything of it.
func isAnother(now, was disk.Identity) bool {
	if differ(now.WWN, was.WWN) || differ(now.Serial, was.Serial) {
		return true
	}
	same := now.WWN != "" && now.WWN == was.WWN || now.Serial != "" && now.Serial == was.Serial ||
		slices.ContainsFunc(now.Links, func(link string) bool { return slices.Contains(was.Links, link) })
	return !same && (was.WWN != "" || was.Serial != "" || len(was.Links) > 0)
}

// differ reports whether both are known and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// unallowed says that a pool must not leave its old node by itself, or "": a disk in a
// shelf that two nodes share is reported by either, and a pool that runs twice is lost.
func (r *relocation) unallowed(d *displaced) string {
	old := r.stillThere(d)
	if old == nil || r.allowed.allows(d.Node) {
		return ""
	}
	return fmt.Sprintf("node %s is still there, and the pool may run there yet; make sure that it does not and that no disk is connected to both, and annotate the config with %s", old.Name, r.allowed.annotation(d.Node))
}

// stillThere is the node on which a pool was, nil if that is gone: another that was made
// under its name is not it, nor is the one that is its new node by another hostname label.
func (r *relocation) stillThere(d *displaced) *inventory.Node {
	to, uid, from := r.host(d.to), r.standing.UID(d.Node), r.runsOn(d.Pool)
	candidates := slices.Clone(r.facts.Host(from))
	if n := r.facts.Node(d.Node); from == d.Hostname && n != nil && !slices.Contains(candidates, n) {
		candidates = append(candidates, n)
	}
	if from != d.Hostname {
		uid = "" // that of another
	}
	i := slices.IndexFunc(candidates, func(n *inventory.Node) bool { return n != to && !differ(n.UID, uid) })
	if i < 0 {
		return nil
	}
	return candidates[i]
}

// otherwiseAiling says what, beside the pools that may move, lets the webhook refuse
// every edit of a cluster, or "".
func (r *relocation) otherwiseAiling(of *standing.Cluster, moving []*displaced) string {
	return r.findAiling(of, func(p *standing.Pool) bool {
		return slices.ContainsFunc(moving, func(d *displaced) bool { return d.Pool == p })
	})
}

// warnOfIdleMoves tells of consent to move what need not move: it would do its work later,
// when nobody thinks of it.
func (r *relocation) warnOfIdleMoves() {
	for _, entry := range r.allowed.given.Unmatched() {
		r.Collect(r.spec.AnnotationFinding(finding.Warning, "move-unmatched", annotationAllowMove, entry, "whose pool is where its disks are, or is not there (any more); remove it"))
	}
}
