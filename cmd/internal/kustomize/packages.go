package kustomize

import (
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// onePackage refuses a kustomization that would have the function render several packages
// as one, without their locks.
func onePackage(disk filesys.FileSystem, dir string, packages func([]*krm.Object) []string, shown func(path string) string) []finding.Finding {
	if packages == nil {
		return nil
	}
	_, name, err := load(disk, dir)
	if err != nil {
		return nil // kustomize says it better
	}
	s := sources{disk: disk, seen: map[string]bool{}}
	s.kustomization(dir)
	root := commonDir(s.files)
	found := packages(s.objects(root))
	if len(found) < 2 {
		return nil
	}
	for i := range found {
		found[i] = shown(filepath.Join(root, filepath.FromSlash(found[i])))
	}
	return []finding.Finding{{
		Severity: finding.Error, Rule: "nested-packages", Pos: document.Position{File: shown(filepath.Join(dir, name))},
		Message: "builds on " + finding.Count(len(found), "package") + ": " + finding.Names(found) + "; build one",
	}}
}

// sources collects the files that a kustomization is made of, by their absolute paths.
type sources struct {
	disk  filesys.FileSystem
	seen  map[string]bool
	files []string
}

func (s *sources) kustomization(dir string) {
	if s.seen[dir] {
		return
	}
	s.seen[dir] = true
	k, _, err := load(s.disk, dir)
	if err != nil {
		return
	}
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		if sub, ok := localDir(s.disk, dir, entry); ok {
			s.kustomization(sub)
		} else if !filepath.IsAbs(entry) && !strings.Contains(entry, "://") {
			s.files = append(s.files, filepath.Join(dir, entry))
		}
	}
}

// commonDir is the deepest folder that holds all of some files.
func commonDir(files []string) string {
	if len(files) == 0 {
		return ""
	}
	dir := filepath.Dir(files[0])
	for _, file := range files {
		for dir != filepath.Dir(dir) && !strings.HasPrefix(file, dir+string(filepath.Separator)) {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// objects are those in the files, by their paths below the root. Of inventories and output
// only the paths are taken.
func (s *sources) objects(root string) []*krm.Object {
	var all []*krm.Object
	for _, file := range s.files {
		rel, err := filepath.Rel(root, file)
		if err != nil {
			continue
		}
		path := filepath.ToSlash(rel)
		if folders := strings.Split(path, "/"); slices.Contains(folders, inventory.Folder) || slices.Contains(folders, fn.RenderedFolder) {
			all = append(all, &krm.Object{Path: path})
			continue
		}
		data, err := s.disk.ReadFile(file)
		if err != nil {
			continue
		}
		objects, err := krm.Parse(&document.Source{Name: file, Data: data})
		if err != nil {
			continue
		}
		for _, o := range objects {
			o.Path = path
		}
		all = append(all, objects...)
	}
	return all
}
