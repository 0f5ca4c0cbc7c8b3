// Package schema holds what every document may say, as CUE definitions in
// cue/, and what is done with them: Complete a spec that a person wrote, Check
// an object before it is written, and Export a definition for other tools.
//
// CUE is the only place where a field, a bound, a default or a rule between
// fields is written down. From a compiled definition a shape is read once: a
// plain tree, which the checks walk beside a document, because a walk can report
// every mistake with its place in the file, and CUE cannot. What depends on
// several fields is left to CUE, which is given the document after the walk.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
)

//go:embed cue/*.cue cue/cel/*.cue
var definitions embed.FS

// Role is what a kind is to Poolwright.
type Role string

// The roles.
const (
	Spec     Role = "spec"     // says what a person wants
	Config   Role = "config"   // says how to render
	Rendered Role = "rendered" // is written by Poolwright
	Fact     Role = "fact"     // says what exists
)

// Kind is one kind that has a definition.
type Kind struct {
	Group   string // "" for the core group
	Version string
	Kind    string
	Plural  string
	Short   string // a short name for kubectl; "" for none
	Scope   string // Namespaced or Cluster
	Role    Role
	Foreign bool   // of another project, whose own definition is the full one
	Doc     string // one line
}

// APIVersion is the group and the version as a document writes them.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// Schemas is the set of all definitions. It may be used by several goroutines.
type Schemas struct {
	mu     sync.Mutex // guards everything below: a CUE context is for one goroutine at a time
	ctx    *cue.Context
	root   cue.Value
	files  []*ast.File
	kinds  map[string]*definition
	shapes shapeReader
}

// definition is a kind, with its CUE definition and the shape read from it.
type definition struct {
	Kind
	value      cue.Value
	shape      *shape
	columns    []column
	selectable []string // paths of fields
}

// column is one column of kubectl get.
type column struct {
	name, path, kind string
	wide             bool // only with -o wide
}

// Load returns the definitions. They are compiled when they are first asked for.
func Load() *Schemas {
	return &Schemas{}
}

// Kinds lists every kind, sorted by role as a document flows, then by name.
func (s *Schemas) Kinds() []Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compile()
	kinds := make([]Kind, 0, len(s.kinds))
	for _, d := range s.kinds {
		kinds = append(kinds, d.Kind)
	}
	order := []Role{Spec, Config, Fact, Rendered}
	slices.SortFunc(kinds, func(a, b Kind) int {
		if a.Role != b.Role {
			return slices.Index(order, a.Role) - slices.Index(order, b.Role)
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return kinds
}

// kindNames lists the names of all kinds, in the order of Kinds.
func (s *Schemas) kindNames() []string {
	var names []string
	for _, k := range s.Kinds() {
		names = append(names, k.Kind)
	}
	return names
}

// lookup returns the definition of a kind with its shape, or nil.
func (s *Schemas) lookup(kind string) *definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compile()
	d := s.kinds[kind]
	if d != nil && d.shape == nil {
		d.shape = s.shapes.read(d.value)
	}
	return d
}

// compile builds the embedded definitions. They are part of the program, so a
// mistake in them is a mistake in the program, and the tests of this package
// find it: hence the panics here and in shapeReader.
func (s *Schemas) compile() {
	if s.kinds != nil {
		return
	}
	// Both options keep the environment out: CUE would follow CUE_DEBUG and
	// CUE_EXPERIMENT otherwise.
	s.ctx = cuecontext.New(cuecontext.EvaluatorVersion(cuecontext.EvalStable), cuecontext.CUE_DEBUG(""))
	s.root, s.files = s.build("cue/*.cue")
	s.kinds = map[string]*definition{}
	s.shapes = shapeReader{}
	defs, err := s.root.Fields(cue.Definitions(true))
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	for defs.Next() {
		d := readDefinition(defs.Value())
		if d == nil {
			continue
		}
		if s.kinds[d.Kind.Kind] != nil {
			panic("schema: two definitions of a kind " + d.Kind.Kind + ", of which the group is not asked")
		}
		s.kinds[d.Kind.Kind] = d
	}
}

// build compiles files of the package of the definitions.
func (s *Schemas) build(patterns ...string) (cue.Value, []*ast.File) {
	inst := build.NewContext().NewInstance("schema", nil)
	var files []*ast.File
	for _, pattern := range patterns {
		names, err := fs.Glob(definitions, pattern)
		if err != nil {
			panic(err)
		}
		for _, name := range names {
			text, err := definitions.ReadFile(name)
			if err != nil {
				panic(err)
			}
			file, err := parser.ParseFile(name, text, parser.ParseComments)
			if err != nil {
				panic(fmt.Sprintf("schema: %v", err))
			}
			files = append(files, file)
			if err := inst.AddSyntax(file); err != nil {
				panic(fmt.Sprintf("schema: %v", err))
			}
		}
	}
	v := s.ctx.BuildInstance(inst)
	if err := v.Err(); err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return v, files
}

// readDefinition reads a definition that is a kind; nil for any other.
func readDefinition(v cue.Value) *definition {
	d := &definition{value: v}
	for _, a := range v.Attributes(cue.DeclAttr) {
		switch a.Name() {
		case "kind":
			d.readKind(a)
		case "column":
			d.columns = append(d.columns, readColumn(a))
		case "selectable":
			path, _ := a.String(0)
			d.selectable = append(d.selectable, path)
		}
	}
	if d.Role == "" {
		return nil
	}
	return d
}

// readKind reads the @kind attribute, and the fields that say the same to others.
func (d *definition) readKind(a cue.Attribute) {
	d.Kind.Kind, _ = d.value.LookupPath(cue.MakePath(cue.Str("kind").Required())).String()
	apiVersion, _ := d.value.LookupPath(cue.MakePath(cue.Str("apiVersion").Required())).String()
	var found bool
	if d.Group, d.Version, found = strings.Cut(apiVersion, "/"); !found {
		d.Group, d.Version = "", apiVersion
	}
	role, _, _ := a.Lookup(0, "role")
	d.Role = Role(role)
	d.Scope, _, _ = a.Lookup(0, "scope")
	d.Plural, _, _ = a.Lookup(0, "plural")
	d.Short, _, _ = a.Lookup(0, "short")
	d.Foreign, _ = a.Flag(0, "foreign")
	d.Doc, _, _ = strings.Cut(docOf(d.value), ". ")
	d.Doc = strings.TrimSuffix(d.Doc, ".") + "."
}

func readColumn(a cue.Attribute) column {
	c := column{kind: "string"}
	c.name, _ = a.String(0)
	c.path, _ = a.String(1)
	if kind, found, _ := a.Lookup(2, "type"); found {
		c.kind = kind
	}
	c.wide, _ = a.Flag(2, "wide")
	return c
}

// docOf is the text of the comments on a definition or a field, in one line.
func docOf(v cue.Value) string {
	var parts []string
	for _, group := range v.Doc() {
		if text := strings.Join(strings.Fields(group.Text()), " "); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
