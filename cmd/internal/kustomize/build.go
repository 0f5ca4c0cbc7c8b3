// Package kustomize builds a kustomization with Poolwright's function built in.
//
// kustomize runs a function as a program or as a container, and only if two
// flags say so; with one of them alone it leaves the function out without a
// word, and what is applied to the cluster is then a part of what should be.
// Here the same kustomization is built through kustomize's own Go API, and the
// function is called in process.
//
// A kustomization is a pipeline: read resources, add components, transform. To
// call the function in the midst of it, the pipeline is taken apart at that
// place into steps (see flatten), each a component of its own, in an overlay
// that lies in memory over the disk (see overlay). The steps before the function
// are built, the function is called with the result, and what it adds, changes
// and removes becomes one more step. Components share one list of resources, so
// kustomize itself still sees a single pipeline, and keeps its own notes on
// names, hashes and references from the first step to the last.
package kustomize

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Process is Poolwright's function.
type Process func(*krm.ResourceList) []finding.Finding

// Options say how a kustomization is built.
type Options struct {
	Process Process
	// HasSpec reports whether there is a spec among objects, for warnings of those that
	// are not listed; nil for none.
	HasSpec func([]*krm.Object) bool
	// Packages lists the packages that objects are of, by their paths; nil for none.
	Packages func([]*krm.Object) []string
	// KeepNames refuses kustomizations that rename what the function renders.
	KeepNames bool
	// EnableExec lets kustomize run the functions of other people. Then it runs
	// Poolwright's, too: Program, with the argument "fn".
	EnableExec bool
	Program    string

	onFile   func(path string) // for tests; see readings
	readings *readings         // of one attempt
}

// errNoKustomization says that a folder is not for kustomize.
var errNoKustomization = errors.New("no kustomization")

// Build builds the kustomization in dir, and returns the manifests as kustomize
// prints them. Where a finding is an error, there are none.
func Build(dir string, o Options) ([]byte, []finding.Finding, error) {
	return atRest(dir, o, func(o Options) ([]byte, []finding.Finding, error) {
		if o.EnableExec {
			return buildWithExec(dir, o)
		}
		out, fs, retry, err := build(dir, o, true)
		if retry {
			out, fs, _, err = build(dir, o, false)
		}
		return out, fs, err
	})
}

// build is one attempt. With shortcut, kustomize is spared the content of
// inventory files; retry says that it asked for more of them than their names.
func build(dir string, o Options, shortcut bool) (out []byte, fs []finding.Finding, retry bool, err error) {
	b := &builder{disk: newOverlay(shortcut, o.readings), dir: dir, process: o.Process, packages: o.Packages, calls: map[string]*function{}, output: map[identity]bool{}, keepNames: o.KeepNames}
	if b.top, err = confirm(b.disk, dir); err != nil {
		return nil, nil, false, err
	}
	var m resmap.ResMap
	if err = b.prepare(); err == nil && !finding.Failed(b.findings) {
		m, err = b.run(b.top, krusty.ReorderOptionUnspecified)
	}
	if b.disk.facts.used() && (err != nil || b.disk.facts.mentioned) {
		return nil, nil, true, nil
	}
	if m != nil && err == nil {
		if b.refuseRenamed(b.renamedResources(m)); finding.Failed(b.findings) {
			return nil, finding.Sort(b.findings), false, nil
		}
		out, err = b.print(m)
	}
	return out, finding.Sort(b.findings), false, err
}

// confirm makes sure that there is a kustomization in dir.
func confirm(disk filesys.FileSystem, dir string) (string, error) {
	root, file, err := disk.CleanedAbs(dir)
	if err != nil {
		return "", err
	}
	if file != "" {
		return "", fmt.Errorf("%s is a file, not a folder with a kustomization", dir)
	}
	if _, _, err := load(disk, root.String()); errors.Is(err, errNoKustomization) {
		return "", fmt.Errorf("%w in %s: there is none of %s; a package without one is rendered by \"poolwright render\"",
			errNoKustomization, dir, strings.Join(kustomizationNames(), ", "))
	} else if err != nil {
		return "", err
	}
	return root.String(), nil
}

// builder is one build.
type builder struct {
	disk     *overlay
	dir      string // as the user named it
	top      string // the same, absolute and without links
	process  Process
	packages func([]*krm.Object) []string
	findings []finding.Finding
	calls    map[string]*function // by the folder of what it did

	keepNames bool
	renamings []renaming
	output    map[identity]bool // what is rendered, by the names that it has in files and from the function
}

// prepare finds the kustomizations in which the function has a place, and takes
// them apart there, those that others build on first. If it has none, its place
// is at the end.
func (b *builder) prepare() error {
	b.renamings = renamings(b.disk, b.top, b.shown)
	w := &survey{disk: b.disk, seen: map[string]bool{}}
	if err := w.kustomization(b.top); err != nil {
		return err
	}
	if len(w.found) == 0 {
		if b.findings = onePackage(b.disk, b.top, b.packages, b.shown); len(b.findings) > 0 {
			return nil
		}
		return b.apart(b.top, true)
	}
	for _, dir := range w.found {
		b.findings = append(b.findings, onePackage(b.disk, dir, b.packages, b.shown)...)
	}
	if finding.Failed(b.findings) {
		return nil
	}
	for _, dir := range w.found {
		if err := b.apart(dir, false); err != nil || finding.Failed(b.findings) {
			return err
		}
	}
	return nil
}

