// Package scaffold makes the files of a new package: from the templates of a system,
// what a person chose, and what an inventory suggests for the rest.
package scaffold

import (
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/document"
)

// Choices are what a person decides about a new package. Empty ones are filled from
// the inventory, or left to the defaults of the system.
type Choices struct {
	Name, Namespace string          // of the spec
	Pools           int             // 0: the default
	Nodes, Disks    []selector.Term // none: all
	RAID            string
	Capacity        string // a quantity: the least of a disk
	Driver          string // of CSI
	StorageClass    string

	diskNamespace string         // of the BlockDevices
	node          string         // the first of the inventory
	disk          *document.Node // the identity of the smallest disk that is free on it; nil for none
}

// New returns the files of a package of a system that is to lie in dir, by path.
// inventory names its files of the inventory; facts are what is in them.
func New(system, dir string, c Choices, inventory []string, facts []*krm.Object) (map[string][]byte, error) {
	place, err := placeOf(dir, system)
	if err != nil {
		return nil, err
	}
	t, err := examples.NewTemplate(system)
	if err != nil {
		return nil, err
	}
	c.suggest(flatten(facts))
	files, err := t.Files(examples.Values{
		Folder: place.name, Name: c.Name, Namespace: c.Namespace, DiskNamespace: c.diskNamespace, Pools: c.Pools,
		Nodes: c.Nodes, Disks: c.Disks, Capacity: c.Capacity, RAID: c.RAID,
		Driver: c.Driver, StorageClass: c.StorageClass, Node: c.node, Disk: c.disk, Inventory: inventory,
	}, functions())
	if err != nil {
		return nil, err
	}
	if c.Namespace == "" && t.Uses("DiskNamespace") {
		c.Namespace = c.diskNamespace
	}
	place.rename(files, c.Namespace)
	return files, nil
}

// Example returns the files of a copy of an example that is to lie in dir.
func Example(system, dir string) (map[string][]byte, error) {
	place, err := placeOf(dir, system)
	if err != nil {
		return nil, err
	}
	files, err := examples.Files(system)
	if err == nil {
		place.rename(files, "")
	}
	return files, err
}

// place is where a package lies: its name, and its path in a repository.
type place struct{ system, name, path string }

// placeOf finds the name and the path of a folder. Where its name is none in
// Kubernetes, that of the system takes its place; where the path leads out of the
// current folder, only its end can be one in a repository.
func placeOf(dir, system string) (place, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	name, path := filepath.Base(full), filepath.Clean(dir)
	if path == "." || !filepath.IsLocal(path) {
		path = name
	}
	if len(validation.IsDNS1123Label(name)) > 0 {
		name = system
	}
	return place{system: system, name: name, path: filepath.ToSlash(path)}, nil
}

// rename puts the name, the path and, if one was chosen, the namespace into what the
// wiring took from the example.
func (p place) rename(files map[string][]byte, namespace string) {
	names := []string{": " + p.system + "\n", ": " + scalar(p.name) + "\n"}
	for _, folder := range []string{"/rendered", "/volumes"} { // what engines apply
		names = append(names,
			": ./"+p.system+folder, ": "+scalar("./"+p.path+folder),
			": "+p.system+folder, ": "+scalar(p.path+folder),
		)
	}
	replacer := strings.NewReplacer(names...)
	for _, name := range []string{"Kptfile", "kustomization.yaml", application, "flux/sync.yaml"} {
		files[name] = []byte(replacer.Replace(string(files[name])))
	}
	if namespace != "" {
		files[application] = regexp.MustCompile(`(?m)^    namespace: .*$`).ReplaceAll(files[application], []byte("    namespace: "+scalar(namespace)))
	}
}

// application is for Argo CD, and names the namespace of the storage.
const application = "argocd/application.yaml"

// scalar writes a text as YAML.
func scalar(text string) string {
	node := document.Text(text)
	return strings.TrimSuffix(string(document.Append(nil, &node, 0)), "\n")
}

// termTree writes terms as YAML, behind indent spaces.
func termTree(indent int, terms []selector.Term) string { return tree(indent, termList(terms)) }

// tree writes a tree as YAML, behind indent spaces.
func tree(indent int, node *document.Node) string {
	return strings.TrimSuffix(string(document.Append(nil, node, indent)), "\n")
}
