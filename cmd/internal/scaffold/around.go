package scaffold

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Spec is a spec that is there already.
type Spec struct {
	Kind, Namespace, Name string
	Text                  []byte
}

// Around returns the files of a package around specs, of which there is one at least, that
// is to lie in dir, by path. inventory names its files of the inventory.
func Around(dir string, specs []Spec, inventory []string) (map[string][]byte, error) {
	var files map[string][]byte
	texts := map[string][]byte{} // of specs, by path
	var names []string
	for _, spec := range specs {
		system, t, err := templateOf(spec.Kind)
		if err != nil {
			return nil, err
		}
		if texts[t.Spec] == nil {
			names = append(names, t.Spec)
		} else {
			texts[t.Spec] = append(texts[t.Spec], "---\n"...)
		}
		texts[t.Spec] = append(texts[t.Spec], spec.Text...)
		if files != nil {
			continue
		}
		place, err := placeOf(dir, system)
		if err != nil {
			return nil, err
		}
		files, err = t.Files(examples.Values{Folder: place.name, Name: spec.Name, Namespace: spec.Namespace, Inventory: inventory}, functions())
		if err != nil {
			return nil, err
		}
		place.rename(files, spec.Namespace)
	}
	for name, text := range texts {
		files[name] = text
	}
	list := "- " + strings.Join(names, "\n- ") + "\n"
	files["kustomization.yaml"] = bytes.Replace(files["kustomization.yaml"], []byte("- "+names[0]+"\n"), []byte(list), 1)
	return files, nil
}

// functions are what the templates call to write YAML.
func functions() map[string]any {
	return map[string]any{"yaml": scalar, "tree": termTree, "node": tree, "reported": reported}
}

// templateOf finds the template of a package whose only spec is of a kind.
func templateOf(kind string) (system string, t *examples.Template, err error) {
	for _, name := range examples.Systems() {
		candidate, err := examples.NewTemplate(name)
		if err != nil {
			return "", nil, err
		}
		files, err := candidate.Files(examples.Values{}, functions())
		if err != nil {
			return "", nil, err
		}
		specs, err := krm.Parse(&document.Source{Data: files[candidate.Spec]})
		if err == nil && len(specs) == 1 && specs[0].Kind == kind {
			system, t = name, candidate // disks of nodes come after those of a cloud
		}
	}
	if t == nil {
		return "", nil, fmt.Errorf("there is no template of a package for a %s", kind)
	}
	return system, t, nil
}
