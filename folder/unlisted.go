package folder

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Unlisted warns of the files in the folder of a kustomization, which messages call by
// name, that are input for Poolwright and were not read: what a kustomization does not
// list is passed over. Folders with a kustomization of their own are left out, and
// output is. The files that were read are given by their real paths.
func Unlisted(dir, name string, read map[string]bool, hasSpec func([]*krm.Object) bool) []finding.Finding {
	var files []unread
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		switch {
		case err != nil || relErr != nil: // what cannot be read, kustomize does not read either
			return fs.SkipDir
		case rel == ".":
		case hidden(e.Name()), e.IsDir() && (e.Name() == fn.RenderedFolder || isKustomization(path)):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.Type().IsRegular() || read[path]:
		case whyUnread(path) != "":
			files = append(files, unread{filepath.Join(name, rel), whyUnread(path)})
		case isManifest(path) && isInput(path, filepath.Join(filepath.Base(dir), rel), hasSpec):
			files = append(files, unread{filepath.Join(name, rel), "the kustomization does not list it; add it to its resources"})
		}
		return nil
	})
	return unreadFindings(files, "")
}

func isKustomization(dir string) bool {
	return slices.ContainsFunc(kustomizationNames(), func(name string) bool { return exists(filepath.Join(dir, name)) })
}

// isInput reports whether a file holds specs, facts or a config. That there is none of
// a kind is left out, and which cluster it is, as poolwright inventory does when it names what is to be listed.
func isInput(path, rel string, hasSpec func([]*krm.Object) bool) bool {
	facts := fn.InInventory(filepath.ToSlash(rel))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.Size() > fn.MaxSpec:
		return facts
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	objects, err := krm.Parse(&document.Source{Name: path, Data: data})
	return err == nil && (hasSpec(objects) || slices.ContainsFunc(objects, func(o *krm.Object) bool {
		return (facts || o.Group() == "poolwright.io") && (o.Kind != "Inventory" || len(o.Node.Seq("items")) > 0 && o.Name != inventory.Cluster)
	}))
}
