package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/test/tool"
)

// TestMonitoring holds that the ServiceMonitor of the node agent selects its Service, that this selects the pods of the
// DaemonSet, and that both name a port which that has.
func TestMonitoring(t *testing.T) {
	monitor := only(t, "monitoring/servicemonitor.yaml", "ServiceMonitor")
	service := only(t, "service.yaml", "Service")
	daemons := only(t, "daemonset.yaml", "DaemonSet")
	const label = "app.kubernetes.io/name"
	selected := monitor.Node.Str("spec", "selector", "matchLabels", label)
	if got := service.Node.Str("metadata", "labels", label); got != selected || got == "" {
		t.Errorf("the ServiceMonitor selects %q, and the Service is %q", selected, got)
	}
	if want, got := service.Node.Str("spec", "selector", label), daemons.Node.Str("spec", "template", "metadata", "labels", label); got != want || got == "" {
		t.Errorf("the Service selects %q, and the pods are %q", want, got)
	}
	port := service.Node.Seq("spec", "ports")[0]
	if want, got := monitor.Node.Seq("spec", "endpoints")[0].Str("port"), port.Str("name"); got != want || got == "" {
		t.Errorf("the ServiceMonitor scrapes the port %q, and the Service has %q", want, got)
	}
	container := daemons.Node.Seq("spec", "template", "spec", "containers")[0].Seq("ports")[0]
	if container.Str("name") != port.Str("targetPort") || container.Str("containerPort") != port.Str("port") {
		t.Error("the Service leads to a port that the pods do not have")
	}
}

// TestControllerMonitoring holds that the ServiceMonitor of the controller leads to a port of its pods.
func TestControllerMonitoring(t *testing.T) {
	const dir = "../../deploy/controller/"
	monitor, service := objects(t, dir+"monitoring/servicemonitor.yaml")[0], objects(t, dir+"monitoring/service.yaml")[0]
	template := objects(t, dir+"deployment.yaml")[0].Node.Get("spec", "template")
	const label = "app.kubernetes.io/name"
	want := template.Str("metadata", "labels", label)
	for what, got := range map[string]string{
		"the ServiceMonitor selects": monitor.Node.Str("spec", "selector", "matchLabels", label), "the Service is": service.Node.Str("metadata", "labels", label),
		"the Service selects": service.Node.Str("spec", "selector", label), "the NetworkPolicy selects": objects(t, dir+"monitoring/networkpolicy.yaml")[0].Node.Str("spec", "podSelector", "matchLabels", label),
	} {
		if got != want || got == "" {
			t.Errorf("%s %q, and the pods are %q", what, got, want)
		}
	}
	port := service.Node.Seq("spec", "ports")[0]
	container := template.Seq("spec", "containers")[0].Seq("ports")[0]
	if monitor.Node.Seq("spec", "endpoints")[0].Str("port") != port.Str("name") || port.Str("targetPort") != container.Str("name") || port.Str("port") != container.Str("containerPort") {
		t.Error("the ServiceMonitor leads to a port that the pods do not have")
	}
}

// TestMonitoringIsAComponent: kustomize builds the component beside the node agent and the controller, and these alone have
// nothing that needs the Prometheus Operator.
func TestMonitoringIsAComponent(t *testing.T) {
	for _, name := range []string{"nodeagent", "controller"} {
		t.Run(name, func(t *testing.T) { component(t, name) })
	}
}

func component(t *testing.T, name string) {
	kustomize := tool.Need(t, "kustomize")
	dir := t.TempDir()
	agent, err := filepath.Rel(dir, filepath.Join(tool.Root(t), "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	build := func(components string) string {
		t.Helper()
		text := "resources: [" + agent + "]\ncomponents: [" + components + "]\n"
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(kustomize, "build", dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const operator = "apiVersion: monitoring.coreos.com/v1"
	if strings.Contains(build(""), operator) {
		t.Errorf("deploy/%s needs the Prometheus Operator", name)
	}
	if !strings.Contains(build(agent+"/monitoring"), operator) {
		t.Error("the component has no ServiceMonitor")
	}
}

// only is the one object of a kind in a file of the node agent.
func only(t *testing.T, file, kind string) *krm.Object {
	t.Helper()
	all := objects(t, "../../deploy/nodeagent/"+file)
	if len(all) != 1 || all[0].Kind != kind {
		t.Fatalf("%s has %d objects", file, len(all))
	}
	return all[0]
}
