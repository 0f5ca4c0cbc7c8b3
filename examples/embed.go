// Package examples holds one package for each way of using each system. They
// render as they stand, and poolwright init copies them.
package examples

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed all:cstor-local all:cstor-cloud all:cstor-volumes all:diskpools all:hypercloud all:localvolumes all:volumetemplates
var files embed.FS

// Systems lists the examples, sorted.
func Systems() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// System returns the files of one example, or fs.ErrNotExist.
func System(name string) (fs.FS, error) {
	if !slices.Contains(Systems(), name) {
		return nil, fs.ErrNotExist
	}
	return fs.Sub(files, name)
}
