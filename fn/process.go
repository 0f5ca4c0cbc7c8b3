package fn

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// RenderedFolder is the output folder inside a package, where nothing else is named.
const RenderedFolder = "rendered"

const (
	annotationPath  = "internal.config.kubernetes.io/path"
	annotationIndex = "internal.config.kubernetes.io/index"

	annotationLegacyIndex = "config.kubernetes.io/index"
)

// Run is the KRM function from bytes to bytes: it reads a ResourceList, renders its specs, and
// writes the list with the findings as results. The error is a *document.SyntaxError, and
// nothing is written then, or that of w.
func (f *Function) Run(src *document.Source, w io.Writer) ([]finding.Finding, error) {
	rl, err := krm.ReadResourceList(src)
	if err != nil {
		return nil, err
	}
	fs := finding.Sort(f.Process(rl))
	return fs, rl.Write(w, fs)
}

// Process is the KRM function: it renders the specs among the items of a
// ResourceList in place. Where a finding is an error, the items stay as they are.
// Items that are not ours are not touched; ours outside of the output folder keep their
// place, new ones come last.
func (f *Function) Process(rl *krm.ResourceList) []finding.Finding {
	p := Package{Config: rl.FunctionConfig}
	located := false
	for _, o := range rl.Items {
		located = located || o.Path != ""
	}
	p.Partial = !located
	for _, o := range rl.Items {
		if o.RenderedFor() != "" && !isFact(f.kinds, o) {
			p.Output = append(p.Output, o)
		} else {
			p.Objects = append(p.Objects, o)
		}
	}
	if !located {
		if findings := apartWithoutLock(p.Output); len(findings) > 0 {
			return findings
		}
	}
	if findings := f.RefuseNested(rl.Items, ""); len(findings) > 0 {
		return findings
	}
	if findings := refuseRenamed(p.Output); len(findings) > 0 {
		return findings
	}
	result := f.Render(p)
	if finding.Failed(result.Findings) {
		return result.Findings
	}
	if !located {
		result.Objects = together(result.Objects)
	}
	wanted := make(map[krm.ID]*krm.Object, len(result.Objects))
	places := make(map[krm.ID]string, len(result.Objects))
	for _, r := range result.Objects {
		wanted[r.Object.ID()] = r.Object
		places[r.Object.ID()] = RenderedFolder + "/" + r.Path
	}
	items := slices.DeleteFunc(slices.Clone(rl.Items), func(o *krm.Object) bool {
		return o.RenderedFor() != "" && !isFact(f.kinds, o) && wanted[o.ID()] == nil
	})
	for i, o := range items {
		if now := wanted[o.ID()]; now != nil && o.RenderedFor() != "" && !isFact(f.kinds, o) {
			// What lies in the output folder has its place there, as poolwright render writes it.
			place := o.Path
			if strings.HasPrefix(place, RenderedFolder+"/") {
				place = places[o.ID()]
			}
			if place != "" && (now != o || place != o.Path) {
				locate(now, place, o.Index)
			}
			items[i] = now
			delete(wanted, o.ID())
		}
	}
	index := map[string]int{}
	for _, o := range items {
		index[o.Path] = max(index[o.Path], o.Index+1)
	}
	for _, r := range result.Objects {
		if wanted[r.Object.ID()] == nil {
			continue
		}
		if located {
			path := RenderedFolder + "/" + r.Path
			locate(r.Object, path, index[path])
			index[path]++
		}
		items = append(items, r.Object)
	}
	if located {
		f.renumber(items)
	}
	rl.Items = items
	return result.Findings
}

// renumber puts the objects of a file into the order in which poolwright render
// writes them, so that both give the same file. A file that holds something of
// somebody else's is left in the order that it has.
func (f *Function) renumber(items []*krm.Object) {
	files := map[string][]*krm.Object{}
	foreign := map[string]bool{}
	for _, o := range items {
		files[o.Path] = append(files[o.Path], o)
		foreign[o.Path] = foreign[o.Path] || o.RenderedFor() == "" || isFact(f.kinds, o)
	}
	for path, objects := range files {
		if path == "" || foreign[path] {
			continue
		}
		slices.SortStableFunc(objects, func(a, b *krm.Object) int {
			return compareRendered(Rendered{Object: a}, Rendered{Object: b})
		})
		for i, o := range objects {
			if o.Index != i {
				locate(o, path, i)
			}
		}
	}
}

// locate says in which file of the package an item belongs.
func locate(o *krm.Object, path string, index int) {
	o.Path, o.Index = path, index
	o.SetAnnotation(annotationIndex, strconv.Itoa(index))
	o.SetAnnotation(annotationPath, path)
	// Tools refuse an item of which the older form says something else.
	if o.Annotation(annotationLegacyIndex) != "" {
		o.SetAnnotation(annotationLegacyIndex, strconv.Itoa(index))
	}
	o.Raw = document.Append(nil, o.Node, 0)
}
