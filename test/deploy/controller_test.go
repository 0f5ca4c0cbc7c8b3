package deploy

import (
	"os"
	"slices"
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
	for _, container := range pod.Seq("containers") {
		checkContainer(t, &container)
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

// checkContainer holds that a container is restricted, and that its memory limit is more than what the
// program aims at.
func checkContainer(t *testing.T, container *document.Node) {
	t.Helper()
	name := container.Str("name")
	for path, want := range map[string]string{
		"runAsNonRoot": "true", "allowPrivilegeEscalation": "false", "readOnlyRootFilesystem": "true", "seccompProfile.type": "RuntimeDefault",
	} {
		if got := container.Str(append([]string{"securityContext"}, strings.Split(path, ".")...)...); got != want {
			t.Errorf("%s: securityContext.%s is %q, want %s", name, path, got, want)
		}
	}
	if drop := container.Seq("securityContext", "capabilities", "drop"); len(drop) != 1 || drop[0].Value() != "ALL" {
		t.Errorf("%s has capabilities", name)
	}
	limit := resource.MustParse(container.Str("resources", "limits", "memory"))
	goal := resource.MustParse(strings.TrimSuffix(container.Seq("env")[0].Str("value"), "B"))
	if goal.Cmp(limit) >= 0 {
		t.Errorf("%s: GOMEMLIMIT %s is not less than the limit %s", name, goal.String(), limit.String())
	}
}

// TestControllerRendersBeside holds that the controller asks the service in its pod, that both programs are
// in the one image, and that they have the flags.
func TestControllerRendersBeside(t *testing.T) {
	deployment := objects(t, "../../deploy/controller/deployment.yaml")[0]
	containers := deployment.Node.Seq("spec", "template", "spec", "containers")
	if len(containers) != 2 || containers[0].Str("image") != containers[1].Str("image") {
		t.Fatal("want two containers of one image")
	}
	args := func(i int) (all []string) {
		for _, a := range containers[i].Seq("args") {
			all = append(all, a.Value())
		}
		return all
	}
	address := ""
	for _, a := range args(1) {
		if at, is := strings.CutPrefix(a, "--listen="); is {
			address = at
		}
	}
	if !strings.HasPrefix(address, "127.0.0.1:") || !slices.Contains(args(0), "--service=http://"+address) {
		t.Errorf("the service listens on %q, and the controller has %q", address, args(0))
	}
	dockerfile := read(t, "../../image/Dockerfile.controller")
	if program := containers[1].Seq("command")[0].Value(); !strings.Contains(dockerfile, "COPY bin"+program+" ") || !strings.Contains(dockerfile, `ENTRYPOINT ["/poolwright-controller"]`) {
		t.Errorf("the image has no %s, or another entrypoint:\n%s", program, dockerfile)
	}
	commands := read(t, "../../docs/commands.md")
	for i, section := range []string{"## poolwright controller\n", "## poolwright serve\n"} {
		_, help, _ := strings.Cut(commands, section)
		help, _, _ = strings.Cut(help, "\n## ")
		for _, a := range args(i) {
			if flag, _, _ := strings.Cut(a, "="); strings.HasPrefix(a, "--") && !strings.Contains(help, " "+flag+" ") {
				t.Errorf("%s has no flag %s", strings.TrimSpace(section), flag)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mayReadSecrets(binding *krm.Object) bool {
	return binding.Node.Str("roleRef", "name") == "poolwright-controller-secrets"
}
