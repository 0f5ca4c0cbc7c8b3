package deploy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestService holds that the parts of deploy/service fit together, that its pods are restricted,
// and that its memory limit is more than what the program aims at.
func TestService(t *testing.T) {
	const dir = "../../deploy/service/"
	deployment := objects(t, dir+"deployment.yaml")[0]
	pod := deployment.Node.Get("spec", "template", "spec")
	container := &pod.Seq("containers")[0]
	labels := deployment.Node.StrMap("spec", "template", "metadata", "labels")
	for what, selector := range map[string]*document.Node{
		"the Deployment":          deployment.Node.Get("spec", "selector", "matchLabels"),
		"the Service":             objects(t, dir+"service.yaml")[0].Node.Get("spec", "selector"),
		"the NetworkPolicy":       policy(t, "NetworkPolicy").Node.Get("spec", "podSelector", "matchLabels"),
		"the PodDisruptionBudget": policy(t, "PodDisruptionBudget").Node.Get("spec", "selector", "matchLabels"),
	} {
		for key, value := range selector.StrMap() {
			if labels[key] != value {
				t.Errorf("%s selects %s=%s, and the pods have %v", what, key, value, labels)
			}
		}
		if len(selector.StrMap()) == 0 {
			t.Errorf("%s selects nothing", what)
		}
	}
	for path, want := range map[string]string{
		"runAsNonRoot": "true", "allowPrivilegeEscalation": "false", "readOnlyRootFilesystem": "true", "seccompProfile.type": "RuntimeDefault",
	} {
		if got := container.Str(append([]string{"securityContext"}, strings.Split(path, ".")...)...); got != want {
			t.Errorf("securityContext.%s is %q, want %s", path, got, want)
		}
	}
	if pod.Str("automountServiceAccountToken") != "false" {
		t.Error("the pod has a token")
	}
	limit := resource.MustParse(container.Str("resources", "limits", "memory"))
	goal := resource.MustParse(strings.TrimSuffix(container.Seq("env")[0].Str("value"), "B"))
	if goal.Cmp(limit) >= 0 {
		t.Errorf("GOMEMLIMIT %s is not less than the limit %s", goal.String(), limit.String())
	}
	var args []string
	for _, a := range container.Seq("args") {
		args = append(args, a.Value())
	}
	if line := strings.Join(args, " "); !strings.HasPrefix(line, "serve ") || strings.Contains(line, "--allow-plain-http") {
		t.Errorf("it runs %s", line)
	}
}

func policy(t *testing.T, kind string) *krm.Object {
	t.Helper()
	for _, o := range objects(t, "../../deploy/service/policies.yaml") {
		if o.Kind == kind {
			return o
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}
