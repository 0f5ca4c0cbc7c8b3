// Package controller_test runs the real agent against a real API server, as its service
// account and with the policies of deploy/nodeagent, on loop devices of this machine.
package controller_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

// cluster is a control plane with the agent's definitions, roles and policies.
type cluster struct {
	dynamic.Interface
	plane   *controlplane.ControlPlane
	program string            // nodeagent
	marks   map[string]string // of Volumes, by name
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{plane: controlplane.ForTest(t)}
	config, err := clientcmd.BuildConfigFromFlags("", c.plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if c.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	root := tool.Root(t)
	for _, file := range []string{
		"deploy/crds/volumes.storage.metalk8s.scality.com.yaml", "deploy/crds/volumegroups.storage.metalk8s.scality.com.yaml", "deploy/crds/nodeinventories.poolwright.io.yaml",
		"deploy/nodeagent/namespace.yaml", "deploy/nodeagent/rbac.yaml", "deploy/nodeagent/policies.yaml", "deploy/nodeagent/daemonset.yaml",
	} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		c.apply(t, string(data))
	}
	if err := c.plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.plane.AwaitAllowed(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.apply(t, `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: keep}
provisioner: kubernetes.io/no-provisioner
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
parameters: {fsType: ext4}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: delete}
provisioner: kubernetes.io/no-provisioner
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
parameters: {fsType: ext4, mkfsOptions: '["-m", "0"]'}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: forced}
provisioner: kubernetes.io/no-provisioner
parameters: {fsType: ext4, mkfsOptions: '["-F"]'}
`)
	c.program = built(t)
	return c
}

// built is the program of this source.
func built(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		program.path = filepath.Join(program.dir, "nodeagent")
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program.path, "./cmd/nodeagent")
		build.Dir, build.Env = tool.Root(t), append(os.Environ(), "CGO_ENABLED=0")
		program.out, program.err = build.CombinedOutput()
	})
	if program.err != nil {
		t.Fatalf("%v\n%s", program.err, program.out)
	}
	return program.path
}

func (c *cluster) of(o *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if o.GetNamespace() != "" {
		return c.Resource(plural).Namespace(o.GetNamespace())
	}
	return c.Resource(plural)
}

// parse reads YAML documents.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, document := range strings.Split(text, "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if string(data) == "null" {
			continue
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		all = append(all, u)
	}
	return all
}

func (c *cluster) apply(t *testing.T, text string) {
	t.Helper()
	for _, o := range parse(t, text) {
		if err := c.try(t, o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// try applies one document; a definition that was made a moment ago may not be served yet.
func (c *cluster) try(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := c.of(o).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true})
		if !apierrors.IsNotFound(err) || time.Now().After(end) {
			return err
		}
	}
}

// get is a field of an object, as text; "" where it is not there.
func (c *cluster) get(t *testing.T, r schema.GroupVersionResource, name string, path ...string) string {
	t.Helper()
	o, err := c.Resource(r).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return "error: " + err.Error()
	}
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(data), `"`)
}

var (
	volume     = schema.GroupVersionResource{Group: "storage.metalk8s.scality.com", Version: "v1alpha1", Resource: "volumes"}
	inventory  = schema.GroupVersionResource{Group: "poolwright.io", Version: "v1alpha1", Resource: "nodeinventories"}
	persistent = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
)

// await waits until something holds, far longer than it takes on a busy machine, and fails with what was last seen.
func await(t *testing.T, what string, holds func() (bool, string)) {
	t.Helper()
	var last string
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var ok bool
		if ok, last = holds(); ok {
			return
		}
	}
	t.Fatalf("%s: %s", what, last)
}

// token writes a kubeconfig with the token that the agent's pod on a node would have.
func (c *cluster) token(t *testing.T, node string) string {
	t.Helper()
	c.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: agent-%[1]s, namespace: poolwright-node-agent}
spec: {nodeName: %[1]s, serviceAccountName: poolwright-node-agent, containers: [{name: a, image: none}]}
`, node))
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	pod, err := c.Resource(pods).Namespace("poolwright-node-agent").Get(t.Context(), "agent-"+node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"boundObjectRef": map[string]any{"apiVersion": "v1", "kind": "Pod", "name": pod.GetName(), "uid": string(pod.GetUID())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.plane.Client.Post(c.plane.URL+"/api/v1/namespaces/poolwright-node-agent/serviceaccounts/poolwright-node-agent/token", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Status struct{ Token string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status.Token == "" {
		t.Fatalf("no token: %v %d", err, resp.StatusCode)
	}
	config, err := clientcmd.LoadFromFile(c.plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificate, user.ClientKey, user.Token = "", "", answer.Status.Token
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// agent is a running nodeagent.
type agent struct {
	cmd *exec.Cmd
	log *bytes.Buffer
}

// start starts the agent, by a command before it that becomes it, if one is given.
func (c *cluster) start(t *testing.T, kubeconfig, folder string, before ...string) *agent {
	t.Helper()
	return c.startWith(t, kubeconfig, folder, nil, before...)
}

// startWith starts it with more flags.
func (c *cluster) startWith(t *testing.T, kubeconfig, folder string, flags []string, before ...string) *agent {
	t.Helper()
	a := &agent{log: &bytes.Buffer{}}
	line := append(slices.Clone(before), c.program, "run", "--kubeconfig", kubeconfig, "--node", "n1", "--cluster", "test", "--state", folder, "--listen", "")
	line = append(line, flags...)
	a.cmd = exec.Command(line[0], line[1:]...)
	a.cmd.Env = append(os.Environ(), "GOMEMLIMIT=22MiB")
	a.cmd.Stderr = a.log
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.stop(); t.Log(a.log) })
	return a
}

func (a *agent) stop() {
	if a.cmd.ProcessState == nil {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
	}
}

// checkMemory holds the bound of the specification at rest, on all that is resident: the program as well. The
// runtime gives back in its own time what it needed to begin.
func (a *agent) checkMemory(t *testing.T) {
	t.Helper()
	await(t, "more than 25 MiB of the agent are resident", func() (bool, string) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		resident, anonymous := 0, 0 // KiB
		for line := range strings.Lines(string(data)) {
			_, _ = fmt.Sscanf(line, "VmRSS: %d", &resident)
			_, _ = fmt.Sscanf(line, "RssAnon: %d", &anonymous)
		}
		got := fmt.Sprintf("%.1f MiB resident, of which %.1f MiB are the agent's own", float64(resident)/1024, float64(anonymous)/1024)
		within := resident > 0 && resident <= 25<<10
		if within {
			t.Log(got)
		}
		return within, got
	})
}

// requests are those of the agent's own kinds that the API server has answered, by verb and resource, from its
// own metrics. The NodeInventory is looked at by itself, and of Kubernetes' kinds the controller manager asks as well.
func (c *cluster) requests(t *testing.T) map[string]bool {
	t.Helper()
	resp, err := c.plane.Client.Get(c.plane.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "apiserver_request_total{") && !strings.Contains(line, `verb="WATCH"`) &&
			(strings.Contains(line, `resource="volumes"`) || strings.Contains(line, `resource="volumegroups"`)) {
			seen[line] = true
		}
	}
	return seen
}

// requestsSince are those that were answered since.
func (c *cluster) requestsSince(t *testing.T, before map[string]bool) []string {
	t.Helper()
	var since []string
	for line := range c.requests(t) {
		if !before[line] {
			since = append(since, line)
		}
	}
	return since
}
