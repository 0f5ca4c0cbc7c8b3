package keeper_test

import (
	"context"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/test/gitserver"
)

// TestUnreadable: a Hydration that an older definition took, and that cannot be read, is logged and stops no other.
func TestUnreadable(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	server := gitserver.New(t, files())
	const ns = "unreadable"
	hydrate(t, k, server, ns, "prod")
	definition, err := os.ReadFile("../../deploy/crds/hydrations.poolwright.io.yaml")
	if err != nil {
		t.Fatal(err)
	}
	older := strings.ReplaceAll(string(definition), "[0-9]{1,5}", "[0-9]+")
	if older == string(definition) {
		t.Fatal("the definition has no limit")
	}
	k.must(t, "%s", older)
	t.Cleanup(func() {
		if err := k.hydrations(ns).Delete(context.Background(), "long", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := k.apply(context.Background(), string(definition)); err != nil {
			t.Error(err)
		}
	})
	await(t, "the older definition takes it", func() bool {
		return k.apply(t.Context(), `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: long, namespace: unreadable}
spec:
  source: {url: "https://git.example.com/team/storage.git"}
  publish: {mode: Branch}
  facts: {maxAge: 9999999999h}
`) == nil
	})
	said := keep(t, ns)
	k.becomes(t, ns, "prod", "Published")
	if want := `msg="a Hydration cannot be read and is left alone; correct it" hydration=unreadable/long error="\"9999999999h\" is not a duration"`; !strings.Contains(said.String(), want) {
		t.Errorf("the log has no %s", want)
	}
	// What was read before is judged no more.
	k.patch(t, ns, "prod", `{"spec":{"facts":{"maxAge":"9999999999h"}}}`)
	await(t, "it is left alone", func() bool { return strings.Contains(said.String(), "hydration=unreadable/prod ") })
	k.patch(t, ns, "prod", `{"spec":{"facts":{"maxAge":"24h"}}}`)
	k.reconcile(t, ns, "prod")
}
