package argocd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/tutorial"
)

// TestTutorial runs the commands of the tutorial. What Argo CD does between them is
// done by its engine, to what is in the repository then.
func TestTutorial(t *testing.T) {
	cluster, reader := tutorial.Start(t, "../../..", []string{"argocd-application.yaml"})
	if err := errors.Join(cluster.Namespace("argocd"), cluster.Manifests(tutorial.ArgoCD)); err != nil {
		t.Fatal(err)
	}
	app, err := New(cluster.Kubeconfig, suite.Root, "pools", tutorial.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	sync := func(dir string) error {
		approved, err := cluster.Annotation("application", "argocd", "pools", "argocd.argoproj.io/deletion-approved")
		if err != nil {
			return err
		}
		app.Approve(approved != "")
		report, err := app.Sync(t.Context(), dir)
		t.Logf("Argo CD: %+v", report)
		return err
	}
	reader.Meanwhile = map[string]func(tutorial.Shell) error{
		"operate":    func(tutorial.Shell) error { return cluster.Operate() },
		"node-joins": func(tutorial.Shell) error { return cluster.Join("stor-4") },
		"sync":       func(tutorial.Shell) error { return sync(filepath.Join(reader.Checkout(t), "pools/rendered")) },
		"sync-with-plugin": func(s tutorial.Shell) error {
			dir := t.TempDir()
			manifests, err := plugin(s.LookPath("poolwright"), filepath.Join(reader.Checkout(t), "pools"))
			if err != nil {
				return err
			}
			const list = "resources: [manifests.yaml]\n"
			if err := errors.Join(
				os.WriteFile(filepath.Join(dir, "manifests.yaml"), manifests, 0o666),
				os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(list), 0o666),
			); err != nil {
				return err
			}
			return sync(dir)
		},
	}
	tutorial.Run(t, "../../../docs/tutorial-argocd.md", reader)
}

// plugin runs the commands of the plugin as its server does: without a shell, in the
// folder of the Application, with the build environment. Only the place of the
// program is the test's.
func plugin(program, dir string) ([]byte, error) {
	text, err := os.ReadFile("../../../deploy/argocd/plugin.yaml")
	if err != nil {
		return nil, err
	}
	var config struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Discover       struct{ FileName string }
			Init, Generate struct{ Command []string }
		}
	}
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return nil, err
	}
	if found, err := filepath.Glob(filepath.Join(dir, config.Spec.Discover.FileName)); err != nil || len(found) == 0 {
		return nil, fmt.Errorf("the plugin does not discover %s: %v", dir, err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "rendered", config.Spec.Discover.FileName)); len(found) > 0 {
		return nil, errors.New("the plugin takes what is rendered already")
	}
	var stdout bytes.Buffer
	for _, command := range [][]string{config.Spec.Init.Command, config.Spec.Generate.Command} {
		if command[0] != "/poolwright" {
			return nil, fmt.Errorf("%q is not the program of the image", command[0])
		}
		var stderr bytes.Buffer
		stdout.Reset()
		cmd := exec.Command(program, command[1:]...)
		cmd.Dir = dir
		cmd.Env = []string{"ARGOCD_APP_NAME=pools", "ARGOCD_APP_NAMESPACE=openebs", "ARGOCD_APP_SOURCE_PATH=pools"}
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%q: %w\n%s", command, err, stderr.String())
		}
	}
	return stdout.Bytes(), nil
}
