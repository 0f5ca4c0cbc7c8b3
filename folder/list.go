package folder

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
)

// madeBy is the first line of a kustomization that is ours.
const madeBy = "# Made by poolwright render, which will write it again: do not edit.\n"

// OutputFiles returns the files of an output folder that is written from scratch, by path with slashes.
func OutputFiles(rendered []fn.Rendered) map[string][]byte {
	files := map[string][]byte{}
	for _, made := range []map[string][]byte{join(rendered), listFiles(rendered)} {
		for name, text := range made {
			files[filepath.ToSlash(name)] = text
		}
	}
	return files
}

// listFiles makes the kustomizations of an output: one that lists what is applied, and one
// in each level. A level that another object has its engine apply is not listed: it would be
// applied twice, and out of order. There are none for no output.
func listFiles(rendered []fn.Rendered) map[string][]byte {
	if len(rendered) == 0 {
		return nil
	}
	objects := make([]*krm.Object, len(rendered))
	waves := map[string]int{} // of each file and each level: when Argo CD applies the first of it
	levels := map[string][]string{}
	for i, r := range rendered {
		objects[i] = r.Object
		for _, name := range []string{r.Path, levelOf(r.Path)} {
			if wave, known := waves[name]; !known || gitops.Wave(r.Object) < wave {
				waves[name] = gitops.Wave(r.Object)
			}
		}
		if level := levelOf(r.Path); level != "" && !slices.Contains(levels[level], path.Base(r.Path)) {
			levels[level] = append(levels[level], path.Base(r.Path))
		}
	}
	apart := fn.Apart(objects)
	lists := map[string][]byte{}
	var top []string
	for _, r := range rendered {
		entry := cmp.Or(levelOf(r.Path), r.Path)
		if !apart(r.Path) && !slices.Contains(top, entry) {
			top = append(top, entry)
		}
	}
	// What has no levels is in the order of its names; levels, and files in them, are in
	// that of their waves.
	slices.SortFunc(top, func(a, b string) int {
		if path.Dir(a) == path.Dir(b) && levels[a] != nil && levels[b] != nil {
			return cmp.Or(cmp.Compare(waves[a], waves[b]), cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
	lists[kustomizationFile] = kustomization(fn.RenderedFolder, top)
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		files := levels[level]
		slices.SortFunc(files, func(a, b string) int {
			return cmp.Or(cmp.Compare(waves[level+"/"+a], waves[level+"/"+b]), cmp.Compare(a, b))
		})
		// Each has a name of its own: tools refuse two objects of one.
		lists[filepath.Join(filepath.FromSlash(level), kustomizationFile)] = kustomization(strings.ReplaceAll(level, "/", "."), files)
	}
	return lists
}

// levelOf is the folder of a file that lies in a level, below the folder of its spec, or "".
func levelOf(file string) string {
	if level := path.Dir(file); path.Dir(level) != "." && level != "." && gitops.IsLevel(path.Base(level)) {
		return level
	}
	return ""
}

// kustomization is a file that lists others.
func kustomization(name string, files []string) []byte {
	b := bytes.NewBuffer(append(kustomizationHead(name), "resources:\n"...))
	for _, file := range files {
		fmt.Fprintf(b, "- %s\n", file)
	}
	b.WriteString("sortOptions:\n  order: fifo\n")
	return b.Bytes()
}

// kustomizationHead is how a list begins. kpt live applies what does not say that it is
// local.
func kustomizationHead(name string) []byte {
	return []byte(madeBy + "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata:\n  name: " + name + "\n" +
		"  annotations:\n    config.kubernetes.io/local-config: \"true\"\n")
}
