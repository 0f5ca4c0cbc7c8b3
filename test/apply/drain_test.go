package apply

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/tool"
)

// wholeVolume is what the operators of cStor write of a volume, with a field of each kind.
const wholeVolume = `apiVersion: cstor.openebs.io/v1
kind: CStorVolumeConfig
metadata:
  annotations: {openebs.io/persistent-volume-claim: pg, openebs.io/volume-policy: db}
  labels: {openebs.io/cstor-pool-cluster: prod}
  finalizers: [cvc.openebs.io/finalizer]
spec:
  capacity: {storage: 5Gi}
  cstorVolumeRef: {apiVersion: cstor.openebs.io/v1, kind: CStorVolume, namespace: openebs, name: db-1}
  policy:
    provision: {replicaAffinity: true, blockSize: 4096}
    replica: {zvolWorkers: "4", compression: lz4}
    replicaPoolInfo: [{poolName: prod-aaaa}, {poolName: prod-bbbb}]
    target:
      luWorkers: 8
      queueDepth: "32"
      priorityClassName: storage
      tolerations: [{key: storage, operator: Exists, effect: NoSchedule}]
  provision: {capacity: {storage: 5Gi}, replicaCount: 2}
publish: {nodeId: n1}
status:
  phase: Bound
  capacity: {storage: 5Gi}
  poolInfo: [prod-aaaa, prod-bbbb]
  condition: [{type: Resizing, reason: Started, message: m}]
versionDetails: {desired: 3.6.0, autoUpgrade: false, status: {current: 3.6.0, dependentsUpgraded: true}}
`

// TestVolumePartApplies applies the part of a CStorVolumeConfig that a drain renders to the
// whole one of the operators, and where there is none.
func TestVolumePartApplies(t *testing.T) {
	define(t, tool.Upstream(t, "openebs-cstor.yaml"))
	apply(t, parse(t, "namespace.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: openebs}\n"))[0])
	part := firstPart(t)
	fewer := parse(t, "fewer", document.AppendJSON(nil, part.Node))[0]
	pools := fewer.Node.Get("spec", "policy", "replicaPoolInfo")
	pools.SetItems(pools.Items()[1:])
	fewer.Node.Get("metadata", "annotations").Delete(krm.AnnotationLeaves)
	parts := []*krm.Object{part, fewer}
	whole := func() *krm.Object {
		o := parse(t, "whole", []byte(wholeVolume))[0]
		o.Namespace, o.Name = part.Namespace, part.Name
		o.Node.Get("metadata").Set("namespace", document.Text(part.Namespace))
		o.Node.Get("metadata").Set("name", document.Text(part.Name))
		return o
	}
	const refusal = "[spec.capacity: Required value, spec.provision: Required value, status: Required value, versionDetails: Required value]"

	for _, manager := range []string{"argocd-controller", "kustomize-controller"} {
		t.Run(manager, func(t *testing.T) {
			operate(t, whole())
			defer erase(t, part)
			for _, part := range parts {
				applyPart(t, manager, part)
			}
			if get(t, part).Str("metadata", "annotations", krm.AnnotationLeaves) != "" {
				t.Error("an annotation that is gone from the part is still there")
			}
			// The file is gone from Git, nothing is applied, and the operators go on.
			later := whole()
			later.Node.Get("status").Set("phase", document.Text("Pending"))
			operate(t, later)
			if path := lost(later.Node, get(t, part)); path != "" {
				t.Errorf("the operators cannot write %s any more", path)
			}
		})
	}
	t.Run("absent", func(t *testing.T) {
		if status, _, answer := tryApply(t, "argocd-controller", part); status != http.StatusUnprocessableEntity || !bytes.Contains(answer, []byte(refusal)) {
			t.Errorf("%d, want a refusal:\n%s", status, answer)
		}
		if out, err := kubectlApply(t, part); err == nil || !strings.Contains(out, "is invalid") {
			t.Errorf("%v, want a refusal:\n%s", err, out)
		}
		if get(t, part) != nil {
			t.Error("a volume was made of a part")
		}
	})
	for name, flags := range map[string][]string{"kubectl server-side": {"--server-side", "--force-conflicts"}, "kubectl client-side": nil} {
		t.Run(name, func(t *testing.T) {
			operate(t, whole())
			defer erase(t, part)
			for i, part := range parts {
				before := get(t, part)
				out, err := kubectlApply(t, part, flags...)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if warns := strings.Contains(out, "missing the kubectl.kubernetes.io/last-applied-configuration"); warns != (flags == nil && i == 0) {
					t.Errorf("apply %d warns: %t\n%s", i+1, warns, out)
				}
				compare(t, part, before, get(t, part))
			}
			if get(t, part).Str("metadata", "annotations", krm.AnnotationLeaves) != "" {
				t.Error("an annotation that is gone from the part is still there")
			}
		})
	}
	t.Run("kubectl without force", func(t *testing.T) {
		operate(t, whole())
		defer erase(t, part)
		out, err := kubectlApply(t, part, "--server-side")
		if err == nil || !strings.Contains(out, "conflict") || !strings.Contains(out, ".spec.policy.replicaPoolInfo") {
			t.Errorf("%v, want a conflict:\n%s", err, out)
		}
	})
}

