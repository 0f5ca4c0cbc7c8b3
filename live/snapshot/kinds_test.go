package snapshot

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/document"
)

// TestRole holds that deploy/rbac allows reading exactly what is read.
func TestRole(t *testing.T) {
	data, err := os.ReadFile("../../deploy/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := mustParse(data)
	var allowed, read []string
	for i := range role.Seq("rules") {
		rule := &role.Seq("rules")[i]
		if verbs := words(rule, "verbs"); !slices.Equal(verbs, []string{"get", "list", "watch"}) {
			t.Errorf("verbs %v", verbs)
		}
		for _, group := range words(rule, "apiGroups") {
			for _, resource := range words(rule, "resources") {
				allowed = append(allowed, resource+"."+group)
			}
		}
	}
	for _, k := range kinds {
		read = append(read, plural(k.kind)+"."+k.group)
	}
	slices.Sort(allowed)
	slices.Sort(read)
	if !slices.Equal(allowed, read) {
		t.Errorf("the role allows\n%s\nread are\n%s", strings.Join(allowed, "\n"), strings.Join(read, "\n"))
	}
}

func words(n *document.Node, field string) []string {
	var texts []string
	for _, item := range n.Seq(field) {
		texts = append(texts, item.Value)
	}
	return texts
}

// plural is how the kinds that are read are called in the plural.
func plural(kind string) string {
	p := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(p, "y"):
		return strings.TrimSuffix(p, "y") + "ies"
	case strings.HasSuffix(p, "s"):
		return p + "es"
	}
	return p + "s"
}
