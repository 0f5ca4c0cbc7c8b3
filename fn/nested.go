package fn

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// ConfigFile is the file that makes a folder a package, whatever else is in it.
const ConfigFile = "poolwright.yaml"

// A package is a folder with poolwright.yaml, or with a spec beside inventory/ or rendered/.
// Folders in it that hold only specs and manifests are part of it. It has one inventory: of
// several in one tree, each makes its folder a package of its own, also where a kustomization
// takes the spec from elsewhere. So does an inventory with output beside it.

// NestedPackages lists the folders that are packages of their own below the one that
// objects were read from, by the paths of the objects, which have slashes. own reports that
// the folder is one as well: it has a spec that is in none of them.
func (f *Function) NestedPackages(objects []*krm.Object) (nested []string, own bool) {
	folders, specs := f.packageFolders(objects)
	for _, dir := range specs {
		for folders[dir] == nil && dir != "" {
			dir = parentOf(dir)
		}
		if folder := folders[dir]; folder != nil {
			folder.spec = true
		}
	}
	inventories := 0
	for _, folder := range folders {
		if folder.inventory {
			inventories++
		}
	}
	top := folders[""]
	own = top != nil && top.spec || slices.Contains(specs, "")
	delete(folders, "")
	maps.DeleteFunc(folders, func(_ string, folder *packageFolder) bool {
		return !folder.config && !folder.spec && !(folder.inventory && (folder.rendered || inventories > 1))
	})
	return slices.Sorted(maps.Keys(folders)), own
}

// Packages lists the packages that objects are of, by their paths.
func (f *Function) Packages(objects []*krm.Object) []string {
	nested, _ := f.NestedPackages(objects)
	return nested
}

// packageFolders finds the folders with poolwright.yaml, inventory or rendered, and those in
// which specs are.
func (f *Function) packageFolders(objects []*krm.Object) (folders map[string]*packageFolder, specs []string) {
	folders = map[string]*packageFolder{}
	at := func(dir string) *packageFolder {
		if folders[dir] == nil {
			folders[dir] = &packageFolder{}
		}
		return folders[dir]
	}
	for _, o := range objects {
		switch home, part := homeOf(o.Path); {
		case part != "":
			folder := at(home)
			folder.inventory = folder.inventory || part == inventory.Folder
			folder.rendered = folder.rendered || part == RenderedFolder
		case path.Base(o.Path) == ConfigFile && o.Group() == ownGroup && o.Kind == configKind:
			at(home).config = true
		case f.holdsSpec(o) && !slices.Contains(specs, home):
			specs = append(specs, home)
		}
	}
	return folders, specs
}

// holdsSpec reports whether an object is a spec, or a List with one.
func (f *Function) holdsSpec(o *krm.Object) bool {
	if f.kinds.IsSpec(o.GroupKind()) {
		return true
	}
	items := o.Node.Seq("items")
	for i := range items {
		if isList(o, false) && f.kinds.IsSpec(o.Item(&items[i]).GroupKind()) {
			return true
		}
	}
	return false
}

// packageFolder is what a folder has that may make it a package.
type packageFolder struct{ config, spec, inventory, rendered bool }

// homeOf is the folder that a file belongs to: the one that it lies in, or the one that
// has the inventory or the output in which it lies. part is inventory or rendered then.
func homeOf(file string) (home, part string) {
	folders, _ := splitPath(file)
	i := slices.IndexFunc(folders, func(name string) bool { return name == inventory.Folder || name == RenderedFolder })
	if i < 0 {
		return strings.Join(folders, "/"), ""
	}
	return strings.Join(folders[:i], "/"), folders[i]
}

func parentOf(dir string) string {
	if dir = path.Dir(dir); dir == "." {
		return ""
	}
	return dir
}

// RefuseNested is the error where objects were read from a folder as one package and there
// are packages below it, which it names as a person would type them. A folder with specs of
// its own would be rendered together with them, and without their locks.
func (f *Function) RefuseNested(objects []*krm.Object, dir string) []finding.Finding {
	nested, own := f.NestedPackages(objects)
	if len(nested) == 0 {
		return nil
	}
	for i := range nested {
		nested[i] = path.Join(dir, nested[i])
	}
	remedy := "name one"
	switch {
	case own:
		remedy = "a package contains no other: move what is below out of it, or list it in .krmignore"
	case len(nested) == 1:
		remedy = "name it"
	}
	return []finding.Finding{{
		Severity: finding.Error, Rule: "nested-packages", Pos: document.Position{File: dir},
		Message: fmt.Sprintf("%s below: %s; %s", finding.Count(len(nested), "package"), finding.Names(nested), remedy),
	}}
}
