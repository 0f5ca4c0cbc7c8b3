package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Verify implements system.Verifier: each spec by its status, then what the node agents made
// of each Volume and VolumeGroup: PersistentVolume, logical volume, group and disks.
func (System) Verify(facts *inventory.Facts, specs []system.Followed) []conformance.Check {
	ledger := disk.NewLedger(facts)
	var checks []conformance.Check
	for _, spec := range specs {
		c := system.Conformance(System{}, facts, spec)
		v := &verification{Check: c, facts: facts, ledger: ledger}
		if spec.Object.Kind != templateKind {
			v.object(spec.Object)
		}
		for _, o := range spec.Before {
			switch o.GroupKind() {
			case class.Kind():
				c.Class(facts, o)
			case volumeGroupKind(), groupGroupKind():
				v.object(o)
			}
		}
		checks = append(checks, *c)
	}
	return checks
}

// verification looks at what was made for one spec.
type verification struct {
	*conformance.Check
	facts  *inventory.Facts
	ledger *disk.Ledger
}

// object compares a Volume or a VolumeGroup, as it was written or rendered, with what is in the cluster.
// Of one that does not live, or is not Ready, the status has said that.
func (v *verification) object(wanted *krm.Object) {
	live := v.facts.Object(wanted.ID())
	if live == nil {
		return
	}
	v.Part(live.Ref)
	v.Rendered(v.facts, wanted)
	if readyOf(live).status != "True" {
		return
	}
	l := lockOfObject(live)
	v.disks(live.Ref, &l)
	if l.group != nil {
		v.group(live.Ref, l.group)
		return
	}
	v.persistent(live.Ref, l.volume)
	if l.volume.source.kind == lvm {
		v.slice(live.Ref, l.volume)
	}
}

// disks looks for the disks of an object on its node, and for the mark that the agent found
// on them.
func (v *verification) disks(ref finding.Ref, l *lock) {
	node := l.node()
	if reportsOf(v.facts)[node] == nil && len(l.disks) > 0 {
		v.Untold(ref, agentKind+" of node "+node)
		return
	}
	for _, d := range l.disks {
		found := v.ledger.Named(d.hold(node, ""))
		at := slices.IndexFunc(found, func(there *disk.Disk) bool { return !there.Missing() && v.ledger.NodeOf(there) == node })
		if at < 0 {
			v.Error(conformance.Missing, ref, "is Ready, and its disk %s is not among those that node %s reports", d, node)
			continue
		}
		there := found[at]
		v.Part(there.Ref())
		if there.Entry == nil || there.Entry.Owner == "" || there.Entry.Owner == ownerOf(ref.Kind, ref.Name) || l.shares(there.Entry.Owner) {
			continue
		}
		v.Error(conformance.Owner, ref, "is Ready, and disk %s of node %s has the mark of %s", there.Path, node, there.Entry.Owner)
	}
}

// shares reports whether a disk may have the mark of another object: partitions share one, and
// the group on a Volume marks its device.
func (l *lock) shares(owner string) bool {
	return l.volume != nil && (l.volume.source.kind == partition || owned(owner, groupKind) != "")
}

// group looks for the LVM group on its node.
func (v *verification) group(ref finding.Ref, g *volumeGroup) {
	report := reportsOf(v.facts)[g.node]
	if report == nil {
		return // that is said of its disks, or there are none
	}
	named := report.named(g.vg)
	switch {
	case len(named) == 0:
		v.Error(conformance.Missing, ref, "is Ready, and node %s reports no volume group %s", g.node, g.vg)
	case len(named) > 1:
		v.Error(conformance.Extra, ref, "node %s reports %d volume groups named %s; rename one of them by its UUID: vgrename", g.node, len(named), g.vg)
	case named[0].owner != "" && named[0].owner != ownerOf(groupKind, g.name):
		v.Error(conformance.Owner, ref, "is Ready, and the volume group %s of node %s has the mark of %s", g.vg, g.node, named[0].owner)
	case len(named[0].missing) > 0:
		v.Error(conformance.Missing, ref, "group %s of node %s misses %s", g.vg, g.node, finding.Count(len(named[0].missing), "physical volume"))
	}
}

// slice looks for the logical volume of a Volume.
func (v *verification) slice(ref finding.Ref, of *volume) {
	for _, reported := range reportsOf(v.facts)[of.node].named(of.source.vg) {
		if !reported.tells {
			continue
		}
		at := slices.IndexFunc(reported.volumes, func(lv logicalVolume) bool { return lv.isOf(of.name) })
		if at < 0 {
			v.Error(conformance.Missing, ref, "is Ready, and group %s of node %s has no logical volume %s", of.source.vg, of.node, logicalName(of.name))
			continue
		}
		lv := &reported.volumes[at]
		v.Part(logicalRef(of.source.vg, lv.name))
		if lv.size < of.source.size.bytes {
			v.Warn("smaller", ref, "its logical volume has %s of %s yet", quantity.Size(lv.size), of.source.size.text)
		}
	}
}

// persistent looks for the PersistentVolume of a Volume: one that a group takes has none.
func (v *verification) persistent(ref finding.Ref, of *volume) {
	pv := persistentOf(v.facts, of.name)
	taken := slices.ContainsFunc(groupsOf(v.facts), func(g volumeGroup) bool { return g.volume == of.name })
	switch {
	case !pv.told:
		v.Untold(ref, pvKind)
		return
	case pv.object == nil && !taken:
		v.Error(conformance.Missing, ref, "is Ready, and there is no PersistentVolume %s", of.name)
	case pv.object != nil && taken:
		v.Error(conformance.Extra, pv.object.Ref, "is of a Volume whose device a VolumeGroup takes; delete it, so that no claim gets it")
	}
	if pv.object == nil {
		return
	}
	v.Part(pv.object.Ref)
	spec := pv.object.Node.Get("spec")
	if name := spec.Str("storageClassName"); name != of.class {
		v.Error(conformance.Differs, pv.object.Ref, "is of class %q, and its Volume of %q", name, of.class)
	}
	if spec.Get("nodeAffinity") != nil && !requires(spec.Get("nodeAffinity", "required"), hostnameOf(v.facts, of.node)) {
		v.Error(conformance.Differs, pv.object.Ref, "is not bound to node %s, on which its Volume is", of.node)
	}
	if pv.object.Deleting() {
		v.Error(conformance.Deleting, pv.object.Ref, "is being deleted, and its Volume is not")
	}
}

// hostnameOf is the hostname label of a node, or its name where that is not known.
func hostnameOf(facts *inventory.Facts, node string) string {
	if n := facts.Node(node); n != nil && n.Hostname != "" {
		return n.Hostname
	}
	return node
}

// requires reports whether each term of a node selector asks for a hostname, and no other.
func requires(selector *document.Node, hostname string) bool {
	terms := selector.Seq("nodeSelectorTerms")
	asks := func(term document.Node) bool {
		return slices.ContainsFunc(term.Seq("matchExpressions"), func(e document.Node) bool {
			values := e.Seq("values")
			return e.Str("key") == inventory.LabelHostname && e.Str("operator") == "In" && len(values) == 1 && values[0].Value() == hostname
		})
	}
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(term document.Node) bool { return !asks(term) })
}
