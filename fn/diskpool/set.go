package diskpool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{}
	for _, spec := range specs {
		r.sets = append(r.sets, newSet(in, spec))
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

// set is one DiskPoolSet at work: what decides about it, and what makes its output. All of
// it reads one input, and decides about pools in one roster.
type set struct {
	*input
	roster      *roster
	retention   *retention
	limits      *limits
	replacement *replacement
	selection   *selection
	maker       *maker
	classes     *classMaker
}

func newSet(in system.Input, spec *system.Spec) *set {
	i := &input{Collector: system.NewCollector(spec, len(in.Facts.Nodes)+len(in.Facts.Devices)), Input: in, owner: spec.Object.OwnerKey(), replace: replaced(spec.Object)}
	var err error
	if i.cfg, err = readConfig(spec); err != nil {
		i.Report(finding.Error, "spec", "", "%v", err)
	}
	r := &roster{input: i, used: map[*disk.Disk]bool{}, perNode: map[string]int{}, released: map[krm.ID]bool{}, givenUp: map[*disk.Disk]bool{}}
	m := &maker{i}
	o := &offers{i, r, m}
	return &set{
		input: i, roster: r, retention: &retention{i, r}, limits: &limits{i, r}, replacement: &replacement{i, r, o},
		selection: &selection{i, r, o}, maker: m, classes: &classMaker{input: i, roster: r},
	}
}

// keep takes over the pools of earlier runs and those that live, and frees the disks of
// those that go.
func (s *set) keep() {
	if !s.KnowsNodes(s.Facts) {
		return
	}
	if s.checkSelectors(); s.Failed() {
		return
	}
	if s.retention.keepPools() {
		s.limits.limitNodes()
		s.limits.limitPools()
	}
}

// choose takes what is wanted more: replacements first, then pools on nodes that have
// some, then on new nodes.
func (s *set) choose() {
	for _, p := range s.roster.pools {
		s.roster.use(p)
	}
	allowed := s.selection.allowedNodes()
	s.replacement.replacePools(allowed)
	s.selection.keepMembers(allowed)
	s.selection.chooseNodes(allowed)
	s.selection.explainRest(allowed)
	s.selection.compareSettings()
	if len(s.roster.pools) == 0 {
		s.Report(finding.Warning, noPools, "", "no pool can be made: %s; classes are withheld until there is one", s.selection.whyNone(allowed))
	}
	s.classes.makeClasses()
	slices.SortFunc(s.roster.pools, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
}

// replaced reads which pools are to be replaced.
func replaced(o *krm.Object) []string {
	var names []string
	for _, entry := range o.AnnotationList(annotationReplace) {
		if name, found := strings.CutPrefix(entry, poolKind+"/"); found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// output is what becomes of the set.
func (s *set) output() system.Output {
	objects := make([]gitops.Object, 0, len(s.roster.pools)+len(s.classes.classes))
	for _, p := range s.roster.pools {
		objects = append(objects, gitops.Object{File: "diskpool.yaml", Object: s.maker.object(p)})
	}
	for i := range s.classes.classes {
		objects = append(objects, gitops.Object{File: "storageclass.yaml", Object: s.classes.classes[i].Object(), Stage: 1})
	}
	return s.Output(objects, s.roster.released)
}
