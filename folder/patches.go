package folder

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/poolwright/poolwright/schema/document"
)

// kustomizationFile is the file that makes a folder one for kustomize.
const kustomizationFile = "kustomization.yaml"

// kustomizationNames are the names under which kustomize looks for that file.
func kustomizationNames() []string {
	return []string{kustomizationFile, "kustomization.yml", "Kustomization"}
}

func isKustomizationFile(name string) bool {
	return slices.Contains(kustomizationNames(), filepath.Base(name))
}

// patches are the files that the kustomization of a folder uses as patches. A
// patch has the identity of the object that it changes, but it is not one.
func (w *walk) patches(rel string, entries []fs.DirEntry) map[string]bool {
	found := map[string]bool{}
	for _, e := range entries {
		if !isKustomizationFile(e.Name()) {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(w.root, rel, e.Name())); err == nil {
			addPatches(found, rel, &document.Source{Name: e.Name(), Data: data})
		}
	}
	return found
}

// addPatches adds the patches of one kustomization, which is in the folder rel. One that is
// not YAML is for kustomize to refuse.
func addPatches(found map[string]bool, rel string, kustomization *document.Source) {
	docs, err := document.Parse(kustomization)
	if err != nil {
		return
	}
	for i := range docs {
		k := &docs[i].Node
		for _, p := range slices.Concat(k.Seq("patches"), k.Seq("patchesJson6902")) {
			found[filepath.Join(rel, p.Str("path"))] = true
		}
		for _, p := range k.Seq("patchesStrategicMerge") {
			found[filepath.Join(rel, p.Str())] = true
		}
	}
}
