package kustomize

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

const annotationFunction = "config.kubernetes.io/function"

// buildWithExec lets kustomize run all functions, those of other people and
// ours. Wherever ours is declared, as a program or as an image, it is this very
// program that is run.
func buildWithExec(dir string, o Options) ([]byte, []finding.Finding, error) {
	disk := newOverlay(false, o.readings)
	top, err := confirm(disk, dir)
	if err != nil {
		return nil, nil, err
	}
	var fields []renaming
	e := &execs{disk: disk, top: top, dir: dir, program: o.Program, packages: o.Packages, seen: map[string]bool{}}
	if o.KeepNames {
		fields = renamings(disk, top, e.shown)
	}
	if _, err := e.kustomization(top); err != nil {
		return nil, nil, err
	}
	if !e.found {
		if err := e.atEnd(top); err != nil {
			return nil, nil, err
		}
	}
	if finding.Failed(e.findings) {
		return nil, finding.Sort(e.findings), nil
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	options.PluginConfig.FnpLoadingOptions.EnableExec = true
	m, err := runKustomize(disk, top, options)
	if err != nil {
		return nil, nil, err
	}
	if renamed := refuseRenamed(renamedByProgram(m, fields), fields, dir); len(renamed) > 0 {
		return nil, renamed, nil
	}
	out, err := m.AsYaml()
	return out, nil, err
}

// execs points every declaration of our function to one program.
type execs struct {
	disk     *overlay
	top      string // the folder, absolute and without links
	dir      string // the same as the user named it
	program  string
	packages func([]*krm.Object) []string
	seen     map[string]bool // by folder: whether ours has a place in its pipeline
	found    bool
	findings []finding.Finding
}

// kustomization goes through a kustomization and what it builds on, and reports
// whether our function has a place in its own pipeline.
func (e *execs) kustomization(dir string) (bool, error) {
	if ours, seen := e.seen[dir]; seen {
		return ours, nil
	}
	e.seen[dir] = false
	k, name, err := load(e.disk, dir)
	if err != nil {
		return false, nil // kustomize says it better
	}
	inComponent := false
	for i, entry := range slices.Concat(k.Resources, k.Components) {
		sub, ok := localDir(e.disk, dir, entry)
		if !ok {
			continue
		}
		ours, err := e.kustomization(sub)
		if err != nil {
			return false, err
		}
		inComponent = inComponent || ours && i >= len(k.Resources)
	}
	changed := false
	for _, list := range []*[]string{&k.Transformers, &k.Generators, &k.Validators} {
		entries, ours, err := e.entries(dir, name, *list)
		if err != nil {
			return false, err
		}
		if ours {
			*list, changed = entries, true
		}
	}
	e.found = e.found || changed
	e.seen[dir] = changed || inComponent
	if e.seen[dir] && k.Kind != types.ComponentKind {
		e.findings = append(e.findings, onePackage(e.disk, dir, e.packages, e.shown)...)
		if lock := e.lock(dir); lock != "" {
			k.Resources, changed = append(k.Resources, lock), true
		}
	}
	if !changed {
		return e.seen[dir], nil
	}
	return e.seen[dir], e.disk.writeKustomization(dir, name, k)
}

// entries redirects ours in one list of functions, and reports whether it is
// there. What is written in a file stays in that file.
func (e *execs) entries(dir, name string, list []string) (entries []string, ours bool, err error) {
	for _, entry := range list {
		all, err := functions(e.disk, dir, name, []string{entry})
		if err != nil {
			return nil, false, err
		}
		if slices.ContainsFunc(all, func(f *function) bool { return f.ours }) {
			ours = true
			text, err := e.redirect(all)
			if err != nil {
				return nil, false, err
			}
			if file := filepath.Join(dir, entry); e.disk.Exists(file) && !e.disk.IsDir(file) {
				e.disk.write(file, []byte(text))
			} else {
				entry = text
			}
		}
		entries = append(entries, entry)
	}
	return entries, ours, nil
}

// redirect points the declarations of our function to the program.
func (e *execs) redirect(all []*function) (string, error) {
	var texts []string
	for _, f := range all {
		if f.ours {
			annotations := f.resource.GetAnnotations()
			annotations[annotationFunction] = e.declaration()
			if err := f.resource.SetAnnotations(annotations); err != nil {
				return "", err
			}
		}
		text, err := f.resource.AsYAML()
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "---\n"), nil
}

// atEnd adds our function to a kustomization that does not have it. It goes into
// a file, because kustomize calls what is written in place before those.
func (e *execs) atEnd(dir string) error {
	k, name, err := load(e.disk, dir)
	if err != nil {
		return err
	}
	config, err := yaml.Marshal(map[string]any{
		"apiVersion": "poolwright.io/v1alpha1", "kind": "RenderConfig",
		"metadata": map[string]any{"name": "poolwright-build", "annotations": map[string]string{annotationFunction: e.declaration()}},
	})
	if err != nil {
		return err
	}
	e.findings = append(e.findings, onePackage(e.disk, dir, e.packages, e.shown)...)
	file := stepPrefix + "function.yaml"
	e.disk.write(filepath.Join(dir, file), config)
	k.Transformers = append(k.Transformers, file)
	if lock := e.lock(dir); lock != "" {
		k.Resources = append(k.Resources, lock)
	}
	return e.disk.writeKustomization(dir, name, k)
}

func (e *execs) shown(path string) string { return shownAs(e.top, e.dir, path) }

func (e *execs) declaration() string {
	return fmt.Sprintf("exec:\n  path: %q\n  args: [fn]\n", e.program)
}
