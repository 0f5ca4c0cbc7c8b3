// Package schema holds what every document may say, as CUE definitions in
// cue/, and what is done with them: Complete a spec that a person wrote, Check
// an object before it is written, and Export a definition for other tools.
// cue/common has what definitions share, cue/kubernetes the kinds of Kubernetes
// itself, cue/poolwright what belongs to no storage system, and each system has a
// package of its own: a folder. Nothing outside a folder lists what is in it.
//
// CUE is the only place where a field, a bound, a default or a rule between
// fields is written down. From a compiled definition a shape is read once: a
// plain tree, which the checks walk beside a document, because a walk can report
// every mistake with its place in the file, and CUE cannot. What depends on
// several fields is left to CUE, which is given the document after the walk.
package schema

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Role is what a kind is to Poolwright.
type Role string

// The roles.
const (
	Spec     Role = "spec"     // says what a person wants
	Config   Role = "config"   // says how to render, and what the controller renders
	Rendered Role = "rendered" // is written by Poolwright
	Fact     Role = "fact"     // says what exists
)

// Kind is one kind that has a definition.
type Kind struct {
	finding.GroupKind
	Version string
	Plural  string
	Short   string // a short name for kubectl; "" for none
	Scope   string // Namespaced or Cluster
	Role    Role
	Foreign bool   // of another project, whose own definition is the full one
	File    bool   // it exists in files only, never in a cluster
	Doc     string // one line
}

// HasCRD reports whether the kind has a CustomResourceDefinition of ours.
func (k Kind) HasCRD() bool { return !k.Foreign && !k.File }

// APIVersion is the group and the version as a document writes them.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// Schemas is the set of all definitions. To compile those of one system takes about
// ten milliseconds, so whoever needs them more than once hands them on. It may be
// used by several goroutines.
type Schemas struct {
	sources sources

	mu       sync.Mutex // guards everything below: a CUE context is for one goroutine at a time
	compiled *compiled
	kinds    map[finding.GroupKind]*definition
	shapes   shapeReader
}

// Load returns the definitions. They are compiled when they are first asked for.
// Each of more holds further packages, a folder each, which may import those of
// cue/ and are known as those are.
func Load(more ...fs.FS) *Schemas {
	return &Schemas{sources: append(sources{embedded()}, more...)}
}

// Kinds lists every kind, sorted by role as a document flows, then by name.
func (s *Schemas) Kinds() []Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	kinds := make([]Kind, 0, len(s.kinds))
	for _, d := range s.kinds {
		kinds = append(kinds, d.Kind)
	}
	order := []Role{Spec, Config, Fact, Rendered}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(
			slices.Index(order, a.Role)-slices.Index(order, b.Role),
			strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Group, b.Group))
	})
	return kinds
}

// Names lists the names of all kinds, in the order of Kinds: Kind, or Kind.group
// where two kinds have one name.
func (s *Schemas) Names() []string {
	kinds := s.Kinds()
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Kind
		if slices.ContainsFunc(kinds, func(o Kind) bool { return o.Kind == k.Kind && o.Group != k.Group }) {
			names[i] = k.GroupKind.String()
		}
	}
	return names
}

// Annotations lists the annotations that the definition of a kind names below the path of a metadata, in
// its order: other fields are allowed.
func (s *Schemas) Annotations(kind finding.GroupKind, metadata ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	d := s.kinds[kind]
	if d == nil {
		return nil
	}
	at := s.shaped(d).shape
	for _, name := range append(slices.Clone(metadata), "annotations") {
		f := at.field(name)
		if f == nil {
			return nil
		}
		at = f.shape
	}
	return at.names()
}

// load reads the definitions of all kinds.
func (s *Schemas) load() {
	if s.kinds != nil {
		return
	}
	s.compiled = s.sources.compile()
	s.shapes = shapeReader{s.compiled, map[definitionName]*shape{}}
	s.kinds = s.sources.definitions(s.compiled.parsed)
}

// find returns the definition of an object, or nil. An object of an unknown group
// has that of the only kind with its name, which says what its apiVersion must be.
func (s *Schemas) find(ref finding.Ref, n *document.Node) *definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	d := s.kinds[ref.GroupKind()]
	if d == nil {
		d = s.named(ref.Kind)
	}
	if d == nil {
		return nil
	}
	if len(d.narrowed) > 0 {
		if n := d.narrowed[ownerOf(n)]; n != nil {
			d = n
		}
	}
	return s.shaped(d)
}

// named returns the definition of the only kind of that name, written as Kind or
// Kind.group; or nil.
func (s *Schemas) named(name string) *definition {
	var called []*definition
	for gk, d := range s.kinds {
		if gk.Kind == name {
			called = append(called, d)
		}
		if gk.String() == name && gk.Group != "" {
			return d
		}
	}
	if len(called) != 1 {
		return nil
	}
	return called[0]
}

// shaped compiles a definition and reads its shape, if that was not done before.
func (s *Schemas) shaped(d *definition) *definition {
	if d.shape == nil {
		d.value = s.compiled.definition(d.name)
		d.shape = s.shapes.read(d.value)
	}
	return d
}

// lookup returns the definition of the only kind of that name, or nil.
func (s *Schemas) lookup(name string) *definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if d := s.named(name); d != nil {
		return s.shaped(d)
	}
	return nil
}
