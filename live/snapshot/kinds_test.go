package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	kubernetes "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// TestRoles holds that deploy/rbac allows reading exactly what is read, and for a
// plan against the cluster, to try what is rendered.
func TestRoles(t *testing.T) {
	read := fn.OwnKinds()
	for _, k := range kinds {
		read = append(read, krm.GroupKind{Group: k.group, Kind: k.kind})
	}
	var rendered []krm.GroupKind
	for _, k := range schema.Load().Kinds() {
		if k.Role == schema.Rendered {
			rendered = append(rendered, krm.GroupKind{Group: k.Group, Kind: k.Kind})
		}
	}
	for _, c := range []struct {
		file  string
		verbs []string
		kinds []krm.GroupKind
	}{
		{"role.yaml", []string{"get", "list", "watch"}, read},
		{"plan-role.yaml", []string{"get", "list", "patch", "create"}, rendered},
	} {
		data, err := os.ReadFile("../../deploy/rbac/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		role := mustParse(data)
		var allowed, wanted []string
		for i := range role.Seq("rules") {
			rule := &role.Seq("rules")[i]
			if verbs := words(rule, "verbs"); !slices.Equal(verbs, c.verbs) {
				t.Errorf("%s: verbs %v, want %v", c.file, verbs, c.verbs)
			}
			for _, group := range words(rule, "apiGroups") {
				for _, resource := range words(rule, "resources") {
					allowed = append(allowed, resource+"."+group)
				}
			}
		}
		for _, k := range c.kinds {
			plural, _ := meta.UnsafeGuessKindToResource(kubernetes.GroupVersionKind{Kind: k.Kind})
			wanted = append(wanted, plural.Resource+"."+k.Group)
		}
		slices.Sort(allowed)
		slices.Sort(wanted)
		if !slices.Equal(allowed, wanted) {
			t.Errorf("%s allows\n%s\nwanted are\n%s", c.file, strings.Join(allowed, "\n"), strings.Join(wanted, "\n"))
		}
	}
}

// TestNothingIsDeployedTwice holds that each folder of deploy/ can be applied and
// removed without the others.
func TestNothingIsDeployedTwice(t *testing.T) {
	files, err := filepath.Glob("../../deploy/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	in := map[krm.ID]string{}
	for _, file := range files {
		dir := filepath.Dir(file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range words(mustParse(data), "resources") {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			objects, err := krm.Parse(&document.Source{Data: data})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				if other, twice := in[o.ID()]; twice {
					t.Errorf("%s %s is in %s and in %s", o.Kind, o.Name, other, dir)
				}
				in[o.ID()] = dir
			}
		}
	}
	if len(in) < 8 {
		t.Errorf("found only %d objects", len(in))
	}
}

func words(n *document.Node, field string) []string {
	var texts []string
	for _, item := range n.Seq(field) {
		texts = append(texts, item.Value)
	}
	return texts
}