// apart replaces a kustomization by its steps.
func (b *builder) apart(dir string, atEnd bool) error {
	k, name, err := load(b.disk, dir)
	if err != nil {
		return err
	}
	steps, err := flatten(b.disk, dir)
	if err != nil {
		return err
	}
	if atEnd {
		steps = append(steps, step{function: &function{}})
	}
	whole := &types.Kustomization{TypeMeta: k.TypeMeta, MetaData: k.MetaData, OpenAPI: k.OpenAPI}
	for i, s := range steps {
		var folder string
		if s.function == nil {
			if folder, err = b.component(s); err != nil {
				return err
			}
		} else {
			last := dir == b.top && i == len(steps)-1
			if folder, err = b.call(s.function, dir, name, whole, last); err != nil || finding.Failed(b.findings) {
				return err
			}
		}
		if folder != "" {
			rel, err := filepath.Rel(dir, folder)
			if err != nil {
				return err
			}
			whole.Components = append(whole.Components, rel)
		}
	}
	whole.SortOptions, whole.BuildMetadata = k.SortOptions, k.BuildMetadata
	return b.disk.writeKustomization(dir, name, whole)
}

// component makes a step a component: it lies beside the folder that it comes
// from and sees the same files, so that every path in it means the same.
func (b *builder) component(s step) (string, error) {
	folder := b.disk.mirror(s.dir)
	return folder, b.disk.writeKustomization(folder, s.name, s.directives)
}

// call builds the steps before the function, calls it, and makes what it did a
// step: a component that adds, changes and removes. It returns "" if that is
// nothing. The last step is the end of the build.
func (b *builder) call(f *function, dir, name string, before *types.Kustomization, last bool) (string, error) {
	sofar := *before
	keep := b.disk.folder(dir)
	if err := b.disk.writeKustomization(keep, kustomizationNames()[0], keepLocalConfig()); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, keep)
	if err != nil {
		return "", err
	}
	sofar.Components = append(slices.Clone(before.Components), rel)
	sofar.BuildMetadata = []string{types.OriginAnnotations}
	if err := b.disk.writeKustomization(dir, name, &sofar); err != nil {
		return "", err
	}
	m, err := b.run(dir, krusty.ReorderOptionNone)
	if err != nil {
		return "", err
	}
	items, err := b.items(m, dir)
	if err != nil {
		return "", err
	}
	lock := b.lock(dir, items)
	b.refuseRenamed(b.renamedItems(items))
	if finding.Failed(b.findings) {
		return "", nil
	}
	list := &krm.ResourceList{Items: slices.Concat(items, lock), FunctionConfig: f.config}
	b.findings = append(b.findings, b.process(list)...)
	if finding.Failed(b.findings) {
		b.disk.readings.failed = dir
		return "", nil
	}
	b.record(list.Items)
	effect, added := difference(items, list.Items, last)
	if effect == nil {
		return "", nil
	}
	folder := b.disk.folder(dir)
	b.calls[folder] = f
	if len(added) > 0 {
		b.disk.write(filepath.Join(folder, addedFile), added)
	}
	return folder, b.disk.writeKustomization(folder, kustomizationNames()[0], effect)
}

// run builds a kustomization of the overlay. No function is run by it.
func (b *builder) run(dir string, order krusty.ReorderOption) (resmap.ResMap, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = order
	m, err := runKustomize(b.disk, dir, options)
	if err != nil {
		return nil, b.disk.withoutSteps(err)
	}
	return m, nil
}

// runKustomize runs the library, which panics on some malformed objects.
func runKustomize(disk filesys.FileSystem, dir string, options *krusty.Options) (m resmap.ResMap, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize: an object is malformed: its labels or annotations are not a map (%v)", p)
		}
	}()
	m, err = krusty.MakeKustomizer(options).Run(disk, dir)
	switch {
	case err != nil && strings.Contains(err.Error(), "already registered id"):
		return nil, fmt.Errorf("kustomize: %w; what is rendered may be a copy of a manifest of the package: list one of the two", err)
	case err != nil:
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	return m, nil
}

// print writes the result as kustomize does. Where a kustomization asks for the
// origin of each object, the folders in memory are named by what they stand for.
func (b *builder) print(m resmap.ResMap) ([]byte, error) {
	for _, r := range m.Resources() {
		origin, err := r.GetOrigin()
		if err != nil || origin == nil {
			continue
		}
		if f := b.calls[filepath.Dir(filepath.Join(b.top, origin.Path))]; f != nil {
			err = r.SetOrigin(f.origin(b.top))
		} else {
			origin.Path, origin.ConfiguredIn = b.relative(origin.Path), b.relative(origin.ConfiguredIn)
			err = r.SetOrigin(origin)
		}
		if err != nil {
			return nil, err
		}
	}
	return m.AsYaml()
}

// relative is a path as it would be without folders in memory.
func (b *builder) relative(path string) string {
	rel, err := filepath.Rel(b.top, b.disk.behind(filepath.Join(b.top, path)))
	if path == "" || err != nil || rel == "." {
		return ""
	}
	return rel
}

// shown is a path of the disk as it is to be named in messages.
func (b *builder) shown(path string) string { return shownAs(b.top, b.dir, path) }

// shownAs names a path by the folder that the user named.
func shownAs(top, dir, path string) string {
	rel, err := filepath.Rel(top, path)
	if err != nil {
		return path
	}
	return filepath.Join(dir, rel)
}
