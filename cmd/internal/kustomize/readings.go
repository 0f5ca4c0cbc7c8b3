package kustomize

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// readings are the files of the disk that a build looked at, and the inventories that
// they lie in, each as it was before the first of its files was read.
type readings struct {
	dir, top string // the folder that is built, as it was named and where it is
	files    map[string]bool
	editions map[string]folder.Edition
	damaged  map[string]*finding.Finding // by file
	failed   string                      // the kustomization whose specs were refused, or ""; no other was read as a whole
	onFile   func(path string)           // called after each file, for tests; nil for none
}

func newReadings(dir string, onFile func(string)) *readings {
	r := &readings{dir: dir, top: dir, files: map[string]bool{}, editions: map[string]folder.Edition{}, damaged: map[string]*finding.Finding{}, onFile: onFile}
	if top, _, err := filesys.MakeFsOnDisk().CleanedAbs(dir); err == nil {
		r.top = top.String()
	}
	return r
}

// read reads a file.
func (r *readings) read(path string, read func(string) ([]byte, error)) ([]byte, error) {
	r.files[path] = true
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, known := r.editions[dir]; !known && filepath.Base(dir) == inventory.Folder {
			r.editions[dir] = folder.EditionOf(dir)
		}
	}
	data, err := read(path)
	if err == nil {
		if f := folder.Damage(&document.Source{Name: path, Data: data}, r.isRendered(path)); f != nil {
			r.damaged[path] = f
		}
	}
	if r.onFile != nil {
		r.onFile(path)
	}
	return data, err
}

// exchanged is an inventory that is another one by now, or "".
func (r *readings) exchanged() string {
	for _, dir := range slices.Sorted(maps.Keys(r.editions)) {
		if !r.editions[dir].Equal(folder.EditionOf(dir)) {
			return dir
		}
	}
	return ""
}

// isRendered reports whether a file is in an output folder. Where the folder that is built lies says nothing.
func (r *readings) isRendered(path string) bool {
	rel, err := filepath.Rel(filepath.Dir(r.top), filepath.Dir(path))
	return err == nil && slices.Contains(strings.Split(rel, string(filepath.Separator)), fn.RenderedFolder)
}

// damages are the files that must not be used, by the name of the folder that is built.
func (r *readings) damages() []finding.Finding {
	var findings []finding.Finding
	for path, f := range r.damaged {
		f.Pos.File = shownAs(r.top, r.dir, path)
		findings = append(findings, *f)
	}
	return finding.Sort(findings)
}

// unlisted warns of input beside the kustomizations that were read, which none of them
// lists, by the name of the first: kustomize passes it over. It may be just what is
// missed, so that it is named where specs were refused, too.
func (r *readings) unlisted(hasSpec func([]*krm.Object) bool) []finding.Finding {
	var findings []finding.Finding
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		dir := filepath.Dir(path)
		if !slices.Contains(kustomizationNames(), filepath.Base(path)) || r.isRendered(path) {
			continue
		}
		if r.failed == "" || within(r.failed, dir) {
			findings = append(findings, folder.Unlisted(dir, shownAs(r.top, r.dir, dir), r.files, hasSpec)...)
		}
	}
	return findings
}

// within reports whether a folder is another or lies in it.
func within(parent, dir string) bool {
	rel, err := filepath.Rel(parent, dir)
	return err == nil && filepath.IsLocal(rel)
}

// rebuilds is how often a package is built whose inventory is exchanged all the time.
const rebuilds = 3

// atRest builds until no inventory was exchanged meanwhile: what was read would be a
// mixture of two snapshots.
func atRest(dir string, o Options, build func(Options) ([]byte, []finding.Finding, error)) ([]byte, []finding.Finding, error) {
	for range rebuilds {
		r := newReadings(dir, o.onFile)
		o.readings = r
		out, fs, err := build(o)
		if r.exchanged() != "" {
			continue
		}
		if len(r.damaged) > 0 { // kustomize passes over what is empty, and says less of the rest
			return nil, r.damages(), nil
		}
		if err == nil && o.HasSpec != nil && (!finding.Failed(fs) || r.failed != "") {
			fs = finding.Sort(append(fs, r.unlisted(o.HasSpec)...))
		}
		return out, fs, err
	}
	return nil, []finding.Finding{{
		Severity: finding.Error, Rule: "read", Pos: document.Position{File: dir},
		Message: fmt.Sprintf("its inventory was exchanged each of the %d times that it was read, so that nothing is known for sure; wait until nobody writes it, and try again", rebuilds),
	}}, nil
}
