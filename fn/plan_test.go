package fn

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const plannedPools = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata:
  name: prod
  namespace: openebs
  labels: {app.kubernetes.io/managed-by: poolwright}
  annotations:
    poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod
    argocd.argoproj.io/sync-options: Prune=confirm,Delete=confirm
    kustomize.toolkit.fluxcd.io/prune: disabled
    client.lifecycle.config.k8s.io/deletion: detach
    argocd.argoproj.io/sync-wave: "1"
spec: {pools: []}
`

// The rules that all systems share: what the engines are told, labels, and that
// nothing is safe that no rule knows.
func TestAssess(t *testing.T) {
	for _, c := range []struct {
		name, old, new string // of the edit
		risk           change.Risk
		want           string
	}{
		{"Argo CD may prune", "Prune=confirm,Delete=confirm", "Delete=confirm", change.Destructive, "deleting it from Git makes Argo CD delete it"},
		{"Argo CD may delete", "Prune=confirm,Delete=confirm", "Prune=confirm, Delete=true", change.Destructive, "deleting its Application makes Argo CD delete it"},
		{"Argo CD never does", "Prune=confirm,Delete=confirm", "Delete=false,Prune=false", change.Safe, "takes no protection away"},
		{"Argo CD has other options", "Prune=confirm,Delete=confirm", "Prune=confirm,Delete=confirm,ServerSideApply=true", change.Safe, "takes no protection away"},
		{"Flux may prune", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", "", change.Destructive, "makes Flux delete it"},
		{"Flux spells it otherwise", "prune: disabled", "prune: Disabled", change.Safe, "Flux keeps it"},
		{"kpt may delete", "deletion: detach", "deletion: other", change.Destructive, "makes kpt delete it"},
		{"the order", `"1"`, `"2"`, change.Safe, "in which order"},
		{"not applied any more", "annotations:\n", "annotations:\n    config.kubernetes.io/local-config: \"true\"\n", change.Destructive, "the same as deleted from Git"},
		{"a label", "labels: {", "labels: {a: b, ", change.Safe, "labels and annotations of others"},
		{"the owner", "openebs/prod\n", "openebs/prod2\n", change.Safe, "whose output"},
		{"what the system knows", "spec: {", "spec: {priorityClassName: a, ", change.Disruptive, "the pod of each pool"},
		{"an unknown field", "spec: {", "spec: {a: {b: 1}, ", change.Disruptive, "no rule knows the field spec.a"},
		{"another version", "cstor.openebs.io/v1\n", "cstor.openebs.io/v2\n", change.Disruptive, "no rule knows the field apiVersion"},
		{"a finalizer", "metadata:\n", "metadata:\n  finalizers: [x]\n", change.Disruptive, "no rule knows the field metadata.finalizers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := strings.Replace(plannedPools, c.old, c.new, 1)
			there, back := assessed(t, plannedPools, edited), assessed(t, edited, plannedPools)
			if there.Risk != c.risk || !strings.Contains(texts(there), c.want) {
				t.Errorf("%s: %s", there.Risk, texts(there))
			}
			if strings.Contains(texts(there), "no rule") != strings.Contains(c.want, "no rule") {
				t.Errorf("there is a rule for it: %s", texts(there))
			}
			// What takes protection away gives it, the other way round.
			if back.Risk != change.Safe && c.risk != change.Disruptive {
				t.Errorf("back: %s: %s", back.Risk, texts(back))
			}
		})
	}
}

// An object of a kind that no rule knows is never safe, not even where the engines
// keep it.
func TestAssessUnknownKind(t *testing.T) {
	unknown := strings.Replace(plannedPools, "kind: CStorPoolCluster", "kind: CStorSomething", 1)
	stranger := strings.Replace(plannedPools, "CStorClusterConfig", "Something", 1)
	for _, c := range [][2]string{{"", unknown}, {unknown, ""}, {stranger, ""}, {"", stranger}} {
		if got := assessed(t, c[0], c[1]); got.Risk != change.Disruptive || !strings.Contains(texts(got), "no rule knows the kind CStor") {
			t.Errorf("%s: %s", got.Risk, texts(got))
		}
	}
	gone := assessed(t, plannedPools, "")
	if gone.Risk != change.Destructive || !strings.Contains(texts(gone), "it carries the protection of Argo CD, Flux, kpt: it stays in the cluster until that is lifted") {
		t.Errorf("%s: %s", gone.Risk, texts(gone))
	}
	gone = assessed(t, plannedPools[:strings.Index(plannedPools, "    argocd")]+"spec: {}\n", "")
	if gone.Risk != change.Destructive || strings.Contains(texts(gone), "protection") {
		t.Errorf("%s: %s", gone.Risk, texts(gone))
	}
}

func assessed(t *testing.T, old, new string) *change.Change {
	t.Helper()
	read := func(text string) []*krm.Object {
		objects, err := krm.Parse(&document.Source{Name: "test", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	changes := change.Between(read(old), read(new))
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	Assess(inventory.New(nil), changes)
	return changes[0]
}

func texts(c *change.Change) string {
	var all []string
	for _, r := range c.Reasons {
		all = append(all, r.Text)
	}
	return strings.Join(all, "; ")
}
