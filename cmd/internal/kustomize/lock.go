package kustomize

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// readLock reads what was rendered beside a kustomization. It is the lock even
// where the kustomization does not list it: else every node and disk would be
// chosen again, without a word. Where it lists the folder, that is what is applied with the
// rest, and only what is applied apart is missing. The order is that of a rendered
// kustomization.
func readLock(dir, shown string, listed bool) ([]*krm.Object, []finding.Finding) {
	all, fs := folder.ReadRendered(filepath.Join(dir, fn.RenderedFolder), filepath.Join(shown, fn.RenderedFolder))
	slices.SortStableFunc(all, func(a, b *krm.Object) int { return strings.Compare(a.Path, b.Path) })
	apart := fn.Apart(all)
	var lock []*krm.Object
	for _, o := range all {
		if isOutput(o) && (!listed || apart(o.Path)) {
			o.Path, o.Index = "", 0 // as items of kustomize have none
			lock = append(lock, o)
		}
	}
	return lock, fs
}

// isOutput reports whether an object is one that Poolwright rendered, not one
// of a snapshot of the cluster.
func isOutput(o *krm.Object) bool {
	return o.RenderedFor() != "" && o.Annotation(krm.AnnotationInventory) != "true"
}

// lock returns what was rendered for the kustomization in dir and is not among its items.
func (b *builder) lock(dir string, items []*krm.Object) []*krm.Object {
	listed := slices.ContainsFunc(items, isOutput)
	if listed && !slices.ContainsFunc(items, func(o *krm.Object) bool { return isOutput(o) && gitops.Applied(o) != "" }) {
		return nil // nothing is applied apart
	}
	lock, fs := readLock(dir, b.shown(dir), listed)
	b.findings = append(b.findings, fs...)
	return slices.DeleteFunc(lock, func(o *krm.Object) bool {
		return slices.ContainsFunc(items, func(item *krm.Object) bool { return identify(item) == identify(o) })
	})
}

// lockFile lists the lock for kustomize where kustomize calls the function.
const lockFile = stepPrefix + "lock.yaml"

// lock puts what was rendered for the kustomization in dir and is not there among its
// resources. It returns the entry, or "".
func (e *execs) lock(dir string) string {
	lock, fs := readLock(dir, e.shown(dir), e.listsOutput(dir, map[string]bool{}))
	e.findings = append(e.findings, fs...)
	if len(lock) == 0 {
		return ""
	}
	var text []byte
	for _, o := range lock {
		text = append(append(text, "---\n"...), o.Raw...)
	}
	e.disk.write(filepath.Join(dir, lockFile), text)
	return lockFile
}

// listsOutput reports whether a file that a kustomization builds on holds
// something that Poolwright rendered.
func (e *execs) listsOutput(dir string, seen map[string]bool) bool {
	if seen[dir] {
		return false
	}
	seen[dir] = true
	k, _, err := load(e.disk, dir)
	if err != nil {
		return false // kustomize says it better
	}
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		if sub, ok := localDir(e.disk, dir, entry); ok {
			if e.listsOutput(sub, seen) {
				return true
			}
			continue
		}
		data, err := e.disk.ReadFile(filepath.Join(dir, entry))
		if err != nil {
			continue
		}
		objects, err := krm.Parse(&document.Source{Name: entry, Data: data})
		if err == nil && slices.ContainsFunc(objects, isOutput) && !inInventory(e.disk, filepath.Join(dir, entry)) {
			return true
		}
	}
	return false
}
