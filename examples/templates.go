package examples

import (
	"embed"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"strings"
	"text/template"
)

//go:embed all:templates
var templates embed.FS

// templateSuffix ends the name of a file that is a template.
const templateSuffix = ".tmpl"

// Values fill the templates of a system; "" and nil leave it to the template, and what
// it does not name is ignored.
type Values struct {
	Folder          string // the name of the package
	Name, Namespace string // of the spec
	DiskNamespace   string // of the BlockDevices, for a system that lies beside them
	Pools           int    // 0: the default
	Nodes, Disks    any    // selector terms, nil for all
	Capacity, RAID  string
	Driver          string   // of CSI
	StorageClass    string   // of that driver
	Node            string   // of a local volume
	Disk            any      // the identity of a disk of that node, nil for none
	Inventory       []string // the files that the kustomization is to list
}

// Template is what a new package of a system begins with: all that init knows of the
// system.
type Template struct {
	Spec   string            // the file of the spec
	Shared map[string][]byte // what a package has as the example has it, by path
	texts  map[string]string // templates, by the file that they make
}

// shared are the files of an example that a new package takes as they are, but for
// its name. The class of local volumes only their examples have.
func shared(example fs.FS) []string {
	names := []string{"Kptfile", "poolwright.yaml", "argocd/application.yaml", "flux/sync.yaml"}
	const class = "volumes/class.yaml"
	if _, err := fs.Stat(example, class); err == nil {
		names = append(names, class)
	}
	return names
}

// NewTemplate reads what there is for a system. The spec is the file in YAML that is no
// kustomization.
func NewTemplate(system string) (*Template, error) {
	example, err := System(system)
	if err != nil {
		return nil, err
	}
	t := &Template{Shared: map[string][]byte{}, texts: map[string]string{}}
	for _, name := range shared(example) {
		if t.Shared[name], err = fs.ReadFile(example, name); err != nil {
			return nil, err
		}
	}
	dir, err := fs.Sub(templates, path.Join("templates", system))
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(dir, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, file)
		name := strings.TrimSuffix(file, templateSuffix)
		t.texts[name] = string(text)
		if path.Ext(name) == ".yaml" && path.Base(name) != "kustomization.yaml" {
			t.Spec = name
		}
		return err
	})
	return t, err
}

// Uses reports whether the spec takes one of the Values, by its name.
func (t *Template) Uses(value string) bool {
	return regexp.MustCompile(`\.` + value + `\b`).MatchString(t.texts[t.Spec])
}

// Files returns the files of a new package, by path. Functions are what the templates
// call to write YAML.
func (t *Template) Files(values Values, functions template.FuncMap) (map[string][]byte, error) {
	files := maps.Clone(t.Shared)
	for name, text := range t.texts {
		parsed, err := template.New(name).Funcs(functions).Parse(text)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		if err := parsed.Execute(&b, values); err != nil {
			return nil, err
		}
		files[name] = []byte(b.String())
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
