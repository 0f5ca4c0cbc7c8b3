package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

//go:embed cue
var cueFiles embed.FS

// module is the path of the CUE module that packages are imported from.
const module = "poolwright.io/schema"

// celFolder is the folder of a package that holds what its CEL is put together
// from; only a CustomResourceDefinition needs that.
const celFolder = "cel"

// sources hold the packages of the definitions, a folder each.
type sources []fs.FS

// embedded are the packages of cue/.
func embedded() fs.FS {
	sub, err := fs.Sub(cueFiles, "cue")
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return sub
}

// folders lists the packages, sorted.
func (s sources) folders() []string {
	var folders []string
	for _, source := range s {
		entries, err := fs.ReadDir(source, ".")
		if err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != "cue.mod" {
				folders = append(folders, e.Name())
			}
		}
	}
	slices.Sort(folders)
	return folders
}

// files parses the files of a package, sorted.
func (s sources) files(folder string) []*ast.File {
	var files []*ast.File
	for _, source := range s {
		names, err := fs.Glob(source, path.Join(folder, "*.cue"))
		if err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
		for _, name := range names {
			text, err := fs.ReadFile(source, name)
			if err != nil {
				panic(fmt.Sprintf("schema: %v", err))
			}
			file, err := parser.ParseFile(name, text, parser.ParseComments)
			if err != nil {
				panic(fmt.Sprintf("schema: %v", err))
			}
			files = append(files, file)
		}
	}
	return files
}

// compiled are the definitions in one CUE context.
//
// They are part of the program, so a mistake in them is a mistake in the program,
// and the tests of this package find it: hence the panics here and in shapeReader.
type compiled struct {
	sources   sources
	ctx       *cue.Context
	build     *build.Context
	instances map[string]*build.Instance // by folder
	packages  map[string]cue.Value       // by folder
}

// definitionName is where a definition stands.
type definitionName struct{ folder, name string }

// compile builds all packages.
func (s sources) compile() *compiled {
	c := &compiled{
		sources: s,
		// Both options keep the environment out: CUE would follow CUE_DEBUG and
		// CUE_EXPERIMENT otherwise.
		ctx:       cuecontext.New(cuecontext.EvaluatorVersion(cuecontext.EvalStable), cuecontext.CUE_DEBUG("")),
		instances: map[string]*build.Instance{},
		packages:  map[string]cue.Value{},
	}
	c.build = build.NewContext(build.Loader(c.imported))
	for _, folder := range s.folders() {
		c.packages[folder] = c.value(folder)
	}
	return c
}

// imported is the package that an import names; nil for one of CUE itself.
func (c *compiled) imported(_ token.Pos, importPath string) *build.Instance {
	folder, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return nil
	}
	return c.instance(folder)
}

func (c *compiled) instance(folder string) *build.Instance {
	if inst := c.instances[folder]; inst != nil {
		return inst
	}
	inst := c.build.NewInstance(folder, c.imported)
	inst.ImportPath = module + "/" + folder
	c.instances[folder] = inst
	for _, file := range c.sources.files(folder) {
		if err := inst.AddSyntax(file); err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
	}
	if err := inst.Complete(); err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return inst
}

// value is the package of a folder.
func (c *compiled) value(folder string) cue.Value {
	v := c.ctx.BuildInstance(c.instance(folder))
	if err := v.Err(); err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return v
}

// definition is the value of a definition.
func (c *compiled) definition(d definitionName) cue.Value {
	return c.packages[d.folder].LookupPath(cue.ParsePath(d.name))
}

// definitions reads every definition of a kind.
func (c *compiled) definitions() map[finding.GroupKind]*definition {
	kinds := map[finding.GroupKind]*definition{}
	type narrowing struct {
		*definition
		spec string
	}
	var narrowings []narrowing
	for _, folder := range c.sources.folders() {
		defs, err := c.packages[folder].Fields(cue.Definitions(true))
		if err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
		for defs.Next() {
			d := &definition{name: definitionName{folder, defs.Selector().String()}, value: defs.Value()}
			spec, isKind := d.readAttributes()
			switch {
			case spec != "":
				narrowings = append(narrowings, narrowing{d, spec})
			case isKind && kinds[d.GroupKind] != nil:
				panic(fmt.Sprintf("schema: two definitions of %s: %v and %v", d.GroupKind, kinds[d.GroupKind].name, d.name))
			case isKind:
				kinds[d.GroupKind] = d
			}
		}
	}
	for _, n := range narrowings {
		base, spec := kinds[n.GroupKind], specOf(kinds, n.name.folder, n.spec)
		if base == nil || spec == nil {
			panic(fmt.Sprintf("schema: %v is rendered for %q, and one of the two is no kind", n.name, n.spec))
		}
		if base.narrowed == nil {
			base.narrowed = map[finding.GroupKind]*definition{}
		}
		base.narrowed[spec.GroupKind] = n.definition
		n.definition.Kind, base.Role = base.Kind, Rendered
	}
	return kinds
}

// specOf finds a kind of spec by its name in a package.
func specOf(kinds map[finding.GroupKind]*definition, folder, name string) *definition {
	for gk, d := range kinds {
		if gk.Kind == name && d.name.folder == folder && d.Role == Spec {
			return d
		}
	}
	return nil
}

// readAttributes reads what a definition says of itself: whether it is one of a
// kind, and the kind of spec that it is narrowed for.
func (d *definition) readAttributes() (spec string, isKind bool) {
	for _, a := range d.value.Attributes(cue.DeclAttr) {
		switch a.Name() {
		case "kind":
			isKind = true
			d.readKind(a)
		case "rendered":
			spec, _, _ = a.Lookup(0, "for")
		case "column":
			d.columns = append(d.columns, readColumn(a))
		case "selectable":
			path, _ := a.String(0)
			d.selectable = append(d.selectable, path)
		}
	}
	if isKind || spec != "" {
		d.readNames()
	}
	return spec, isKind
}

// readNames reads the fields by which an object names its kind.
func (d *definition) readNames() {
	d.Kind.Kind, _ = d.value.LookupPath(cue.MakePath(cue.Str("kind").Required())).String()
	apiVersion, _ := d.value.LookupPath(cue.MakePath(cue.Str("apiVersion").Required())).String()
	var found bool
	if d.Group, d.Version, found = strings.Cut(apiVersion, "/"); !found {
		d.Group, d.Version = "", apiVersion
	}
}

// readKind reads the @kind attribute.
func (d *definition) readKind(a cue.Attribute) {
	d.Role = Fact
	if role, found, _ := a.Lookup(0, "role"); found {
		d.Role = Role(role)
	}
	d.Scope, _, _ = a.Lookup(0, "scope")
	d.Plural, _, _ = a.Lookup(0, "plural")
	d.Short, _, _ = a.Lookup(0, "short")
	d.Foreign, _ = a.Flag(0, "foreign")
	d.File, _ = a.Flag(0, "file")
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

// ownerOf is the kind of the spec that an object is rendered for.
func ownerOf(n *document.Node) finding.GroupKind {
	parts := strings.Split(n.Str("metadata", "annotations", "poolwright.io/owner"), "/")
	if len(parts) != 4 {
		return finding.GroupKind{}
	}
	return finding.GroupKind{Group: parts[0], Kind: parts[1]}
}
