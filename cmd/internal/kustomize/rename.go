package kustomize

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// renaming is a field of a kustomization that gives other names to everything in it. What
// the function renders would be there twice with it: a second owner of the same disks.
type renaming struct {
	pos          document.Position
	field, value string
	after        bool // the function has a place in what the kustomization builds on
}

// renamings lists the fields of a kustomization and of what it builds on, from the top down.
func renamings(disk filesys.FileSystem, top string, shown func(string) string) []renaming {
	w := renameSurvey{disk: disk, shown: shown, seen: map[string]bool{}}
	w.visit(top)
	return w.found
}

type renameSurvey struct {
	disk  filesys.FileSystem
	shown func(string) string
	seen  map[string]bool // by folder: whether the function has a place there or below
	found []renaming
}

// visit reports whether the function has a place in a kustomization or in what it builds on.
func (w *renameSurvey) visit(dir string) bool {
	if ours, seen := w.seen[dir]; seen {
		return ours
	}
	w.seen[dir] = false
	k, name, err := load(w.disk, dir)
	if err != nil {
		return false // kustomize says it better
	}
	at := len(w.found)
	below := false
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		if sub, ok := localDir(w.disk, dir, entry); ok {
			below = w.visit(sub) || below
		}
	}
	var own []renaming
	for _, f := range []struct{ field, value string }{{"namePrefix", k.NamePrefix}, {"nameSuffix", k.NameSuffix}, {"namespace", k.Namespace}} {
		if f.value != "" {
			own = append(own, renaming{w.place(filepath.Join(dir, name), f.field), f.field, f.value, below})
		}
	}
	w.found = slices.Insert(w.found, at, own...)
	functions, err := functions(w.disk, dir, name, k.Transformers)
	w.seen[dir] = below || err == nil && slices.ContainsFunc(functions, func(f *function) bool { return f.ours })
	return w.seen[dir]
}

// place is where a field of a kustomization stands.
func (w *renameSurvey) place(file, field string) document.Position {
	pos := document.Position{File: w.shown(file)}
	data, err := w.disk.ReadFile(file)
	if err != nil {
		return pos
	}
	src := &document.Source{Name: pos.File, Data: data}
	docs, err := document.Parse(src)
	if err != nil || len(docs) == 0 {
		return pos
	}
	if f := docs[0].Node.Field(field); f != nil {
		return src.Position(f.Off)
	}
	return pos
}

// gives reports whether a field may have given an object the name that it has.
func (r *renaming) gives(o finding.Ref) bool {
	switch r.field {
	case "namePrefix":
		return strings.HasPrefix(o.Name, r.value)
	case "nameSuffix":
		return strings.HasSuffix(o.Name, r.value)
	}
	return o.Namespace == r.value
}

// refuseRenamed is the error where objects that were rendered under other names are there as
// renamed, at the field that renames them.
func refuseRenamed(renamed []finding.Ref, fields []renaming, kustomization string) []finding.Finding {
	if len(renamed) == 0 {
		return nil
	}
	f := finding.Finding{Severity: finding.Error, Rule: "renamed-output", Pos: document.Position{File: kustomization}}
	by := "a transformer or patch"
	for _, field := range fields {
		if field.gives(renamed[0]) {
			f.Pos, f.Field, by = field.pos, field.field, fmt.Sprintf("%q", field.value)
			break
		}
	}
	slices.SortFunc(renamed, func(a, b finding.Ref) int { return strings.Compare(a.String(), b.String()) })
	names := make([]string, len(renamed))
	for i, o := range renamed {
		names[i] = o.String()
	}
	f.Message = fmt.Sprintf("%s renames what is rendered, which then claims the disks of the original: %s; remove it, or rename the spec before poolwright renders it", by, finding.Names(names))
	return []finding.Finding{f}
}

// refuseRenamed reports what was rendered under another name.
func (b *builder) refuseRenamed(renamed []finding.Ref) {
	if b.keepNames {
		b.findings = append(b.findings, refuseRenamed(renamed, b.renamings, b.dir)...)
	}
}

// record notes the names of what was rendered.
func (b *builder) record(objects []*krm.Object) {
	for _, o := range objects {
		if isOutput(o) {
			b.output[identify(o)] = true
		}
	}
}

// renamedItems lists the items that were rendered under another name.
func (b *builder) renamedItems(items []*krm.Object) []finding.Ref {
	var renamed []finding.Ref
	for _, o := range items {
		if isOutput(o) && !b.output[identify(o)] {
			renamed = append(renamed, o.Ref)
		}
	}
	return renamed
}

// renamedResources lists the resources that were rendered under another name.
func (b *builder) renamedResources(m resmap.ResMap) []finding.Ref {
	var renamed []finding.Ref
	for _, r := range m.Resources() {
		if ref, owner := outputOf(r); owner != "" && !b.output[identity{ref.APIVersion, ref.Kind, withoutDefault(ref.Namespace), ref.Name}] {
			renamed = append(renamed, ref)
		}
	}
	return renamed
}

// outputOf names a resource, with its owner if it is rendered.
func outputOf(r *resource.Resource) (finding.Ref, string) {
	ref := finding.Ref{APIVersion: r.GetApiVersion(), Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}
	annotations := r.GetAnnotations()
	if annotations[krm.AnnotationInventory] == "true" || r.GetLabels()[krm.LabelManagedBy] != krm.ManagedBy {
		return ref, ""
	}
	return ref, annotations[krm.AnnotationOwner]
}

// renamedByProgram lists the resources that a field after the function has renamed, where
// kustomize called it and only the result is known.
func renamedByProgram(m resmap.ResMap, fields []renaming) []finding.Ref {
	var renamed []finding.Ref
	for _, r := range m.Resources() {
		ref, owner := outputOf(r)
		spec, known := krm.ParseOwner(owner)
		if slices.ContainsFunc(fields, func(f renaming) bool {
			return known && f.after && f.gives(ref) && (f.field != "namespace" || spec.Namespace != ref.Namespace)
		}) {
			renamed = append(renamed, ref)
		}
	}
	return renamed
}
