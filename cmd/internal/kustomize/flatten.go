package kustomize

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func kustomizationNames() []string { return konfig.RecognizedKustomizationFileNames() }

// load reads the kustomization of a folder, and says which file it is in.
func load(disk filesys.FileSystem, dir string) (*types.Kustomization, string, error) {
	for _, name := range kustomizationNames() {
		if !disk.Exists(filepath.Join(dir, name)) {
			continue
		}
		data, err := disk.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, "", err
		}
		var k types.Kustomization
		if err := k.Unmarshal(data); err != nil {
			return nil, "", fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		k.FixKustomization()
		return &k, name, nil
	}
	return nil, "", fmt.Errorf("%w in %s", errNoKustomization, dir)
}

// survey finds the local kustomizations in which the function has a place, in
// themselves or in one of their components, those that others build on first.
type survey struct {
	disk  filesys.FileSystem
	seen  map[string]bool
	found []string
}

func (w *survey) kustomization(dir string) error {
	if w.seen[dir] {
		return nil // a cycle is for kustomize to report
	}
	w.seen[dir] = true
	ours, err := w.visit(dir)
	if ours {
		w.found = append(w.found, dir)
	}
	return err
}

// visit goes through what a kustomization or component builds on, and reports
// whether the function has a place in its own pipeline.
func (w *survey) visit(dir string) (ours bool, err error) {
	k, name, err := load(w.disk, dir)
	if err != nil {
		return false, nil // kustomize says it better
	}
	for _, r := range k.Resources {
		if base, ok := localDir(w.disk, dir, r); ok {
			if err := w.kustomization(base); err != nil {
				return false, err
			}
		}
	}
	for _, c := range k.Components {
		component, ok := localDir(w.disk, dir, c)
		if !ok || w.seen[component+" in "+dir] {
			continue
		}
		w.seen[component+" in "+dir] = true
		inComponent, err := w.visit(component)
		if err != nil {
			return false, err
		}
		ours = ours || inComponent
	}
	inTransformers, err := check(w.disk, dir, name, k)
	return ours || inTransformers, err
}

// localDir is the folder that an entry of resources or components names, if it
// is a folder of this disk.
func localDir(disk filesys.FileSystem, dir, entry string) (string, bool) {
	path := filepath.Join(dir, entry)
	if filepath.IsAbs(entry) || strings.Contains(entry, "://") || !disk.IsDir(path) {
		return "", false
	}
	real, _, err := disk.CleanedAbs(path)
	return real.String(), err == nil
}

// step is a part of a pipeline: either directives of one kustomization, or the
// function.
type step struct {
	dir        string // where the directives come from
	name       string // and the file there
	directives *types.Kustomization
	function   *function
}

// flatten takes a kustomization or component apart, in the order in which
// kustomize goes through it: resources and generators, components, built-in
// transformers, own transformers, validators. Components in which the function
// has a place are taken apart, too. Together the steps say what the whole said.
func flatten(disk filesys.FileSystem, dir string) ([]step, error) {
	k, name, err := load(disk, dir)
	if err != nil {
		return nil, err
	}
	p := &pipeline{dir: dir, name: name}
	head, tail := emptyStep(), *k
	head.Resources, tail.Resources = k.Resources, nil
	head.Configurations, tail.Configurations = k.Configurations, nil
	head.Crds, tail.Crds = k.Crds, nil
	head.Generators, tail.Generators = k.Generators, nil
	head.ConfigMapGenerator, tail.ConfigMapGenerator = k.ConfigMapGenerator, nil
	head.SecretGenerator, tail.SecretGenerator = k.SecretGenerator, nil
	head.GeneratorOptions, tail.GeneratorOptions = k.GeneratorOptions, nil
	head.HelmCharts, tail.HelmCharts = k.HelmCharts, nil
	head.HelmGlobals, tail.HelmGlobals = k.HelmGlobals, nil
	p.add(head)

	for _, c := range k.Components {
		inner, err := flattenComponent(disk, dir, c)
		if err != nil {
			return nil, err
		}
		if inner == nil {
			whole := emptyStep()
			whole.Components = []string{c}
			p.add(whole)
		}
		p.steps = append(p.steps, inner...)
	}

	functions, err := functions(disk, dir, name, k.Transformers)
	if err != nil {
		return nil, err
	}
	// Validators and vars come after the last transformer.
	last := emptyStep()
	last.Validators, tail.Validators = k.Validators, nil
	last.Vars, tail.Vars = k.Vars, nil //lint:ignore SA1019 kustomize still reads them, and so must we
	tail.TypeMeta, tail.MetaData, tail.OpenAPI = head.TypeMeta, nil, nil
	tail.Components, tail.Transformers, tail.SortOptions, tail.BuildMetadata = nil, nil, nil, nil
	now := &tail
	for _, f := range functions {
		if f.ours {
			p.add(now)
			now = emptyStep()
			p.steps = append(p.steps, step{function: f})
		} else {
			now.Transformers = append(now.Transformers, f.text)
		}
	}
	p.add(now)
	p.add(last)
	return p.steps, nil
}

// flattenComponent takes a component apart if the function has a place in it,
// and returns nil if not.
func flattenComponent(disk filesys.FileSystem, dir, entry string) ([]step, error) {
	component, ok := localDir(disk, dir, entry)
	if !ok {
		return nil, nil
	}
	w := &survey{disk: disk, seen: map[string]bool{}}
	if ours, err := w.visit(component); err != nil || !ours {
		return nil, err
	}
	return flatten(disk, component)
}

// pipeline collects the steps of one kustomization.
type pipeline struct {
	dir, name string
	steps     []step
}

func (p *pipeline) add(k *types.Kustomization) {
	if !reflect.DeepEqual(k, emptyStep()) {
		p.steps = append(p.steps, step{dir: p.dir, name: p.name, directives: k})
	}
}

func emptyStep() *types.Kustomization {
	return &types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.ComponentVersion, Kind: types.ComponentKind}}
}
