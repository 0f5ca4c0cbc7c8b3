package deploy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestController holds that the parts of deploy/controller fit together, that its pods are
// restricted, and that it may write nothing but statuses, events and its lease.
func TestController(t *testing.T) {
	const dir = "../../deploy/controller/"
	deployment := objects(t, dir+"deployment.yaml")[0]
	pod := deployment.Node.Get("spec", "template", "spec")
	container := &pod.Seq("containers")[0]
	labels := deployment.Node.StrMap("spec", "template", "metadata", "labels")
	const label = "app.kubernetes.io/name"
	selectors := map[string]*document.Node{"Deployment": deployment.Node.Get("spec", "selector", "matchLabels")}
	for _, o := range objects(t, dir+"policies.yaml") {
		switch o.Kind {
		case "NetworkPolicy":
			selectors[o.Kind] = o.Node.Get("spec", "podSelector", "matchLabels")
		case "PodDisruptionBudget":
			selectors[o.Kind] = o.Node.Get("spec", "selector", "matchLabels")
		}
	}
	if len(selectors) != 3 {
		t.Errorf("there are selectors of %d objects only", len(selectors))
	}
	for kind, selector := range selectors {
		if got := selector.StrMap()[label]; got != labels[label] || got == "" {
			t.Errorf("the %s selects %q, and the pods have %v", kind, got, labels)
		}
	}
	for path, want := range map[string]string{
		"runAsNonRoot": "true", "allowPrivilegeEscalation": "false", "readOnlyRootFilesystem": "true", "seccompProfile.type": "RuntimeDefault",
	} {
		if got := container.Str(append([]string{"securityContext"}, strings.Split(path, ".")...)...); got != want {
			t.Errorf("securityContext.%s is %q, want %s", path, got, want)
		}
	}
	limit := resource.MustParse(container.Str("resources", "limits", "memory"))
	goal := resource.MustParse(strings.TrimSuffix(container.Seq("env")[0].Str("value"), "B"))
	if goal.Cmp(limit) >= 0 {
		t.Errorf("GOMEMLIMIT %s is not less than the limit %s", goal.String(), limit.String())
	}
	writes := map[string]bool{}
	for _, o := range objects(t, dir+"rbac.yaml") {
		for _, rule := range o.Node.Seq("rules") {
			for _, verb := range rule.Seq("verbs") {
				if v := verb.Value(); v == "get" || v == "list" || v == "watch" {
					continue
				}
				for _, r := range rule.Seq("resources") {
					writes[r.Value()] = true
				}
			}
		}
		if o.Kind == "ClusterRoleBinding" && mayReadSecrets(o) {
			t.Errorf("%s lets it read the Secrets of every namespace", o.Name)
		}
	}
	if len(writes) != 3 || !writes["hydrations/status"] || !writes["events"] || !writes["leases"] {
		t.Errorf("it may write %v", writes)
	}
}

func mayReadSecrets(binding *krm.Object) bool {
	return binding.Node.Str("roleRef", "name") == "poolwright-controller-secrets"
}
