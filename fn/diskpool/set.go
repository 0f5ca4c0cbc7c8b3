package diskpool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{}
	for _, spec := range specs {
		s := &set{Collector: system.NewCollector(spec, 0), in: in, owner: spec.Object.OwnerKey(), released: map[krm.ID]bool{}, givenUp: map[*disk.Disk]bool{}}
		s.replace = replaced(spec.Object)
		var err error
		if s.cfg, err = readConfig(spec); err != nil {
			s.Report(finding.Error, "spec", "", "%v", err)
		}
		r.sets = append(r.sets, s)
	}
	return r
}

type rendering struct{ sets []*set }

// Keep implements system.Rendering.
func (r *rendering) Keep() {
	for _, s := range r.sets {
		if !s.Failed() {
			s.readRelease()
			s.keep()
		}
	}
}

// Choose implements system.Rendering.
func (r *rendering) Choose() []system.Output {
	for _, s := range r.sets {
		if !s.Failed() {
			s.choose()
		}
	}
	r.checkDefaults()
	outputs := make([]system.Output, len(r.sets))
	for i, s := range r.sets {
		outputs[i] = s.output()
	}
	return outputs
}

// set is one DiskPoolSet at work.
type set struct {
	*system.Collector
	in       system.Input
	owner    string
	cfg      config
	form     form
	replace  []string // names of pools that are to be replaced
	pools    []*pool
	used     map[*disk.Disk]bool // by pools of the set
	perNode  map[string]int      // pools that stay on a node
	classes  []setClass
	released map[krm.ID]bool
	givenUp  map[*disk.Disk]bool // disks of pools that went in this run
}

// replaced reads which pools are to be replaced.
func replaced(o *krm.Object) []string {
	var names []string
	for entry := range strings.SplitSeq(o.Annotation(annotationReplace), ",") {
		if name, found := strings.CutPrefix(strings.TrimSpace(entry), poolKind+"/"); found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// readRelease finds out which fields a pool has.
func (s *set) readRelease() {
	s.form = s.cfg.release.form()
	if s.cfg.release.newerThan(newestMinor) {
		s.Report(finding.Info, "newer-release", "spec.release", "%s is newer than the newest release that is known, 2.%d; pools are written as for that", s.cfg.Spec.Release, newestMinor)
	}
	fields, names := s.cfg.wantedFields()
	definition := definitionOf(s.in.Facts, s.in.Held)
	var served *form
	if definition != nil {
		if served = servedForm(definition, fields); served != nil {
			s.form = *served
			s.Report(finding.Info, "served-version", "spec.release", "pools are written as %s, since the definition diskpools.%s of the package decides, and not the release", served.apiVersion, group)
		}
	}
	for i, field := range fields {
		switch {
		case s.form.knows(field):
		case served != nil:
			s.Report(finding.Error, "unknown-to-release", "spec."+names[i], "no served version of the definition diskpools.%s has the field %s; remove it, or update Mayastor and its definition", group, field)
		default:
			s.Report(finding.Error, "unknown-to-release", "spec."+names[i], "release %s has no %s; the first that has it is %s: raise spec.release, or remove it", s.cfg.Spec.Release, field, firstWith(field))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.cfg.Spec.TopologyLabels)) {
		at := s.Object.Node.Get("spec", "topologyLabels").Field(key)
		f := s.Finding(finding.Error, "topology-key", "spec.topologyLabels", "")
		f.Field = "spec.topologyLabels[" + key + "]"
		if at != nil {
			f.Pos = s.Object.Position(at.Off)
		}
		switch {
		case key == labelSet:
			f.Message = "is the label that every pool gets with the name of its set; use another key"
		case strings.Contains(key, "/") && !s.cfg.release.newerThan(slashMinor):
			f.Message = fmt.Sprintf("has a slash, on which Mayastor fails up to release 2.%d; use a key without one", slashMinor)
		default:
			continue
		}
		s.Collect(f)
	}
}

// selects reports whether the spec allows a node.
func (s *set) selects(n *inventory.Node) bool {
	return selector.MatchesAny(s.cfg.nodeTerms(), n.Object)
}

func nodeRef(name string) finding.Ref {
	return finding.Ref{APIVersion: "v1", Kind: nodeKind, Name: name}
}

// diskRef names a disk for people: one that only a node agent reports has no object.
func diskRef(there *disk.Disk) finding.Ref {
	if there.Device != nil {
		return there.Device.Object.Ref
	}
	return finding.Ref{Kind: "Disk", Namespace: there.Node, Name: there.Path}
}

// output is what becomes of the set.
func (s *set) output() system.Output {
	var objects []gitops.Object
	for _, p := range s.pools {
		objects = append(objects, gitops.Object{File: "diskpool.yaml", Object: s.object(p)})
	}
	for i := range s.classes {
		objects = append(objects, gitops.Object{File: "storageclass.yaml", Object: s.classes[i].Object(), Stage: 1})
	}
	return s.Output(objects, s.released)
}
