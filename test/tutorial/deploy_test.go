package tutorial_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/tutorial"
)

// TestDeploy applies all that deploy/ has for the engines, and their files of the
// examples, strictly, to the definitions of the engines.
func TestDeploy(t *testing.T) {
	cluster, root := tutorial.StartCluster(t, "../..", []string{"argocd-application.yaml", "flux-kustomization.yaml", "flux-source.yaml"})
	for _, namespace := range []string{"argocd", "flux-system"} {
		if err := cluster.Namespace(namespace); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := func(t *testing.T, args ...string) string {
		t.Helper()
		cmd := exec.Command(cluster.Kubectl, append([]string{"--kubeconfig", cluster.Kubeconfig}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(string(out), "Warning") {
			t.Errorf("kubectl %s: %s", strings.Join(args, " "), out)
		}
		return string(out)
	}
	strict := []string{"apply", "--server-side", "--force-conflicts", "--validate=strict"}
	// It would make Argo CD keep the live list of pools, and apply no new one.
	noRespect := func(t *testing.T, file string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "RespectIgnoreDifferences=true") {
			t.Errorf("%s: RespectIgnoreDifferences=true keeps new pools from being applied", file)
		}
	}

	t.Run("flux", func(t *testing.T) {
		for _, source := range []string{"git", "oci"} {
			kubectl(t, append(strict, "-k", filepath.Join(root, "deploy/flux", source))...)
			expressions := kubectl(t, "get", "kustomizations.kustomize.toolkit.fluxcd.io", "storage", "-n", "flux-system", "-o", "jsonpath={.spec.healthCheckExprs[*].kind}")
			if !strings.Contains(expressions, "CStorPoolCluster") {
				t.Errorf("%s: the Kustomization has no health checks: %q", source, expressions)
			}
		}
	})
	t.Run("examples", func(t *testing.T) {
		for _, pattern := range []string{"examples/*/argocd/*.yaml", "examples/*/flux/*.yaml"} {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil || len(files) < 2 {
				t.Fatalf("%s: %q, %v", pattern, files, err)
			}
			for _, file := range files {
				kubectl(t, append(strict, "-f", file)...)
				noRespect(t, file)
			}
		}
	})
	t.Run("argocd", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "argocd")
		if err := os.CopyFS(filepath.Join(dir, "poolwright"), os.DirFS(filepath.Join(root, "deploy/argocd"))); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"install.yaml":       tutorial.ArgoCD,
			"kustomization.yaml": "namespace: argocd\nresources: [install.yaml]\ncomponents: [poolwright]\nimages: [{name: poolwright-fn, newName: registry.example.com/poolwright, newTag: v1}]\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		kubectl(t, append(strict, "-k", dir)...)
		containers := kubectl(t, "get", "deployment", "argocd-repo-server", "-n", "argocd", "-o", "jsonpath={.spec.template.spec.containers[*].image}")
		if !strings.Contains(containers, "registry.example.com/poolwright:v1") || !strings.Contains(containers, "argocd") {
			t.Errorf("the containers are %q", containers)
		}
		settings := kubectl(t, "get", "configmap", "argocd-cm", "-n", "argocd", "-o", "jsonpath={.data}")
		for _, key := range []string{"url", "resource.customizations.health.cstor.openebs.io_CStorPoolCluster", "resource.customizations.ignoreDifferences.cstor.openebs.io_CStorPoolCluster"} {
			if !strings.Contains(settings, `"`+key+`"`) {
				t.Errorf("argocd-cm has no %s", key)
			}
		}
	})
}

// TestKptfile holds that the pipeline with the container is that of the examples,
// but for what is run.
func TestKptfile(t *testing.T) {
	pipeline := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, pipeline, found := strings.Cut(string(text), "\npipeline:\n")
		if !found {
			t.Fatalf("%s has no pipeline", file)
		}
		return pipeline
	}
	want := strings.Replace(pipeline("../../examples/cstor-local/Kptfile"), "exec: poolwright\n", "image: poolwright-fn\n", 1)
	if got := pipeline("../../deploy/kpt/Kptfile"); got != want {
		t.Errorf("deploy/kpt/Kptfile has the pipeline\n%s\ninstead of\n%s", got, want)
	}
}
