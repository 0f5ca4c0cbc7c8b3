package examples_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/schema/document"
)

// TestReadAlike: kubectl, which reads YAML 1.1, sees what Poolwright sees. A serial
// number such as 0E4006924051 is a number to it unless it is quoted.
func TestReadAlike(t *testing.T) {
	for _, system := range examples.Systems() {
		err := fs.WalkDir(filesOf(t, system), ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".yaml" {
				return err
			}
			text := read(t, system, name)
			docs, err := document.Parse(&document.Source{Name: name, Data: text})
			if err != nil {
				return err
			}
			for i := range docs {
				theirs, err := yaml.YAMLToJSON(text[docs[i].Start:docs[i].End])
				if err != nil {
					return err
				}
				if ours := document.AppendJSON(nil, &docs[i].Node); !reflect.DeepEqual(decoded(t, theirs), decoded(t, ours)) {
					t.Errorf("%s/%s: kubectl reads\n%s\nand not\n%s", system, name, theirs, ours)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestLinks: who starts from a copy of an example can follow the links of its README.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\((https://github\.com/poolwright/poolwright/(?:blob|tree)/main/)?([^)]+)\)`)
	for _, system := range examples.Systems() {
		found := link.FindAllStringSubmatch(string(read(t, system, "README.md")), -1)
		if len(found) == 0 {
			t.Errorf("%s: no links", system)
		}
		for _, m := range found {
			tree := filesOf(t, system)
			if m[1] != "" {
				tree = os.DirFS("..")
			}
			if _, err := fs.Stat(tree, m[2]); err != nil {
				t.Errorf("%s/README.md: %v", system, err)
			}
		}
	}
}

func filesOf(t *testing.T, system string) fs.FS {
	t.Helper()
	files, err := examples.System(system)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, system, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(filesOf(t, system), name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
