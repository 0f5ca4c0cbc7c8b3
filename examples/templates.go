package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

//go:embed all:templates
var templates embed.FS

// templateSuffix ends the name of a file that is a template.
const templateSuffix = ".tmpl"

// Values fill the templates of a system. What a system does not use is ignored.
type Values struct {
	Folder          string // the name of the package
	Name, Namespace string // of the spec
	Pools           int    // 0: left to the default
	Nodes, Disks    any    // selector terms, nil for all
	Capacity, RAID  string
	Driver          string   // of CSI, "" where it is to be filled in
	StorageClass    string   // of that driver, likewise
	Inventory       []string // the files that the kustomization is to list
}

// shared are the files of an example that a new package takes as they are, but for
// its name.
var shared = [...]string{"Kptfile", "poolwright.yaml", "argocd/application.yaml", "flux/sync.yaml"}

// New returns the files of a new package of a system, by path: what is the same in
// every package comes from the example, the rest from the templates of the system.
// Functions are what the templates call to write YAML.
func New(system string, values Values, functions template.FuncMap) (map[string][]byte, error) {
	example, err := System(system)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range shared {
		if files[name], err = fs.ReadFile(example, name); err != nil {
			return nil, err
		}
	}
	dir := path.Join("templates", system)
	entries, err := templates.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := templates.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		t, err := template.New(e.Name()).Funcs(functions).Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("the template of %s: %w", system, err)
		}
		var b strings.Builder
		if err := t.Execute(&b, values); err != nil {
			return nil, fmt.Errorf("the template of %s: %w", system, err)
		}
		files[strings.TrimSuffix(e.Name(), templateSuffix)] = []byte(b.String())
	}
	return files, nil
}

// Files returns the files of an example, by path.
func Files(system string) (map[string][]byte, error) {
	example, err := System(system)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	err = fs.WalkDir(example, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[name], err = fs.ReadFile(example, name)
		}
		return err
	})
	return files, err
}
