// Package edit changes the files of a package as a person would: one document of one file, and the line of a new or
// removed file in the kustomization beside it. All other bytes stay. It is pure: files go in, and what changes comes out.
package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Files are files of a package, by path with slashes; in a change, nil is one that is removed.
type Files map[string][]byte

// With are the files after a change.
func (f Files) With(change Files) Files {
	next := maps.Clone(f)
	for name, data := range change {
		if data == nil {
			delete(next, name)
		} else {
			next[name] = data
		}
	}
	return next
}

// Create adds a file with a document: <kind>-<name>.yaml in the folder where most of its kind lie, and a line in the
// kustomization there. The error says why there is no place for it.
func Create(files Files, specs []*krm.Object, o *krm.Object, text []byte) (Files, error) {
	dir := folderFor(specs, o.Kind)
	for _, parts := range [][]string{{o.Kind, o.Name}, {o.Kind, o.Namespace, o.Name}} {
		if slices.Contains(parts, "") {
			continue
		}
		file := strings.ToLower(strings.Join(parts, "-")) + ".yaml"
		if strings.ContainsAny(file, `/\`) {
			return nil, fmt.Errorf("%q cannot be part of the name of a file", o.Name)
		}
		name := path.Join(dir, file)
		if _, taken := files[name]; taken {
			continue
		}
		change := Files{name: lined(text)}
		list := path.Join(dir, kustomization)
		if data, listed := files[list]; listed {
			next, err := addResource(data, file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", list, err)
			}
			change[list] = next
		}
		return change, nil
	}
	return nil, fmt.Errorf("there is a file for another %s %s already; rename it", o.Kind, o.Name)
}

// folderFor is the folder that most specs of a kind lie in, or else most of all, or else that of the package.
func folderFor(specs []*krm.Object, kind string) string {
	count := func(want func(*krm.Object) bool) string {
		in := map[string]int{}
		for _, o := range specs {
			if o.Source != nil && want(o) && !strings.HasPrefix(o.Source.Name, fn.RenderedFolder+"/") {
				in[path.Dir(o.Source.Name)]++
			}
		}
		dirs := slices.SortedFunc(maps.Keys(in), func(a, b string) int { return cmp.Or(in[b]-in[a], strings.Compare(a, b)) })
		if len(dirs) == 0 {
			return ""
		}
		return dirs[0]
	}
	return cmp.Or(count(func(o *krm.Object) bool { return o.Kind == kind }), count(func(*krm.Object) bool { return true }), ".")
}

// Replace puts another text in the place of a document.
func Replace(files Files, o *krm.Object, text []byte) (Files, error) {
	d, err := documentOf(files, o)
	if err != nil {
		return nil, err
	}
	data := files[o.Source.Name]
	return Files{o.Source.Name: slices.Concat(data[:d.Start], lined(text), data[d.End:])}, nil
}

// Patch changes a document so that it says what a tree says. Comments, order and form of all that does not change stay.
func Patch(files Files, o *krm.Object, wanted *document.Node) (Files, error) {
	d, err := documentOf(files, o)
	if err != nil {
		return nil, err
	}
	data := files[o.Source.Name]
	p := patch{text: data, end: int(d.End)}
	next := data
	if p.fields(&d.Node, wanted, int(d.End)) {
		next = p.apply()
	}
	made := func(data []byte) bool {
		all, err := document.Parse(&document.Source{Data: data})
		i := slices.IndexFunc(all, func(other document.Document) bool { return other.Start == d.Start })
		return err == nil && i >= 0 && document.Equal(&all[i].Node, wanted)
	}
	if !made(next) { // a form that cannot be kept
		next = slices.Concat(data[:d.Start], document.Append(nil, wanted, 0), data[d.End:])
	}
	return Files{o.Source.Name: next}, nil
}

// Remove takes documents out. A file that has no other goes, with its line in the kustomization.
func Remove(files Files, objects ...*krm.Object) (Files, error) {
	change := Files{}
	for _, o := range objects {
		now := files.With(change)
		name := o.Source.Name
		data, here := now[name]
		if !here {
			return nil, fmt.Errorf("%s is not in the package", name)
		}
		all, err := document.Parse(&document.Source{Name: name, Data: data})
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(d document.Document) bool { return isOf(&d.Node, o) })
		if i < 0 {
			return nil, notAlone(o)
		}
		if len(all) > 1 {
			change[name] = cutOut(data, all, i)
			continue
		}
		change[name] = nil
		list := path.Join(path.Dir(name), kustomization)
		if listed, found := now[list]; found {
			if next := removeResource(listed, path.Base(name)); !bytes.Equal(next, listed) {
				change[list] = next
			}
		}
	}
	return change, nil
}

// cutOut is a file without one of its documents and the mark between it and the next.
func cutOut(data []byte, all []document.Document, i int) []byte {
	if i+1 < len(all) {
		return slices.Concat(data[:all[i].Start], data[all[i+1].Start:])
	}
	return bytes.Clone(data[:all[i-1].End])
}

// documentOf is the document of an object in its file.
func documentOf(files Files, o *krm.Object) (document.Document, error) {
	all, err := document.Parse(&document.Source{Name: o.Source.Name, Data: files[o.Source.Name]})
	if err != nil {
		return document.Document{}, err
	}
	i := slices.IndexFunc(all, func(d document.Document) bool { return isOf(&d.Node, o) })
	if i < 0 {
		return document.Document{}, notAlone(o)
	}
	return all[i], nil
}

func isOf(n *document.Node, o *krm.Object) bool {
	return n.Str("apiVersion") == o.APIVersion && n.Str("kind") == o.Kind && n.Str("metadata", "namespace") == o.Node.Str("metadata", "namespace") && n.Str("metadata", "name") == o.Name
}

func notAlone(o *krm.Object) error {
	return fmt.Errorf("%s is an item of a list in %s, which is edited by hand", o.Ref, o.Source.Name)
}

// lined is a text that ends with a line.
func lined(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return append(bytes.Clone(text), '\n')
}
