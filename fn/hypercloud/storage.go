package hypercloud

import (
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{}
	for _, spec := range specs {
		r.storages = append(r.storages, newStorage(in, spec))
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
			s.manifests.objects = s.delivering.deliver(s.copying.addCopies(r.vendored))
		}
		outputs[i] = s.output()
	}
	return outputs
}

// storage is one HyperCloudStorage at work: what decides about it, and what makes its
// output. All of it reads one input; disks are decided about in members, and objects are
// added to manifests.
type storage struct {
	*input
	earlier     *earlier
	checking    *checking
	naming      *naming
	selection   *selection
	redundancy  *redundancy
	replacement *replacement
	manifests   *manifests
	pools       *poolManifests
	classes     *classManifests
	cdi         *cdiManifest
	retention   *retention
	copying     *copying
	delivering  *delivering
}

func newStorage(in system.Input, spec *system.Spec) *storage {
	i := &input{Collector: system.NewCollector(spec, 0), Input: in, owner: spec.Object.OwnerKey()}
	var err error
	if i.cfg, err = readConfig(spec); err != nil {
		i.Report(finding.Error, "spec", "", "%v", err)
	}
	disks := &locator{i}
	members := &members{input: i, disks: disks, givenUp: map[*disk.Disk]string{}, moved: map[*disk.Disk]bool{}}
	departure := &departure{i, members}
	m := &manifests{input: i, members: members, released: map[krm.ID]bool{}}
	return &storage{
		input: i, earlier: &earlier{i, disks}, checking: &checking{i},
		naming: &naming{i, disks, members, departure}, selection: &selection{input: i, disks: disks, members: members, departure: departure}, redundancy: &redundancy{i, members}, replacement: &replacement{i, members},
		manifests: m, pools: &poolManifests{m}, classes: &classManifests{m}, cdi: &cdiManifest{m}, retention: &retention{m},
		copying: &copying{m, &operators{m}}, delivering: &delivering{m},
	}
}

// keep decides what stays of the disks of the cluster, and takes what the spec names.
func (s *storage) keep() {
	if !s.KnowsNodes(s.Facts) {
		return
	}
	s.whole = s.Consent.Covers(clusterKind, s.Object.Name)
	s.earlier.readPrior()
	s.earlier.checkAdopted()
	s.checking.checkCluster()
	s.checking.checkNames()
	if len(s.cfg.Spec.Storage.Nodes) > 0 {
		s.naming.keepNamed()
	} else {
		s.selection.keepSelected()
	}
	s.naming.members.settle()
	s.naming.members.checkRunning()
	s.replacement.report()
	s.selection.warnOfNodes()
}

// choose takes the disks that are wanted more, and makes the output.
func (s *storage) choose() {
	if len(s.cfg.Spec.Storage.Nodes) == 0 {
		s.selection.chooseDisks()
	}
	s.redundancy.checkDomains()
	s.redundancy.checkMons()
	s.manifests.addDrivers()
	s.manifests.addCluster()
	s.pools.addPools()
	s.classes.addClasses()
	s.cdi.addCDI()
	s.manifests.addToolbox()
	s.retention.leavePools()
	if s.whole && !s.Failed() {
		s.Report(finding.Info, "may-go", "", "all of it may go: delete the spec and what is rendered for it in one commit; %s", wipe)
	}
}

// output is what becomes of the spec.
func (s *storage) output() system.Output {
	return s.Output(s.manifests.objects, s.manifests.released)
}
