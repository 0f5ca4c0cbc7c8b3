package folder

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Sent is a package as a ResourceList, for a function that runs elsewhere. Each object is encoded again,
// without comments, so that any form of YAML and JSON can be sent. What comes back is about these texts,
// and is turned into what Package.Render says about the files.
type Sent struct {
	pkg   Package
	files map[string][]*krm.Object // by path in the package, in the order of the file
}

const (
	annotationPath  = "internal.config.kubernetes.io/path"
	annotationIndex = "internal.config.kubernetes.io/index"
)

// Send makes the list.
func (p Package) Send() (*Sent, []byte) {
	s := &Sent{pkg: p, files: map[string][]*krm.Object{}}
	text := []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	add := func(o *krm.Object, name string) {
		n := bare(o.Node)
		at := []document.Field{
			document.F(annotationIndex, document.Text(strconv.Itoa(len(s.files[name])))), document.F(annotationPath, document.Text(name)),
		}
		annotations := submap(submap(&n, "metadata"), "annotations")
		annotations.SetFields(append(annotations.Fields(), at...))
		item := document.List(n)
		text = document.Append(text, &item, 0)
		s.files[name] = append(s.files[name], o)
	}
	for _, o := range p.Objects {
		add(o, o.Path)
	}
	for _, o := range p.Lock {
		add(o, fn.RenderedFolder+"/"+o.Path)
	}
	return s, text
}

// bare is a node with maps of its own for metadata and annotations, without those by which tools
// remember a place.
func bare(n *document.Node) document.Node {
	made := n.Copy()
	meta := made.Field("metadata")
	if meta == nil {
		return made
	}
	meta.Value = meta.Value.Copy()
	if annotations := meta.Value.Field("annotations"); annotations != nil && annotations.Value.Kind() == document.Map {
		annotations.Value = annotations.Value.Copy()
		annotations.Value.SetFields(slices.DeleteFunc(annotations.Value.Fields(), func(f document.Field) bool { return krm.ToolAnnotation(f.Key) }))
	}
	return made
}

// submap is the map below a key, which is made where there is none.
func submap(n *document.Node, key string) *document.Node {
	if found := n.Get(key); found == nil || found.Kind() != document.Map {
		n.Set(key, document.Object())
	}
	return n.Get(key)
}

// Receive reads what the function answered. The error is a *document.SyntaxError: it is no ResourceList.
func (s *Sent) Receive(function *fn.Function, answer []byte) (fn.Result, error) {
	list, findings, err := krm.ReadAnswer(&document.Source{Name: "the answer", Data: answer})
	if err != nil {
		return fn.Result{}, err
	}
	result := fn.Result{Findings: s.here(findings)}
	if finding.Failed(findings) {
		return result, nil
	}
	before := map[krm.ID]*krm.Object{}
	for _, o := range s.pkg.Ours() {
		before[o.ID()] = o
	}
	for _, o := range list.Items {
		file, rendered := strings.CutPrefix(o.Path, fn.RenderedFolder+"/")
		if !rendered || o.RenderedFor() == "" {
			continue
		}
		text, _ := o.FileText()
		made, err := krm.Parse(&document.Source{Name: o.Path, Data: text})
		if err != nil {
			return fn.Result{}, err
		}
		next := made[0]
		next.Path = file
		if old := before[o.ID()]; old != nil {
			if was := bare(old.Node); document.Equal(&was, next.Node) {
				next = old
			}
		}
		result.Objects = append(result.Objects, fn.Rendered{Path: file, Object: next})
	}
	fn.SortRendered(result.Objects)
	result.Facts = function.FactsOf(s.pkg.Input())
	return result, nil
}

// here turns findings about the texts that were sent into findings about the files.
func (s *Sent) here(fs []finding.Finding) []finding.Finding {
	known := map[string]*places{}
	in := func(name string) *places {
		p := known[name]
		if p == nil {
			p = s.places(name)
			known[name] = p
		}
		return p
	}
	for i := range fs {
		f := &fs[i]
		if f.Pos.File != "" {
			f.Pos = in(f.Pos.File).at(f.Pos.Line, f.Pos.Column)
		}
		f.Message = named.ReplaceAllStringFunc(f.Message, func(text string) string {
			name, line, _ := strings.Cut(text, ":")
			if number, _ := strconv.Atoi(line); s.files[name] != nil {
				at := in(name).at(number, 0)
				return at.File + ":" + strconv.Itoa(at.Line)
			}
			return text
		})
	}
	return finding.Sort(fs)
}

// named is a place that a message names: FILE:LINE.
var named = regexp.MustCompile(`[^\s:]+\.(?:ya?ml|json):[0-9]+`)

// places are those of a file, by where they stand in the text that was sent.
type places struct {
	exact map[[2]int]document.Position
	lines map[int]document.Position
	file  document.Position
}

func (p *places) at(line, column int) document.Position {
	if at, found := p.exact[[2]int{line, column}]; found {
		return at
	}
	return cmp.Or(p.lines[line], p.file)
}

// places reads a file again as it was sent, beside the objects that it was made from.
func (s *Sent) places(name string) *places {
	p := &places{exact: map[[2]int]document.Position{}, lines: map[int]document.Position{}}
	src := &document.Source{Name: name}
	for i, o := range s.files[name] {
		if i > 0 {
			src.Data = append(src.Data, separator...)
		}
		n := bare(o.Node)
		src.Data = document.Append(src.Data, &n, 0)
		p.file = document.Position{File: o.Position(o.Node.Off).File}
	}
	docs, err := document.Parse(src)
	if err != nil || len(docs) != len(s.files[name]) {
		return p
	}
	for i, o := range s.files[name] {
		n := bare(o.Node)
		p.add(src, o, &docs[i].Node, &n)
	}
	return p
}

// add walks a node as it was sent beside the same as it was read.
func (p *places) add(src *document.Source, o *krm.Object, sent, read *document.Node) {
	note := func(from, to int32) {
		at := src.Position(from)
		if _, found := p.exact[[2]int{at.Line, at.Column}]; !found {
			p.exact[[2]int{at.Line, at.Column}] = o.Position(to)
		}
		if _, found := p.lines[at.Line]; !found {
			p.lines[at.Line] = o.Position(to)
		}
	}
	note(sent.Off, read.Off)
	if len(sent.Fields()) == len(read.Fields()) {
		for i := range sent.Fields() {
			a, b := &sent.Fields()[i], &read.Fields()[i]
			note(a.Off, b.Off)
			p.add(src, o, &a.Value, &b.Value)
		}
	}
	if len(sent.Items()) == len(read.Items()) {
		for i := range sent.Items() {
			p.add(src, o, &sent.Items()[i], &read.Items()[i])
		}
	}
}
