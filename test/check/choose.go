package main

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	scriptFolder  = "cmd/poolwright/testdata/script/"
	packageFolder = "testdata/packages/"
)

// tree is what the repository has.
type tree struct {
	systems  []string          // folders of fn: cstor, localvolume
	scripts  map[string]string // text by name
	packages map[string]bool   // folders with Go files, in the module at the top
	modules  []string          // folders of the other modules
}

// choice is what a check runs.
type choice struct {
	packages []string // folders
	scripts  []string // names
	left     []string // folders of modules whose tests only make test runs
}

// choose chooses the packages and scripts that changed files touch, and those of a system, if one is named.
func (t tree) choose(files []string, system string) choice {
	packages, scripts, left := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if i := slices.IndexFunc(t.modules, func(m string) bool { return strings.HasPrefix(file, m+"/") }); i >= 0 {
			left[t.modules[i]] = true
			continue
		}
		if dir := t.packageOf(file); dir != "" {
			packages[dir] = true
		}
		for name, text := range t.scripts {
			if t.touches(file, name, text) {
				scripts[name] = true
			}
		}
	}
	if system != "" {
		for dir := range t.packages {
			if slices.Contains(t.systemsOf(dir+"/"), system) {
				packages[dir] = true
			}
		}
		for name := range t.scripts {
			if slices.Contains(t.systemsOfScript(name), system) {
				scripts[name] = true
			}
		}
	}
	return choice{slices.Sorted(maps.Keys(packages)), slices.Sorted(maps.Keys(scripts)), slices.Sorted(maps.Keys(left))}
}

// packageOf is the folder of the package that a file is of or that reads it, or "".
func (t tree) packageOf(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if t.packages[dir] {
			return dir
		}
	}
	return ""
}

// touches reports whether a changed file may change what a script prints. Code of a system touches its scripts, a
// file of a verb those whose names begin with the verb, and other code of the product all.
func (t tree) touches(file, name, text string) bool {
	if script, found := strings.CutPrefix(file, scriptFolder); found {
		return script == name+".txtar"
	}
	if fixture, found := strings.CutPrefix(file, packageFolder); found {
		fixture, _, _ = strings.Cut(fixture, "/")
		return strings.Contains(text, "\npackage "+fixture+" ") || strings.HasPrefix(text, "package "+fixture+" ")
	}
	if strings.HasSuffix(file, "_test.go") || !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".cue") {
		return false
	}
	room, _, _ := strings.Cut(file, "/")
	if !slices.Contains([]string{"cmd", "plan", "folder", "fn", "schema"}, room) || strings.HasPrefix(file, "cmd/nodeagent/") {
		return false
	}
	if systems := t.systemsOf(file); len(systems) > 0 {
		return slices.ContainsFunc(systems, func(s string) bool { return slices.Contains(t.systemsOfScript(name), s) })
	}
	if verb := t.verbOf(file); verb != "" {
		return first(name) == verb
	}
	return true
}

// systemsOf are the systems in whose folder a file is: fn/cstor, schema/cue/cstor.
func (t tree) systemsOf(file string) []string {
	for _, room := range []string{"fn/", "schema/cue/"} {
		if below, found := strings.CutPrefix(file, room); found {
			folder, _, _ := strings.Cut(below, "/")
			return slices.DeleteFunc(slices.Clone(t.systems), func(s string) bool { return s != folder })
		}
	}
	return nil
}

// systemsOfScript are those that a word of a script's name names: local-status and verify-local are of
// localvolume. A script that names none is of cStor, the first system, and of its volumes.
func (t tree) systemsOfScript(name string) []string {
	named := func(s string) bool {
		return slices.ContainsFunc(strings.Split(name, "-"), func(word string) bool {
			return len(word) > len("disks") && strings.HasPrefix(word, s) || len(word) >= len("local") && strings.HasPrefix(s, word)
		})
	}
	all := slices.DeleteFunc(slices.Clone(t.systems), func(s string) bool { return !named(s) })
	if len(all) == 0 {
		return slices.DeleteFunc(slices.Clone(t.systems), func(s string) bool { return !strings.HasPrefix(s, "cstor") })
	}
	return all
}

// verbOf is the verb that a file of cmd/poolwright is of, if scripts begin with it: plan of plan_print.go.
func (t tree) verbOf(file string) string {
	base, found := strings.CutPrefix(file, "cmd/poolwright/")
	if !found {
		return ""
	}
	verb, _, _ := strings.Cut(strings.TrimSuffix(base, ".go"), "_")
	for name := range t.scripts {
		if first(name) == verb {
			return verb
		}
	}
	return ""
}

func first(name string) string {
	word, _, _ := strings.Cut(name, "-")
	return cmp.Or(word, name)
}
