package diskpool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// input is what every step of a render reads. What the steps find and choose they write to
// the collector.
type input struct {
	*system.Collector
	system.Input
	owner   string
	cfg     config
	form    form
	replace []string // names of pools that are to be replaced

	noNode, noDisk bool // the selector selects none: what is rendered counts as selected, unless it may go
}

// readRelease finds out which fields a pool has, and checks those of the spec by them.
func (in *input) readRelease() {
	if in.cfg.Spec.Release != "" {
		in.checkRelease()
	}
	in.checkLabels()
}

func (in *input) checkRelease() {
	in.form = in.cfg.release.form()
	if text := newest().Newer(in.cfg.Spec.Release, "to write a DiskPool as "+newest().Release+" does"); text != "" {
		in.Report(finding.Warning, "newer-release", "spec.release", "%s", text)
	}
	fields, names := in.cfg.wantedFields()
	definition := definitionOf(in.Facts, in.Held)
	var served *form
	if definition != nil {
		if served = servedForm(definition, fields); served != nil {
			in.form = *served
			in.Report(finding.Info, "served-version", "spec.release", "pools are written as %s, since the definition diskpools.%s of the package decides, and not the release", served.apiVersion, group)
		}
	}
	for i, field := range fields {
		switch {
		case in.form.knows(field):
		case served != nil:
			in.Report(finding.Error, "unknown-to-release", "spec."+names[i], "no served version of the definition diskpools.%s has the field %s; remove it, or update Mayastor and its definition", group, field)
		default:
			in.Report(finding.Error, "unknown-to-release", "spec."+names[i], "release %s has no %s; the first that has it is %s: raise spec.release, or remove it", in.cfg.Spec.Release, field, firstWith(field))
		}
	}
}

// checkLabels looks at the keys of the labels of pools.
func (in *input) checkLabels() {
	for _, key := range slices.Sorted(maps.Keys(in.cfg.Spec.TopologyLabels)) {
		at := in.Object.Node.Get("spec", "topologyLabels").Field(key)
		f := in.Finding(finding.Error, "topology-key", "spec.topologyLabels", "")
		f.Field = "spec.topologyLabels[" + key + "]"
		if at != nil {
			f.Pos = in.Object.Position(at.Off)
		}
		switch {
		case key == labelSet:
			f.Message = "is the label that every pool gets with the name of its set; use another key"
		case strings.Contains(key, "/") && in.cfg.Spec.Release != "" && !in.cfg.release.newerThan(slashMinor):
			f.Message = fmt.Sprintf("has a slash, on which Mayastor fails up to release 2.%d; use a key without one", slashMinor)
		default:
			continue
		}
		in.Collect(f)
	}
}

// allows reports whether a pool may go.
func (in *input) allows(name string) bool {
	one, all := in.Consent.Covers(poolKind, name), in.Consent.Covers(setKind, in.Object.Name)
	return one || all
}

// checkSelectors looks for selectors that select nothing of the inventory.
func (in *input) checkSelectors() {
	spec, disks := &in.cfg.Spec, system.ObjectsOf(in.Disks.Disks(), (*disk.Disk).Report)
	in.noNode = !in.SelectsNodes(in.Facts, spec.AllowedNodes.NodeSelectorTerms, "spec.allowedNodes.nodeSelectorTerms")
	in.noDisk = !in.Selects(spec.DiskSelector.SelectorTerms, disks, "block device", "spec.diskSelector.selectorTerms")
}

// selects reports whether the spec allows a node.
func (in *input) selects(n *inventory.Node) bool {
	return selector.MatchesAny(in.cfg.nodeTerms(), n.Object)
}

// selectsDisk holds a disk against the selector.
func (in *input) selectsDisk(there *disk.Disk) bool {
	terms := in.cfg.Spec.DiskSelector.SelectorTerms
	return len(terms) == 0 || selector.MatchesAny(terms, there.Report())
}

// want is what a disk must meet for a pool of a name.
func (in *input) want(n *inventory.Node, name string) disk.Want {
	return disk.Want{
		Mine: func(h disk.Holder) bool {
			if h.Source != disk.Live {
				return h.Owner == in.owner
			}
			return h.Object.Kind == poolKind && h.Object.Namespace == in.Object.Namespace && h.Object.Name == name && (h.Owner == "" || h.Owner == in.owner)
		},
		Node: n, MinCapacity: in.cfg.minCapacity, AllowedTags: in.cfg.allowedTags,
	}
}

// sameDisk reports whether two pools name one disk.
func (in *input) sameDisk(a, b *pool) bool {
	_, first := splitURI(a.uri())
	_, second := splitURI(b.uri())
	if strings.TrimLeft(first, "/") == strings.TrimLeft(second, "/") && a.node == b.node {
		return true
	}
	return a.disk != nil && a.disk == b.disk && in.namesIt(a) && in.namesIt(b)
}

// namesIt reports whether what a pool names is not known to be another disk than the one that
// it remembers.
func (in *input) namesIt(p *pool) bool {
	named := in.find(&pool{node: p.node, spec: p.spec})
	return named == nil || named == p.disk
}

// find looks for the disk of a pool: by the identity that it remembers, then by its link.
func (in *input) find(p *pool) *disk.Disk {
	hold, found := holdOf(p.node, p.uri())
	if !found {
		return nil
	}
	if m := readMark(p.mark); m.wwn != "" || m.serial != "" {
		if there := in.there(p.node, disk.Hold{Identity: disk.Identity{WWN: m.wwn, Serial: m.serial, Node: p.node}}); there != nil {
			return there
		}
	}
	return in.there(p.node, in.Memory.Recall(in.poolID(p.name), hold))
}

// there is the first of the disks that a hold means which its node has now, or nil.
func (in *input) there(node string, hold disk.Hold) *disk.Disk {
	for _, d := range in.Disks.Named(hold) {
		if !d.Missing() && !d.Inactive() && in.Disks.NodeOf(d) == node {
			return d
		}
	}
	return nil
}

func (in *input) poolRef(name string) finding.Ref {
	return finding.Ref{APIVersion: in.form.apiVersion, Kind: poolKind, Namespace: in.Object.Namespace, Name: name}
}

func (in *input) poolID(name string) krm.ID {
	return krm.ID{Group: group, Kind: poolKind, Namespace: in.Object.Namespace, Name: name}
}
