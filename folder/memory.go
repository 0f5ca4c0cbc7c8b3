package folder

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Memory is a package folder that is on no disk: its files by path, with slashes.
type Memory map[string]*document.Source

// InMemory makes the folder that the path annotations of a ResourceList describe. The error
// is a *document.SyntaxError: an item without a path, or with one that leads out of the folder.
func InMemory(rl *krm.ResourceList) (Memory, error) {
	items := map[string][]*krm.Object{}
	for _, o := range rl.Items {
		if err := checkPath(o); err != nil {
			return nil, err
		}
		items[o.Path] = append(items[o.Path], o)
	}
	m := make(Memory, len(items))
	for name, documents := range items {
		slices.SortStableFunc(documents, func(a, b *krm.Object) int { return a.Index - b.Index })
		src := &document.Source{Name: name}
		for i, o := range documents {
			if i > 0 {
				src.Data = append(src.Data, separator...)
			}
			text, exact := o.FileText()
			src.Data = append(src.Data, text...)
			src.NoLines = src.NoLines || !exact
		}
		m[name] = src
	}
	return m, nil
}

// checkPath refuses an item that is in no file of the folder.
func checkPath(o *krm.Object) error {
	why := ""
	switch {
	case o.Path == "":
		why = "has no annotation internal.config.kubernetes.io/path; add the path of its file in the package"
	case !fs.ValidPath(o.Path) || o.Path == "." || strings.Contains(o.Path, `\`):
		why = fmt.Sprintf("has the path %q; write a path inside the package, with slashes and without . and ..", o.Path)
	default:
		return nil
	}
	return &document.SyntaxError{Pos: o.Source.Position(o.Node.Off), Msg: fmt.Sprintf("%s %s", o.Ref, why)}
}

// names are the files in the order in which a folder is read.
func (m Memory) names() []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
	return names
}

// read is Read for a folder in memory.
func (m Memory) read(in Input) (Package, []finding.Finding, error) {
	p := Package{LockDir: fn.RenderedFolder, memory: m}
	objects, lock := &reader{}, &reader{output: true}
	names := m.names()
	patches := m.patches(names)
	ignored, ignoredLock := m.ignored("."), m.ignored(fn.RenderedFolder)
	for _, name := range names {
		r, rel, skip := objects, name, ignored
		if below, found := strings.CutPrefix(name, fn.RenderedFolder+"/"); found {
			r, rel, skip = lock, below, ignoredLock
		}
		switch {
		case hidden(name) || skip(name):
		case !isManifest(name):
			if why := whyUnread(name); why != "" && r == objects {
				r.unread = append(r.unread, unread{m[name].Name, why})
			}
		case !isKustomizationFile(name) && !patches[filepath.FromSlash(name)]:
			r.source(m[name], rel)
		}
	}
	p.Objects, p.Lock = objects.objects, lock.objects
	if in.Refuse != nil {
		if refused := in.Refuse(p.Objects, in.Dir); len(refused) > 0 {
			return Package{}, refused, nil
		}
	}
	found := append(objects.findings, unreadFindings(objects.unread, ", or hide it in "+ignoreFile)...)
	return p, finding.Sort(append(found, lock.findings...)), nil
}

// patches are the files that kustomizations use as patches.
func (m Memory) patches(names []string) map[string]bool {
	patches := map[string]bool{}
	for _, name := range names {
		if isKustomizationFile(name) {
			addPatches(patches, filepath.FromSlash(path.Dir(name)), m[name])
		}
	}
	return patches
}

// Beside is Beside for the inventory folder of a package in memory.
func (m Memory) Beside() []*krm.Object {
	names := m.names()
	marked := slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, fn.RenderedFolder+"/") || slices.Contains(marks(), name)
	})
	r, patches, ignored := &reader{}, m.patches(names), m.ignored(".")
	for _, name := range names {
		folder, _, below := strings.Cut(name, "/")
		switch {
		case below && (!marked || folder == inventory.Folder || folder == fn.RenderedFolder):
		case !isManifest(name), isKustomizationFile(name), hidden(name), patches[filepath.FromSlash(name)], ignored(name), len(m[name].Data) > fn.MaxSpec:
		default:
			r.source(m[name], name)
		}
	}
	return r.objects
}
