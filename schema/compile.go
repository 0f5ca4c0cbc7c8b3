package schema

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
)

// compiled are packages of definitions in one CUE context, each compiled when it is
// first asked for: a system costs nothing where it is not used.
type compiled struct {
	sources   sources
	parsed    syntax
	ctx       *cue.Context
	build     *build.Context
	instances map[string]*build.Instance // by folder
	packages  map[string]cue.Value       // by folder
}

// compile begins with no package.
func (s sources) compile() *compiled {
	c := &compiled{
		sources: s,
		parsed:  syntax{},
		// Both options keep the environment out: CUE would follow CUE_DEBUG and
		// CUE_EXPERIMENT otherwise.
		ctx:       cuecontext.New(cuecontext.EvaluatorVersion(cuecontext.EvalStable), cuecontext.CUE_DEBUG("")),
		instances: map[string]*build.Instance{},
		packages:  map[string]cue.Value{},
	}
	c.build = build.NewContext(build.Loader(c.imported))
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
	for _, file := range c.sources.files(c.parsed, folder) {
		if err := inst.AddSyntax(file); err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
	}
	if err := inst.Complete(); err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return inst
}

// folder is the package of a folder.
func (c *compiled) folder(folder string) cue.Value {
	v, found := c.packages[folder]
	if !found {
		v = c.ctx.BuildInstance(c.instance(folder))
		if err := v.Err(); err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
		c.packages[folder] = v
	}
	return v
}

// definition is the value of a definition.
func (c *compiled) definition(d definitionName) cue.Value {
	return c.folder(d.folder).LookupPath(cue.ParsePath(d.name))
}
