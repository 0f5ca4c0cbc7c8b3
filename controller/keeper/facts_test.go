package keeper_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/gitserver"
)

// TestAPIServerRefused: no Hydration leads to the API server, at none of its addresses.
func TestAPIServerRefused(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns = "apiserver"
	k.must(t, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, ns)
	k.must(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.7, 192.0.2.8]}]
ports: [{name: https, port: 6443, protocol: TCP}]
`)
	hosts := map[string]string{"service": "10.0.0.1", "machine": "192.0.2.8:6443"}
	for name, host := range hosts {
		k.must(t, `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: %s, namespace: %s}
spec:
  source: {url: "https://%s/storage.git", path: %s}
  publish: {mode: Branch}
`, name, ns, host, dir)
	}
	out, err := exec.Command(program, "controller", "--once", "--kubeconfig", plane.Kubeconfig, "--namespace", ns).CombinedOutput()
	if err == nil {
		t.Error("ends with 0")
	}
	for name, host := range hosts {
		ip, _, _ := strings.Cut(host, ":")
		want := fmt.Sprintf("%s/%s SourceRefused: %s is %s, an address of the Kubernetes API server; correct spec.source.url, or start the controller with --allow-host %s\n", ns, name, ip, ip, ip)
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestInventoryAge: facts that change no output are published where the inventory in Git is older than maxAge,
// however busy the branch is, and not before.
func TestInventoryAge(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "age", "prod"
	k.member(t, ns, "age-1")
	server := gitserver.New(t, filesOf(ns))
	hydrate(t, k, server, ns, name)
	keeper, _ := newKeeper(t, ns)
	once := func() {
		t.Helper()
		if _, err := keeper.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	once()
	backdate(t, server, 25*time.Hour)
	// Whose inventory it is nobody remembers, and people push all the time.
	k.patch(t, ns, name, `{"spec":{"facts":{"maxAge":"26h"}}}`)
	for i := range 20 {
		server.Commit(t, "main", "of a person", map[string]string{"README.md": fmt.Sprintf("%d\n", i)})
	}
	k.member(t, "nobody", "age-2")
	head := server.Head(t, "main")
	once()
	if got := server.Head(t, "main"); got != head {
		t.Errorf("published before it is old: %q", commits(t, server))
	}
	k.patch(t, ns, name, `{"spec":{"facts":{"maxAge":"24h"}}}`)
	once()
	if got := commits(t, server); !strings.HasSuffix(got[0], "; inventory refreshed") || len(got) != 22 {
		t.Errorf("the commits are %q", got)
	}
	// From now on it is young.
	k.member(t, "nobody", "age-3")
	once()
	if got := commits(t, server); len(got) != 22 {
		t.Errorf("the commits are %q", got)
	}
	checked(t, server)
}