// firstPart is the first part of a volume that the story of a drained pool renders.
func firstPart(t *testing.T) *krm.Object {
	t.Helper()
	for _, step := range tell(t, "drain-pool.txtar")["drain-pool"] {
		for _, text := range step.Manifests {
			if o := parse(t, "manifest", text)[0]; o.Kind == "CStorVolumeConfig" {
				return o
			}
		}
	}
	t.Fatal("the story renders no part of a volume")
	return nil
}

// applyPart applies a part of a CStorVolumeConfig, which is live, and holds that nothing
// else of it changes.
func applyPart(t *testing.T, manager string, part *krm.Object) *document.Node {
	t.Helper()
	before := get(t, part)
	stored := applyAs(t, manager, part)
	compare(t, part, before, stored)
	return stored
}

// compare holds that a part is stored, and that beside it nothing differs but labels and
// annotations: those of the operators stay.
func compare(t *testing.T, part *krm.Object, before, after *document.Node) {
	t.Helper()
	if path := lost(part.Node, after); path != "" {
		t.Errorf("%s: the API server pruned or changed %s", part.Ref, path)
	}
	if got, want := len(after.Seq("spec", "policy", "replicaPoolInfo")), len(part.Node.Seq("spec", "policy", "replicaPoolInfo")); got != want {
		t.Errorf("%s: %d pools, want %d", part.Ref, got, want)
	}
	for _, field := range []string{"labels", "annotations"} {
		set, now := part.Node.StrMap("metadata", field), after.StrMap("metadata", field)
		for key, value := range before.StrMap("metadata", field) {
			_, ours := set[key]
			ours = ours || strings.HasPrefix(key, "poolwright.io/") || strings.HasPrefix(key, "kubectl.kubernetes.io/")
			if !ours && now[key] != value {
				t.Errorf("%s: metadata.%s: %s was %q, and is %q", part.Ref, field, key, value, now[key])
			}
		}
	}
	if was, is := beside(before), beside(after); was != is {
		t.Errorf("%s: another field changed:\n%s\n%s", part.Ref, was, is)
	}
}

// beside is a CStorVolumeConfig without its pools, and of its metadata only the finalizers.
func beside(o *document.Node) string {
	n := o.Made()
	finalizers := document.List(n.Seq("metadata", "finalizers")...)
	n.Set("metadata", document.Object(document.F("finalizers", finalizers)))
	n.Get("spec", "policy").Delete("replicaPoolInfo")
	return string(document.AppendJSON(nil, &n))
}

// operate writes an object as its operator does: by creation and update, not by apply.
func operate(t *testing.T, o *krm.Object) {
	t.Helper()
	metadata := o.Node.Get("metadata")
	for _, field := range []string{"uid", "creationTimestamp", "ownerReferences"} {
		metadata.Delete(field)
	}
	method, url := http.MethodPost, strings.TrimSuffix(resource(o), "/"+o.Name)
	if live := get(t, o); live != nil {
		method, url = http.MethodPut, resource(o)
		metadata.Set("resourceVersion", document.Text(live.Str("metadata", "resourceVersion")))
	}
	request, err := http.NewRequest(method, url+"?fieldManager=cvc-operator&fieldValidation=Strict", bytes.NewReader(document.AppendJSON(nil, o.Node)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	metadata.Delete("resourceVersion")
	if status, _, answer := do(t, request); status >= http.StatusMultipleChoices {
		t.Fatalf("%s is refused: %s", o.Ref, answer)
	}
}

// get is an object as it is live, or nil.
func get(t *testing.T, o *krm.Object) *document.Node {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, resource(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	status, _, answer := do(t, request)
	switch {
	case status == http.StatusNotFound:
		return nil
	case status >= http.StatusMultipleChoices:
		t.Fatalf("%s: %s", o.Ref, answer)
	}
	return parse(t, "answer", answer)[0].Node
}

// kubectlApply runs kubectl apply, and returns all that it prints.
func kubectlApply(t *testing.T, o *krm.Object, flags ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(tool.Need(t, "kubectl"), append([]string{"apply", "-f", "-"}, flags...)...)
	cmd.Stdin = bytes.NewReader(document.AppendJSON(nil, o.Node))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig, "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}
