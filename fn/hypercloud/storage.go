package hypercloud

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{}
	for _, spec := range specs {
		s := &storage{Spec: spec, in: in, owner: spec.Object.OwnerKey(), released: map[krm.ID]bool{}}
		var err error
		if s.cfg, err = readConfig(spec); err != nil {
			s.report(finding.Error, "spec", "", "%v", err)
		}
		r.storages = append(r.storages, s)
	}
	return r
}

type rendering struct{ storages []*storage }

// Keep implements system.Rendering.
func (r *rendering) Keep() {
	for _, s := range r.storages {
		if !s.failed() {
			s.keep()
		}
	}
}

// Choose implements system.Rendering.
func (r *rendering) Choose() []system.Output {
	outputs := make([]system.Output, len(r.storages))
	for i, s := range r.storages {
		if !s.failed() {
			s.choose()
		}
		outputs[i] = s.output()
	}
	return outputs
}

// storage is one HyperCloudStorage at work.
type storage struct {
	*system.Spec
	in       system.Input
	owner    string
	cfg      config
	hosts    []*host // of the CephCluster, by name
	objects  []gitops.Object
	released map[krm.ID]bool
	findings []finding.Finding
	choices  []place.Choice
}

// host is a node of the CephCluster.
type host struct {
	name    string // its hostname label
	devices []*device
}

// device is a disk of the CephCluster.
type device struct {
	deviceConfig // with links below /dev/disk/by-id as names
}

func (s *storage) report(severity finding.Severity, rule, field, format string, args ...any) {
	s.findings = append(s.findings, s.Finding(severity, rule, field, fmt.Sprintf(format, args...)))
}

func (s *storage) failed() bool { return finding.Failed(s.findings) }

// add makes an object part of the output, in the file of its level.
func (s *storage) add(l level, file string, o *krm.Object, needs ...krm.ID) {
	s.objects = append(s.objects, gitops.Object{File: l.file(file), Object: o, Stage: int(l), Needs: needs})
}

func (s *storage) keep() {
	for _, n := range s.cfg.Spec.Storage.Nodes {
		h := &host{name: n.Hostname}
		for _, d := range n.Devices {
			h.devices = append(h.devices, &device{d})
		}
		s.hosts = append(s.hosts, h)
	}
}

func (s *storage) choose() {
	s.addCluster()
	s.addPools()
	s.addClasses()
}

// output is what becomes of the spec.
func (s *storage) output() system.Output {
	out := system.Output{Released: s.released, Findings: s.findings, Choices: s.choices}
	if !s.failed() {
		out.Objects = s.objects
	}
	return out
}
