package cstor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// roleReplica is what a pool is chosen for here.
const roleReplica record.Role = "replica"

// ruleDrain is the rule of the finding that says how far the drain of a pool is.
const ruleDrain = "drain"

// tell says how far each pool is, what becomes of each volume, and what keeps the others.
func (f *draining) tell() {
	for i := range f.plan.Pools {
		f.tellPool(&f.plan.Pools[i], f.nodeAt(f.plan.Pools[i].Pool))
	}
	for _, r := range f.plan.Armed {
		f.tellArmed(r)
	}
	for _, s := range f.plan.Astray {
		f.tellStray(s)
	}
	for i := range f.plan.Moves {
		m := &f.plan.Moves[i]
		node := ""
		if from := f.at[m.Leaves]; from != nil {
			node = from.name
		}
		verdict, text := place.Chosen, sayMove(m)
		if m.Waits != "" {
			verdict = place.Awaited
		}
		f.report(finding.Info, "drain-volume", "", "volume %s: %s", m.Volume, text)
		if faults := m.Volume.NoneHealthy(); faults != "" && m.Waits != "" {
			f.report(finding.Warning, "drain-stuck", "", "volume %s gets no further while none of its replicas is healthy (%s): bring back the disk or the node of one, or restore the volume from a backup", m.Volume, faults)
		}
		f.choose(f.volumeRef(m.Volume), node, roleReplica, verdict, text)
	}
	for _, h := range f.plan.Short {
		severity := finding.Warning
		if h.Turn {
			severity = finding.Info
		}
		f.report(severity, "drain-short", "", "volume %s has %s less than it should have, and gets no new one yet: %s; to keep it so, remove the annotation %s from the live %s",
			h.Volume, finding.Count(f.plan.Missing(h.Volume), "replica"), h.Why, krm.AnnotationOwner, cstorVolumeConfigKind)
		f.choose(f.volumeRef(h.Volume), "", roleReplica, place.Awaited, h.Why)
	}
}

// tellPool says how far the drain of a pool is.
func (f *draining) tellPool(s *drain.Standing, node string) {
	if s.Volumes == 0 {
		return
	}
	what := "is drained"
	if s.Lost {
		what = "is lost"
	}
	text := fmt.Sprintf("the pool on node %s (%s) %s: %s on it, %d of them on their way", node, s.Pool, what, finding.Count(s.Volumes, "volume"), s.Moving)
	turn, held, why := s.Waiting()
	if turn > 0 {
		text += fmt.Sprintf("; %d wait (%s)", turn, why)
	}
	if held > 0 {
		text += fmt.Sprintf("; %d cannot leave it now", held)
	}
	if s.Moving > 0 {
		text += "; apply what is rendered, and refresh the inventory"
	}
	f.standings = append(f.standings, text)
	for _, h := range s.Held {
		f.tellHeld(s, node, h)
	}
}

// tellHeld says why a volume stays on a pool that goes.
func (f *draining) tellHeld(s *drain.Standing, node string, h drain.Held) {
	verdict, why := place.Held, h.Why
	switch {
	case h.Turn:
		verdict = place.Awaited
	case h.Dead && f.consent.given.Covers(cstorVolumeConfigKind, h.Volume.Name):
		why = fmt.Sprintf("%s, and its data is lost: delete it, with its claim, and release its replica (kubectl patch cvr -n %s %s %s)", h.Why, f.namespace, replicaOn(h.Volume, s.Pool), noFinalizers)
		f.report(finding.Warning, "drain-given-up", "", "volume %s keeps the pool on node %s until it is gone: %s", h.Volume, node, why)
	case h.Dead:
		why = fmt.Sprintf("%s, and it stays as it is; bring back the node of a replica, or restore the volume from a backup; if its data is given up, annotate the config with %s: %s/%s", h.Why, krm.AnnotationAllowRemoval, cstorVolumeConfigKind, h.Volume.Name)
		fallthrough
	default:
		f.report(finding.Warning, "drain-held", "", "volume %s cannot leave the pool on node %s: %s", h.Volume, node, why)
	}
	f.choose(f.volumeRef(h.Volume), node, roleReplica, verdict, why)
}

// noFinalizers are the arguments of kubectl patch by which nothing keeps an object any more.
const noFinalizers = `--type merge -p '{"metadata":{"finalizers":null}}'`

// tellFinalizers says how to let go of what a node that is gone for good has left: only its
// pods would take the finalizers away.
func (f *draining) tellFinalizers() {
	for _, i := range f.live.all {
		m := f.at[i.Name]
		if i.Cluster().Name != f.of.Name || len(f.facts.Host(i.RunsOn)) > 0 || m != nil && !f.isLost(m) || m == nil && !f.isLeft(i) {
			continue
		}
		text := fmt.Sprintf("nothing on host %s can remove the finalizers of deleted objects any more, and the cStor operators change nothing in the cluster until then: once the object is being deleted, remove its finalizers yourself: kubectl patch cspi -n %s %s %s",
			i.RunsOn, f.namespace, i.Name, noFinalizers)
		var replicas []string
		for _, v := range f.volumes().Volumes {
			if name := replicaOn(&v, i.Name); name != "" {
				replicas = append(replicas, name)
			}
		}
		if len(replicas) > 0 {
			text += fmt.Sprintf("; and before that its replicas: kubectl patch cvr -n %s %s %s", f.namespace, strings.Join(replicas, " "), noFinalizers)
		}
		f.report(finding.Warning, "lost-finalizers", "", "%s", text)
	}
}

