package gitops

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
)

// builtIn reports whether every API server knows a group. Some kinds below k8s.io are
// defined by a CustomResourceDefinition all the same.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains([]string{
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
		"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
	}, group)
}

// defined reports whether a kind is known before the objects of a level are applied, or
// together with them; "" is for all levels at once.
func defined(kind krm.GroupKind, level string, objects []Object) bool {
	return builtIn(kind.Group) || slices.ContainsFunc(objects, func(o Object) bool {
		return (level == "" || o.Level == level) && o.GroupKind() == krm.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"} &&
			o.Node.Str("spec", "group") == kind.Group && o.Node.Str("spec", "names", "kind") == kind.Kind
	})
}

// Encode arranges the objects for an engine that applies all of them together, or for a
// person who does. there are objects with a level that others look after: they are waited
// for, and not part of the result.
func (g Graph) Encode(objects, there []Object) []Object {
	all := slices.Concat(objects, there)
	g.Arrange(all)
	for i := range all {
		all[i].Undefined = all[i].Level != "" && !defined(all[i].GroupKind(), "", all)
	}
	return all[:len(objects)]
}
