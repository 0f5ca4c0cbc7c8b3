package cstorvolume

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := &rendering{in: in, claims: map[inventory.Key]*claim{}, classes: map[string]*volumeClass{}}
	for _, spec := range specs {
		v := &volumeClass{Collector: system.NewCollector(spec, 0), in: in, released: map[krm.ID]bool{}}
		var err error
		if v.cfg, err = readConfig(spec); err != nil {
			v.Report(finding.Error, "spec", "", "%v", err)
		}
		r.specs = append(r.specs, v)
	}
	return r
}

// rendering is all CStorVolumeClasses at work.
type rendering struct {
	in      system.Input
	specs   []*volumeClass
	others  []system.Followed
	claims  map[inventory.Key]*claim // of all specs
	classes map[string]*volumeClass  // by the name of their class
}

// Follow implements system.Follower.
func (r *rendering) Follow(others []system.Followed) { r.others = others }

// Keep implements system.Rendering: volumes hold no disks.
func (r *rendering) Keep() {}

// Choose implements system.Rendering.
func (r *rendering) Choose() []system.Output {
	for _, v := range r.specs {
		if !v.Failed() {
			r.classes[v.Object.Name] = v
			r.findCluster(v)
			v.makeClass()
			r.readClaims(v)
		}
	}
	for _, v := range r.specs {
		for _, c := range v.claims {
			r.checkSource(c)
		}
		v.checkRemoved()
		v.checkDefaults()
		v.explainIgnored()
	}
	outputs := make([]system.Output, len(r.specs))
	for i, v := range r.specs {
		outputs[i] = v.output()
	}
	return outputs
}

// volumeClass is one CStorVolumeClass at work.
type volumeClass struct {
	*system.Collector
	in       system.Input
	cfg      config
	cluster  cluster
	class    *class.Class // nil: withheld
	pins     []string     // the pool instances of every volume, sorted
	claims   []*claim
	released map[krm.ID]bool
}

// Stages of the output: the policy, then the classes that name it, then the claims of them.
const (
	policyStage = iota
	classStage
	claimStage
)

// output is what becomes of the spec.
func (v *volumeClass) output() system.Output {
	out := system.Output{Released: v.released, Findings: v.Findings, Choices: v.Choices}
	if v.Failed() {
		return out
	}
	add := func(file string, stage int, o *krm.Object) {
		out.Objects = append(out.Objects, gitops.Object{File: file + ".yaml", Stage: stage, Object: o})
	}
	if s := v.cfg.Spec.SnapshotClass; s != nil {
		add("volumesnapshotclass", classStage, v.snapshotsObject(s))
	}
	if v.class == nil {
		return out
	}
	if v.hasPolicy() {
		add("cstorvolumepolicy", policyStage, v.policyObject())
	}
	add("storageclass", classStage, v.class.Object())
	for _, c := range v.claims {
		add("persistentvolumeclaim", claimStage, c.object())
	}
	return out
}
