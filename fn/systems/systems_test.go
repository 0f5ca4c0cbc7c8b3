package systems

import (
	"slices"
	"testing"

	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
)

func TestDeclarations(t *testing.T) {
	if err := system.NewKinds(All()...).Check(); err != nil {
		t.Error(err)
	}
}

// TestDefinitions holds that the declarations and the definitions say the same of each
// kind that both know.
func TestDefinitions(t *testing.T) {
	kinds := system.NewKinds(All()...)
	defined := schema.Load().Kinds()
	for _, d := range defined {
		k, declared := kinds.Find(d.GroupKind)
		if !declared {
			if d.Role == schema.Spec || d.Role == schema.Rendered {
				t.Errorf("no system declares %v, which has a definition as %s", d.GroupKind, d.Role)
			}
			continue
		}
		role := map[system.Role]schema.Role{
			system.RoleSpec: schema.Spec, system.RoleRendered: schema.Rendered, system.RoleLock: schema.Rendered,
			system.RoleFact: schema.Fact, system.RoleManifest: schema.Fact,
		}[k.Role]
		if k.Partial {
			role = schema.Rendered
		}
		if role != d.Role || k.Plural != d.Plural || k.Cluster != (d.Scope == "Cluster") || k.APIVersion() != d.APIVersion() {
			t.Errorf("%v is declared as %s %s %s (cluster-scoped: %v), and defined as %s %s %s (%s)",
				d.GroupKind, role, k.APIVersion(), k.Plural, k.Cluster, d.Role, d.APIVersion(), d.Plural, d.Scope)
		}
		if d.Short != "" && !slices.Contains(k.Names, d.Short) {
			t.Errorf("kubectl calls %v %s, and we do not", d.GroupKind, d.Short)
		}
	}
	for _, k := range append(kinds.Applied(), kinds.In(system.RoleSpec)...) {
		if !slices.ContainsFunc(defined, func(d schema.Kind) bool { return d.GroupKind == k.GroupKind }) {
			t.Errorf("%v has no definition", k.GroupKind)
		}
	}
}
