package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/tool"
)

// TestSidecar runs the plugin of Argo CD in the image of the function, as its server
// does: the user and the limits of the patch in deploy/argocd, no shell, no network,
// in a copy of the sources below /tmp.
func TestSidecar(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what runs other programs")
	}
	podman := tool.Need(t, "podman")
	w := newWorkbench(t)
	root, context := tool.Root(t), t.TempDir()
	const image = "localhost/poolwright-sidecar:test"
	for from, to := range map[string]string{
		w.program:                                   "bin/poolwright",
		filepath.Join(root, "image", "passwd"):      "image/passwd",
		filepath.Join(root, "image", "Dockerfile"):  "image/Dockerfile",
		filepath.Join("testdata", "container.conf"): "container.conf",
	} {
		copyFile(t, from, filepath.Join(context, to))
	}
	in := &workbench{program: w.program, env: append(w.env[:len(w.env):len(w.env)], "CONTAINERS_CONF="+filepath.Join(context, "container.conf"))}
	in.must(t, context, podman, "build", "--quiet", "--layers=false", "--tag", image, "--file", "image/Dockerfile", ".")
	t.Cleanup(func() { in.must(t, ".", podman, "rmi", "--force", image) })

	var plugin struct {
		Spec struct {
			Init, Generate struct{ Command []string }
		}
	}
	var patch struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						SecurityContext struct {
							RunAsUser              int
							ReadOnlyRootFilesystem bool
						}
					}
				}
			}
		}
	}
	for file, v := range map[string]any{"plugin.yaml": &plugin, "repo-server.yaml": &patch} {
		data, err := os.ReadFile(filepath.Join(root, "deploy/argocd", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	limits := patch.Spec.Template.Spec.Containers[0].SecurityContext

	dir := filepath.Join(t.TempDir(), "cstor-local")
	in.must(t, ".", w.program, "init", "cstor-local", dir, "--example")
	run := func(command []string) (stdout, stderr string, err error) {
		args := []string{
			"run", "--rm", "--network", "none", "--user", strconv.Itoa(limits.RunAsUser), "--read-only=" + strconv.FormatBool(limits.ReadOnlyRootFilesystem),
			"--cap-drop", "all", "--security-opt", "no-new-privileges", "--volume", dir + ":/tmp/app", "--workdir", "/tmp/app",
			"--env", "ARGOCD_APP_NAME=pools", "--env", "ARGOCD_APP_SOURCE_PATH=cstor-local", "--entrypoint", command[0], image,
		}
		return tool.Run(t, ".", in.env, podman, append(args, command[1:]...)...)
	}
	if _, stderr, err := run(plugin.Spec.Init.Command); err != nil {
		t.Fatalf("init: %v\n%s", err, stderr)
	}
	built, stderr, err := run(plugin.Spec.Generate.Command)
	if err != nil {
		t.Fatalf("generate: %v\n%s", err, stderr)
	}
	same(t, "the plugin", owned(t, built, true), owned(t, in.must(t, ".", w.program, "render", dir, "-o", "-"), false))

	// What is not committed is not applied.
	edit(t, filepath.Join(dir, "cstor.yaml"), "minPoolCount: 3", "minPoolCount: 4")
	if _, _, err := run(plugin.Spec.Init.Command); err == nil {
		t.Error("init passes although rendered/ is out of date")
	}
}
