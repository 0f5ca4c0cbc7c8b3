package schema

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
)

//go:embed cue
var cueFiles embed.FS

// module is the path of the CUE module that packages are imported from.
const module = "poolwright.io/schema"

// celFolder is the folder of a package that holds what its CEL is put together
// from; only a CustomResourceDefinition needs that.
const celFolder = "cel"

// sources hold the packages of the definitions, a folder each.
//
// They are part of the program, so a mistake in them is a mistake in the program,
// and the tests of this package find it: hence the panics here, where they are
// compiled, and in shapeReader.
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

// syntax is the syntax of files, by name. Who compiles or changes it is the last to
// use it.
type syntax map[string]*ast.File

// files parses the files of a package, sorted, but for those that are parsed
// already; where there are marks, those that hold one of them.
func (s sources) files(parsed syntax, folder string, marks ...string) []*ast.File {
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
			marked := func(mark string) bool { return bytes.Contains(text, []byte(mark)) }
			if len(marks) > 0 && !slices.ContainsFunc(marks, marked) {
				continue
			}
			if parsed[name] == nil {
				parsed[name], err = parser.ParseFile(name, text, parser.ParseComments)
				if err != nil {
					panic(fmt.Sprintf("schema: %v", err))
				}
			}
			files = append(files, parsed[name])
		}
	}
	return files
}
