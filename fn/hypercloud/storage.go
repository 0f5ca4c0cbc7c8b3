package hypercloud

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{}
	for _, spec := range specs {
		s := &storage{Collector: system.NewCollector(spec, 0), in: in, owner: spec.Object.OwnerKey(), released: map[krm.ID]bool{}, givenUp: map[*disk.Disk]string{}}
		var err error
		if s.cfg, err = readConfig(spec); err != nil {
			s.Report(finding.Error, "spec", "", "%v", err)
		}
		r.storages = append(r.storages, s)
	}
	if len(r.storages) > 0 {
		r.vendored = newVendored(in.Manifests, r.storages)
	}
	return r
}

type rendering struct {
	storages []*storage
	vendored *vendored
}

// Keep implements system.Rendering. What a spec names is no choice, so it is taken before
// anybody chooses.
func (r *rendering) Keep() {
	taken := map[string]finding.Ref{} // namespaces
	for _, s := range r.storages {
		if first, found := taken[s.Object.Namespace]; found {
			s.Report(finding.Error, "namespace-taken", "metadata.namespace", "has the Ceph cluster of %s already, and Rook takes one a namespace; move this spec to another", first)
		}
		taken[s.Object.Namespace] = s.Object.Ref
		if !s.Failed() {
			s.keep()
		}
	}
}

// Choose implements system.Rendering.
func (r *rendering) Choose() []system.Output {
	outputs := make([]system.Output, len(r.storages))
	for i, s := range r.storages {
		if !s.Failed() {
			s.choose()
			s.objects = s.deliver(s.addCopies(r.vendored))
		}
		outputs[i] = s.output()
	}
	return outputs
}

// storage is one HyperCloudStorage at work.
type storage struct {
	*system.Collector
	in       system.Input
	owner    string
	cfg      config
	locked   *krm.Object // the CephCluster of earlier runs, or nil
	live     *krm.Object // the one that lives, or nil
	unused   bool        // what is rendered is known not to live
	prior    []*host     // of both
	hosts    []*host     // of the CephCluster
	whole    bool        // everything may go
	objects  []gitops.Object
	released map[krm.ID]bool
	givenUp  map[*disk.Disk]string // disks that left in this run, with the reason
}

func (s *storage) keep() {
	if len(s.in.Facts.Nodes) == 0 {
		s.Report(finding.Error, "no-inventory", "",
			"the package has no Node among its facts, so nothing can be checked; put a snapshot of the cluster beside the spec with poolwright inventory")
		return
	}
	s.whole = s.Consent.Covers(clusterKind, s.Object.Name)
	s.readPrior()
	s.checkAdopted()
	s.checkCluster()
	s.checkNames()
	if len(s.cfg.Spec.Storage.Nodes) > 0 {
		s.keepNamed()
	} else {
		s.keepSelected()
	}
}

func (s *storage) choose() {
	if len(s.cfg.Spec.Storage.Nodes) == 0 {
		s.chooseDisks()
	}
	s.checkDomains()
	s.checkMons()
	s.addDrivers()
	s.addCluster()
	s.addPools()
	s.addClasses()
	s.addCDI()
	s.addToolbox()
	s.leavePools()
	if s.whole && !s.Failed() {
		s.Report(finding.Info, "may-go", "", "all of it may go: delete the spec and what is rendered for it in one commit; %s", wipe)
	}
}

// output is what becomes of the spec.
func (s *storage) output() system.Output {
	return s.Output(s.objects, s.released)
}

// add makes an object part of the output, in the file of its level.
func (s *storage) add(l level, file string, o *krm.Object, needs ...krm.ID) {
	s.objects = append(s.objects, gitops.Object{File: file + ".yaml", Object: o, Level: l.word(), Needs: needs})
}

// reportAt reports on a field of the spec by its path: keys, and indexes of lists. What is
// not written is reported where the nearest thing around it is.
func (s *storage) reportAt(severity finding.Severity, rule string, path []any, format string, args ...any) {
	f := s.Finding(severity, rule, "", fmt.Sprintf(format, args...))
	f.Field = s.field(path)
	off, _ := s.written(path)
	f.Pos = s.Object.Position(off)
	s.Collect(f)
}

// written is where the value at a path stands, or the nearest thing around it; found is
// false for what is not written.
func (s *storage) written(path []any) (off int32, found bool) {
	n := s.Object.Node
	for _, step := range path {
		switch step := step.(type) {
		case string:
			f := n.Field(step)
			if f == nil {
				return off, n.Kind() == document.Scalar // it stands for its name
			}
			n, off = &f.Value, f.Off
		case int:
			if n.Kind() == document.Map {
				continue // one item in the place of a list
			}
			if step >= len(n.Items()) {
				return off, false
			}
			n = &n.Items()[step]
			off = n.Off
		}
		if n.Kind() == document.Scalar {
			off = n.Off
		}
	}
	return off, true
}

// field is a path as messages have it.
func (s *storage) field(path []any) string {
	field := ""
	n := s.Object.Node
	for _, step := range path {
		switch step := step.(type) {
		case string:
			if n.Kind() == document.Scalar {
				return field // it stands for its name
			}
			field += orElse(field == "", "", ".") + step
			n = n.Get(step)
		case int:
			if n.Kind() == document.Map {
				continue // one item in the place of a list
			}
			field += fmt.Sprintf("[%d]", step)
			items := n.Items()
			if n = nil; step < len(items) {
				n = &items[step]
			}
		}
	}
	return field
}

func (s *storage) choosing(subject finding.Ref, node string, verdict place.Verdict, reason string) {
	role := ""
	if subject.Kind != nodeKind && (verdict == place.Kept || verdict == place.Chosen || verdict == place.Held) {
		role = "osd"
	}
	s.Decide(subject, node, role, verdict, reason)
}

// before finds an object of earlier runs, or nil.
func (s *storage) before(id krm.ID) *krm.Object {
	if i := slices.IndexFunc(s.Before, func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		return s.Before[i]
	}
	return nil
}

// isOurs reports whether a live object was rendered for this spec, or by nobody.
func (s *storage) isOurs(live *krm.Object) bool {
	return live != nil && (live.Owner() == "" || live.Owner() == s.owner)
}

// mine reports whether a hold on a disk is that of the spec or of its cluster.
func (s *storage) mine(h disk.Holder) bool {
	if h.Source != disk.Live {
		return h.Owner == s.owner
	}
	return h.Object.Kind == clusterKind && h.Object.Namespace == s.Object.Namespace && h.Object.Name == s.Object.Name && (h.Owner == "" || h.Owner == s.owner)
}
