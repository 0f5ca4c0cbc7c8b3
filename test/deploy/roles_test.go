package deploy

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
)

var update = flag.Bool("update", false, "write what is derived from the declarations")

// TestRoles holds that the roles of deploy/ allow what is read and written of the kinds
// that the systems declare, and nothing more.
func TestRoles(t *testing.T) {
	kinds := system.NewKinds(systems.All()...)
	read := []string{"get", "list", "watch"}
	apply := append(slices.Clone(read), "create", "patch", "delete")
	try := []string{"get", "list", "patch", "create"} // what a dry run needs
	for _, role := range []struct {
		file, name string
		rules      string
	}{
		{"rbac/role.yaml", "poolwright-inventory", rules(append(kinds.Read(), kinds.Own()...), "", read)},
		{"rbac/plan-role.yaml", "poolwright-plan", tried(kinds, true, try) + tried(kinds, false, []string{"get", "list"})},
		{"status/rbac.yaml", "poolwright-status", rules(append(kinds.Status(), kinds.Own()...), "", read) + rules(kinds.Own(), "/status", []string{"patch"})},
		{"controller/apply/rbac.yaml", "poolwright-controller-apply", rules(kinds.Applied(), "", apply) + rule("poolwright.io", "resources: [hydrations]", []string{"patch"})},
	} {
		file := "../../deploy/" + role.file
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := withRules(string(text), role.name, role.rules)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		} else if string(text) != want {
			t.Errorf("%s is not what the systems declare; make generate writes it as\n%s", file, want)
		}
	}
}

// tried are the rules for what a plan tries, or for what it only compares.
func tried(kinds *system.Kinds, tries bool, verbs []string) string {
	return rules(slices.DeleteFunc(kinds.Applied(), func(k system.Kind) bool { return kinds.Tried(k.GroupKind) != tries }), "", verbs)
}

// rules are those of a role, one for each API group in the order of the kinds, and one for a kind of which
// single objects are read.
func rules(kinds []system.Kind, subresource string, verbs []string) string {
	var groups, single []string
	resources := map[string][]string{}
	for _, kind := range kinds {
		name := kind.Plural + subresource
		if kind.Identity {
			single = append(single, rule(kind.Group, "resources: ["+name+"]\n  resourceNames: ["+strings.Join(kind.Only, ", ")+"]", verbs))
			continue
		}
		if resources[kind.Group] == nil {
			groups = append(groups, kind.Group)
		}
		if !slices.Contains(resources[kind.Group], name) {
			resources[kind.Group] = append(resources[kind.Group], name)
		}
	}
	var b strings.Builder
	for _, group := range groups {
		b.WriteString(rule(group, "resources: ["+strings.Join(resources[group], ", ")+"]", verbs))
	}
	return b.String() + strings.Join(single, "")
}

func rule(group, resources string, verbs []string) string {
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("- apiGroups: [%s]\n  %s\n  verbs: [%s]\n", group, resources, strings.Join(verbs, ", "))
}

// withRules replaces the rules of a ClusterRole, which end its document.
func withRules(text, name, rules string) (string, error) {
	head := "kind: ClusterRole\nmetadata:\n  name: " + name + "\nrules:\n"
	before, after, found := strings.Cut(text, head)
	if !found {
		return "", fmt.Errorf("there is no ClusterRole %s", name)
	}
	_, after, more := strings.Cut(after, "---\n")
	if more {
		after = "---\n" + after
	}
	return before + head + rules + after, nil
}
