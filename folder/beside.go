package folder

import (
	"bytes"
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// CheckInventory refuses an inventory folder that is no folder, that holds the
// place where the command runs, since writing replaces the whole folder, and the
// shell would be left in one that is gone, or that is for what render writes.
func CheckInventory(target string) error {
	info, err := os.Stat(target)
	if err == nil && !info.IsDir() {
		return usage("-O %s: not a folder; name a folder, or - for the standard output", target)
	}
	out, err := realPath(target)
	if err != nil {
		return nil // writing says why
	}
	if dir := outputAround(out); dir != "" {
		return usage("-O %s: the folder %s is for what poolwright render writes; name another one, such as inventory beside it",
			target, filepath.Base(dir))
	}
	if here, err := realPath("."); err == nil && within(out, here) {
		return usage("-O %s: the folder is replaced as a whole, so it must not be the current one or hold it; name a folder of its own, such as %s",
			target, filepath.Join(target, inventory.Folder))
	}
	return nil
}

// outputAround is the folder that render writes and that a path is or lies in, or
// "". A folder may be called "rendered" for other reasons if it is further up.
func outputAround(path string) string {
	if filepath.Base(path) == fn.RenderedFolder {
		return path
	}
	return madeByRender(path)
}

// madeByRender is the folder with a kustomization of render that a path is or lies in,
// or "".
func madeByRender(path string) string {
	for {
		data, err := os.ReadFile(filepath.Join(path, kustomizationFile))
		if err == nil && bytes.HasPrefix(unixLines(data), []byte(madeBy)) {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return ""
		}
		path = up
	}
}

// Beside reads the specs of the package that an inventory folder lies in, without
// the inventory and what was rendered. What cannot be read is left out: to say so
// is up to those who need it. If the folder around is not marked as a package, as
// a home folder is not, only the files in it are read, and not what lies below.
func Beside(facts string) []*krm.Object {
	dir, err := around(facts)
	if err != nil {
		return nil
	}
	r := &reader{limit: fn.MaxSpec} // what is larger holds no spec, and may be a database
	if isPackage(dir) {
		r.tree(dir, facts, filepath.Join(dir, fn.RenderedFolder))
		return r.objects
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() && isManifest(e.Name()) {
			r.file(filepath.Join(dir, e.Name()), e.Name())
		}
	}
	return r.objects
}

// around is the folder that another one lies in.
func around(path string) (string, error) {
	real, err := realPath(path)
	return filepath.Dir(real), err
}

func isPackage(dir string) bool {
	return slices.ContainsFunc(append(marks(), fn.RenderedFolder), func(name string) bool { return exists(filepath.Join(dir, name)) })
}

// marks are the files that make a folder a package.
func marks() []string { return append(kustomizationNames(), "Kptfile", ignoreFile) }

// Listed compares the kustomization around an inventory folder with the files of
// the inventory, by name. It gives its path, the files that it lacks, and those
// that it lists although they are not there; all "" and nil where there is none,
// or where it takes the folder as a whole.
func Listed(facts string, files []string) (kustomization string, lacks, stale []string) {
	dir, err := around(facts)
	if err != nil {
		return "", nil, nil
	}
	real, _ := realPath(facts)
	base := filepath.Base(real)
	for _, name := range kustomizationNames() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		docs, err := document.Parse(&document.Source{Name: name, Data: data})
		if err != nil || len(docs) != 1 {
			return "", nil, nil // for kustomize to refuse
		}
		var listed []string
		for _, r := range docs[0].Node.Seq("resources") {
			listed = append(listed, path.Clean(r.Str()))
		}
		if slices.Contains(listed, base) {
			return "", nil, nil
		}
		for _, f := range files {
			if f = path.Join(base, f); !slices.Contains(listed, f) {
				lacks = append(lacks, f)
			}
		}
		for _, l := range listed {
			if path.Dir(l) == base && !exists(filepath.Join(dir, l)) {
				stale = append(stale, l)
			}
		}
		slices.Sort(lacks)
		return filepath.Join(cmp.Or(filepath.Dir(filepath.Clean(facts)), "."), name), lacks, stale
	}
	return "", nil, nil
}