func replicaOn(v *drain.Volume, instance string) string {
	for _, r := range v.Replicas {
		if r.Pool == instance {
			return r.Name
		}
	}
	return ""
}

// tellNotLost says of a pool whose removal is allowed, and whose node is missing, that nothing else shows
// that it is lost, and what would.
func (f *draining) tellNotLost(m *member, i *pool.Instance) {
	f.report(finding.Warning, "not-lost", "",
		"node %s is missing from the inventory, but its disks are Active, CStorPoolInstance %s is %s, and no replica there is offline: no replica of it is removed; run poolwright inventory again after 5 minutes or more: a second snapshot without the node shows that it is lost; to say so yourself: kubectl patch cspi -n %s %s --type merge -p '{\"status\":{\"phase\":\"OFFLINE\"}}'",
		m.name, i.Name, cmp.Or(i.Phase, "new"), f.namespace, i.Name)
}

// tellArmed says what a request to remove a replica does that waits below quorum.
func (f *draining) tellArmed(r drain.Removal) {
	f.report(finding.Warning, "removal-armed", "",
		"volume %s: its live %s asks to remove the replica on %s; %s, so cStor keeps it until a replica is back, and then deletes it, healthy or not; the cStor webhook does not allow the request to be reverted: make sure that those on %s are healthy before its node is back",
		r.Volume, cstorVolumeConfigKind, r.Pool, r.Why, finding.Names(r.Volume.Pools))
}

// tellStray says how to correct a list with a pool that is not there.
func (f *draining) tellStray(s drain.Stray) {
	way := "no other pool can take its place; add one, and refresh the inventory"
	if s.Pools != nil {
		var pools []d.Node
		for _, name := range s.Pools {
			pools = append(pools, d.Object(d.F("poolName", d.Text(name))))
		}
		patch := d.Object(d.F("spec", d.Object(d.F("policy", d.Object(d.F("replicaPoolInfo", d.List(pools...)))))))
		way = fmt.Sprintf("name another in its place: kubectl patch cvc -n %s %s --type merge -p '%s'", f.namespace, s.Volume.Name, d.AppendJSON(nil, &patch))
	}
	f.report(finding.Warning, "pool-stray", "",
		"volume %s: its live %s asks for a replica on CStorPoolInstance %s, which does not exist; cStor tries again forever, and its webhook lets names of the list change, but not their number; %s",
		s.Volume, cstorVolumeConfigKind, s.Pool, way)
}

// tellUnknown says that nothing is known of volumes that move, or of pools that go.
func (f *draining) tellUnknown(rendered int) {
	text := "volumes cannot be moved"
	if rendered > 0 {
		text = fmt.Sprintf("what is rendered for %s that %s stays as it is", finding.Count(rendered, "volume"), finding.Agree(rendered, "moves", "move"))
	}
	f.report(finding.Warning, "drain-unknown", "", "%s: the inventory does not contain %s; refresh it with poolwright inventory", text, finding.Names(f.lacks()))
}

// sayMove says what is done with a volume, and what it waits for.
func sayMove(m *drain.Move) string {
	var text string
	switch m.Stage {
	case drain.Add:
		if text = "it leaves " + m.Leaves + " once it has a replica elsewhere"; len(m.To) > 0 {
			text = fmt.Sprintf("a replica is added on %s, before the one on %s leaves", saySpots(m.To), m.Leaves)
		}
	case drain.Remove:
		if text = "its replica on " + m.Leaves + " leaves"; m.Leaves == "" {
			text = "its replica leaves, since every other is healthy"
		}
	case drain.Release:
		text = "its lost replica is removed, since the others have quorum"
	case drain.Restore:
		if text = "it gets back the replicas that it had"; len(m.To) > 0 {
			text = "it gets back a replica, on " + saySpots(m.To)
		}
	case drain.Settle:
		return m.Waits
	}
	if m.Waits != "" {
		text += "; it waits: " + m.Waits
	}
	return text
}

func saySpots(spots []drain.Spot) string {
	all := make([]string, len(spots))
	for i, s := range spots {
		all[i] = s.Pool
		var why []string
		if s.Zone != "" {
			why = append(why, "zone "+s.Zone)
		}
		if s.Free >= 0 {
			why = append(why, quantity.Size(s.Free)+" free")
		}
		if len(why) > 0 {
			all[i] += " (" + strings.Join(why, ", ") + ")"
		}
	}
	return strings.Join(all, " and ")
}

func (f *draining) volumeRef(v *drain.Volume) finding.Ref {
	return finding.Ref{APIVersion: pool.APIGroup + "/v1", Kind: cstorVolumeConfigKind, Namespace: f.namespace, Name: v.Name}
}
