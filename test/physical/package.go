package physical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/generated"
)

// Chunk is one object and the file that it is in. Of inventory/<plural>.yaml it is an item.
type Chunk struct{ File, Text string }

// Package is what Poolwright is given.
type Package struct {
	Kinds  []string // plurals of the kinds that the snapshot has
	Chunks []Chunk  // facts, specs and manifests of people
	Lock   []Chunk  // what was rendered before
}

// Files is the package as files.
func (p *Package) Files() []Chunk {
	text := map[string]string{}
	var order []string
	add := func(file, more string) {
		if _, known := text[file]; !known {
			order = append(order, file)
		}
		text[file] += more
	}
	for _, kind := range p.Kinds {
		add("inventory/"+kind+".yaml", "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: "+kind+"}\nitems:")
	}
	filled := map[string]bool{}
	for _, c := range slices.Concat(p.Chunks, p.Lock) {
		switch {
		case strings.HasPrefix(c.File, "inventory/"):
			if text[c.File] == "" {
				continue // a kind that the snapshot lacks
			}
			if !filled[c.File] {
				add(c.File, "\n")
			}
			add(c.File, item(c.Text))
		case text[c.File] != "":
			add(c.File, "---\n"+c.Text)
		default:
			add(c.File, c.Text)
		}
		filled[c.File] = true
	}
	files := make([]Chunk, len(order))
	for i, file := range order {
		if files[i] = (Chunk{file, text[file]}); !filled[file] {
			files[i].Text += " []\n"
		}
	}
	return files
}

// item is a document as the item of a list.
func item(text string) string {
	return "- " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

// String is the package as a txtar archive.
func (p *Package) String() string {
	var b strings.Builder
	for _, f := range p.Files() {
		fmt.Fprintf(&b, "-- %s --\n%s", f.File, f.Text)
	}
	return b.String()
}

// objects reads the package: what there is outside rendered/, and what is in it.
func (p *Package) objects() (objects, output []*krm.Object, err error) {
	for _, f := range p.Files() {
		read, err := krm.Parse(&document.Source{Name: f.File, Data: []byte(f.Text)})
		if err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(f.File, "rendered/") {
			output = append(output, read...)
		} else {
			objects = append(objects, read...)
		}
	}
	return objects, output, nil
}

// Rendered is what a render gave.
type Rendered struct {
	fn.Result
	Lock []Chunk // its files, as they are committed
}

// Render renders the package, as poolwright render does.
func (p *Package) Render() (Rendered, error) {
	objects, output, err := p.objects()
	if err != nil {
		return Rendered{}, err
	}
	r := Rendered{Result: generated.Function().Render(fn.Package{Objects: objects, Output: output})}
	for _, o := range r.Objects {
		r.Lock = append(r.Lock, Chunk{"rendered/" + o.Path, string(o.Object.Raw)})
	}
	return r, nil
}

// With is the package with another lock.
func (p *Package) With(lock []Chunk) *Package {
	return &Package{Kinds: p.Kinds, Chunks: p.Chunks, Lock: lock}
}
