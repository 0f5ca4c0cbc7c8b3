package flux

import (
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/test/tutorial"
)

// TestTutorial runs the commands of the tutorial. What Flux does between them is done
// by its library, to what is in the repository then.
func TestTutorial(t *testing.T) {
	cluster, reader := tutorial.Start(t, "../../..", []string{"flux-kustomization.yaml", "flux-source.yaml"})
	if err := cluster.Namespace("flux-system"); err != nil {
		t.Fatal(err)
	}
	flux, err := NewLibrary(cluster.Kubeconfig, "pools")
	if err != nil {
		t.Fatal(err)
	}
	reader.Meanwhile = map[string]func(tutorial.Shell) error{
		"operate":    func(tutorial.Shell) error { return cluster.Operate() },
		"node-joins": func(tutorial.Shell) error { return cluster.Join("stor-4") },
		"reconcile": func(tutorial.Shell) error {
			report, err := flux.Sync(t.Context(), filepath.Join(reader.Checkout(t), "pools/rendered"))
			t.Logf("Flux: %+v", report)
			return err
		},
	}
	tutorial.Run(t, "../../../docs/tutorial-flux.md", reader)
}
