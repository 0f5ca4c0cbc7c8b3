package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// entry is one Volume or VolumeGroup at work, of a person or of a template.
type entry struct {
	*system.Collector
	system.Input
	declared
	was   past
	disks []*disk.Disk // that it names, a nil for one that is not found

	all      *rendering
	template *template // that renders it; nil for what a person wrote
}

func newEntry(in system.Input, spec *system.Spec) *entry {
	e := &entry{Collector: system.NewCollector(spec, 0), Input: in, declared: readDeclared(spec.Object)}
	var was *lock
	if o := lockOf(spec.Before); o != nil {
		read, damaged := readSound(o, spec.Object.Kind, spec.Object.Name)
		if damaged == "" {
			was = read
		} else {
			e.Report(finding.Error, "lock-damaged", "", "%s", damaged)
		}
	}
	e.was = newPast(was, in.Facts.Object(spec.Object.ID()))
	return e
}

// host is the node that the object is on.
func (e *entry) host() host { return host{e.node(), e.Facts, e.Disks} }

// ownerKey is the owner of the object: itself, or the template that renders it.
func (e *entry) ownerKey() string {
	if e.template != nil {
		return e.template.owner
	}
	return e.Object.OwnerKey()
}

// adopts reports whether a person lets a Volume take over data that its node has kept.
func (e *entry) adopts() bool { return e.volume != nil && e.host().gaveUp(e.volume.adopt) }

// checkNode looks for the node among the facts.
func (e *entry) checkNode() {
	if !e.host().missing() {
		return
	}
	var names []string
	for _, n := range e.Facts.Nodes {
		names = append(names, n.Name)
	}
	if e.was.exists() {
		e.Report(finding.Warning, "node-missing", "spec.nodeName", "node %s is missing from the inventory; what is on it is held", e.node())
		return
	}
	e.Report(finding.Error, "node-unknown", "spec.nodeName", "%q is not a node of the inventory, which has %s%s; write one of them, or refresh the snapshot",
		e.node(), finding.Names(names), schema.DidYouMean(e.node(), names))
}

// checkDisks looks for the disks that the object names, and asks whether they may be used.
func (e *entry) checkDisks() {
	devices := e.named()
	for i, of := range devices {
		n := e.disk(of)
		n.check()
		at := slices.IndexFunc(devices[:i], of.shares)
		if at < 0 && n.there != nil {
			at = slices.Index(e.disks, n.there)
		}
		if at >= 0 {
			n.report(finding.Error, "disk-repeated", "is in the list already, as %s; remove one of the two", devices[at])
		}
		e.disks = append(e.disks, n.there)
	}
}

// explainSource says what became of what the object is made of, where that is no disk: a group, a Volume, or
// the node that has a sparse file.
func (e *entry) explainSource() {
	switch v, g := e.volume, e.group; {
	case e.isOf(lvm):
		ref := finding.Ref{Kind: reportedGroupKind, Name: v.source.vg}
		at := site{v.node, v.source.vg}
		if own := e.all.groupOf(at); own != nil {
			ref = own.Object.Ref
		} else if lives := livingOf(e.Facts).group[at]; lives != nil {
			ref = lives.object.Ref
		}
		e.explain(ref, 0)
	case g != nil && g.kind == volumeRef:
		e.explain(finding.Ref{APIVersion: group + "/" + version, Kind: volumeKind, Name: g.volume}, 0)
	case e.isOf(sparse), g != nil && g.kind == sparseGroup:
		e.explain(system.NodeRef(e.node()), 0)
	}
}

// explain says what became of what the object names: before is how many findings there were
// before it was looked at.
func (e *entry) explain(ref finding.Ref, before int) {
	verdict, reason := place.Chosen, "the "+e.Object.Kind+" names it"
	if e.was.exists() {
		verdict = place.Kept
	}
	for _, f := range e.Findings[before:] {
		if f.Severity == finding.Error {
			verdict, reason = place.Refused, f.Message
			break
		}
	}
	e.Decide(ref, e.node(), "", verdict, reason)
}

// output is the lock.
func (e *entry) output() system.Output {
	if v := e.volume; v != nil {
		if e.was.lock != nil && e.was.volume != nil {
			v.reclaim = e.was.volume.reclaim // where nothing says it now
		}
		v.reclaim = reclaimPolicy(e.Facts, e.Manifests, v)
	}
	return e.Output([]gitops.Object{{File: "volumelock.yaml", Object: makeLock(e.declared, e.disks, &e.was)}}, nil)
}
