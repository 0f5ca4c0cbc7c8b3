package kustomize

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/fn/runtime/runtimeutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// function is one transformer of a kustomization, with its config.
type function struct {
	resource *resource.Resource
	text     string      // the config
	file     string      // where it is written
	builtin  bool        // one of kustomize's own
	ours     bool        // Poolwright's
	config   *krm.Object // ours only
}

// functions lists the transformers of a kustomization in the order in which
// kustomize calls them: those written in place first, then those in files.
func functions(disk filesys.FileSystem, dir, name string, entries []string) ([]*function, error) {
	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	var inPlace, inFiles []*function
	for _, entry := range entries {
		if m, err := factory.NewResMapFromBytes([]byte(entry)); err == nil {
			fs, err := configs(m, filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			inPlace = append(inPlace, fs...)
			continue
		}
		m, file, err := configFile(disk, factory, dir, entry)
		if err != nil {
			return nil, fmt.Errorf("%s: transformer %s: %w", filepath.Join(dir, name), entry, err)
		}
		fs, err := configs(m, file)
		if err != nil {
			return nil, err
		}
		inFiles = append(inFiles, fs...)
	}
	return append(inPlace, inFiles...), nil
}

// configFile reads the configs in a file, or those that a folder builds.
func configFile(disk filesys.FileSystem, factory *resmap.Factory, dir, entry string) (resmap.ResMap, string, error) {
	file := filepath.Join(dir, entry)
	if folder, ok := localDir(disk, dir, entry); ok {
		options := krusty.MakeDefaultOptions()
		m, err := runKustomize(disk, folder, options)
		return m, file, err
	}
	data, err := disk.ReadFile(file)
	if err != nil {
		return nil, file, err
	}
	m, err := factory.NewResMapFromBytes(data)
	return m, file, err
}

func configs(m resmap.ResMap, file string) ([]*function, error) {
	var fs []*function
	for _, r := range m.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		spec, err := runtimeutil.GetFunctionSpec(&r.RNode)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, r.CurId(), err)
		}
		f := &function{resource: r, text: string(text), file: file, builtin: spec == nil && r.GetApiVersion() == "builtin", ours: isOurs(spec)}
		if f.ours {
			if f.config, err = functionConfig(r, file); err != nil {
				return nil, err
			}
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// isOurs finds Poolwright's function by the name of the program or the image.
func isOurs(spec *runtimeutil.FunctionSpec) bool {
	switch {
	case spec == nil:
		return false
	case spec.Container.Image != "":
		image, _, _ := strings.Cut(path.Base(spec.Container.Image), "@")
		image, _, _ = strings.Cut(image, ":")
		return image == "poolwright" || image == "poolwright-fn"
	}
	verb := len(spec.Exec.Args) == 0 || len(spec.Exec.Args) == 1 && spec.Exec.Args[0] == "fn"
	return verb && strings.TrimSuffix(path.Base(filepath.ToSlash(spec.Exec.Path)), ".exe") == "poolwright"
}

// functionConfig is the config as the function gets it: kustomize marks it, so
// that it is never taken for output.
func functionConfig(r *resource.Resource, file string) (*krm.Object, error) {
	copied := r.DeepCopy()
	annotations := copied.GetAnnotations()
	annotations[krm.AnnotationLocalConfig] = "true"
	if err := copied.SetAnnotations(annotations); err != nil {
		return nil, err
	}
	text, err := copied.AsYAML()
	if err != nil {
		return nil, err
	}
	return parseObject(&document.Source{Name: file, Data: text})
}

// origin is what kustomize writes down as the origin of what a function adds.
func (f *function) origin(top string) *resource.Origin {
	if f.resource == nil {
		return nil
	}
	file, err := filepath.Rel(top, f.file)
	if err != nil {
		return nil
	}
	return &resource.Origin{ConfiguredIn: file, ConfiguredBy: kyaml.ResourceIdentifier{
		TypeMeta: kyaml.TypeMeta{APIVersion: f.resource.GetApiVersion(), Kind: f.resource.GetKind()},
		NameMeta: kyaml.NameMeta{Name: f.resource.GetName(), Namespace: f.resource.GetNamespace()},
	}}
}

// check reports whether the function is among the transformers. A function of
// somebody else is an error: it would have to be run as a program, and to leave
// it out would give something else than the kustomization says.
func check(disk filesys.FileSystem, dir, name string, k *types.Kustomization) (ours bool, err error) {
	all, err := functions(disk, dir, name, k.Transformers)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		ours = ours || f.ours
		if !f.ours && !f.builtin {
			return false, foreign(f)
		}
	}
	for _, list := range []struct {
		field   string
		entries []string
	}{{"generators", k.Generators}, {"validators", k.Validators}} {
		others, err := functions(disk, dir, name, list.entries)
		if err != nil {
			return false, err
		}
		for _, f := range others {
			if f.ours {
				return false, fmt.Errorf("%s: poolwright is listed under %s; it is a transformer: list it under transformers", f.file, list.field)
			}
			if !f.builtin {
				return false, foreign(f)
			}
		}
	}
	return ours, nil
}

func foreign(f *function) error {
	return fmt.Errorf("%s: %s %s is an external function, which would run as a program or container; it stays off unless --enable-exec is given",
		f.file, f.resource.GetKind(), f.resource.GetName())
}
