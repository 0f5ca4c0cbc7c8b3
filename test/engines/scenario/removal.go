package scenario

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/tool"
	"github.com/poolwright/poolwright/test/tutorial"
)

// removal follows docs/removal.md, word by word.
func removal(t *testing.T, s Suite, c *Cluster) {
	for _, program := range []string{"git", "kubectl"} {
		tool.Need(t, program)
	}
	git := newGit(t, s, "removal", "confirm")
	git.Namespace = "openebs" // as the page says
	r := begin(git, c)
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": r.Namespace}}}
	r.check(c.Apply(t.Context(), namespace))
	r.write("platform.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform, namespace: openebs}\n")
	r.render(2)
	r.sync("all in one commit")
	objects, before := r.applied("all in one commit")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message", "Storage"}} {
		r.git(args...)
	}
	tutorial.Run(t, filepath.Join(s.Root, "docs/removal.md"), tutorial.Options{
		Dir: r.Dir,
		Env: append(r.author(), "KUBECONFIG="+s.Plane.Kubeconfig, "PATH="+filepath.Dir(s.Poolwright)+":"+filepath.Join(tool.Root(t), "bin")+":"+os.Getenv("PATH")),
		Meanwhile: map[string]func(tutorial.Shell) error{
			"sync": func(tutorial.Shell) error {
				r.sync("the protection is dropped")
				r.survives("the protection is dropped", objects, before)
				return nil
			},
			"sync-and-delete": func(tutorial.Shell) error {
				r.sync("the files are removed")
				r.gone("the files are removed", of(objects, data...))
				r.absent(of(objects, data...))
				return nil
			},
		},
	})
}

// author is whose commits they are, on a machine where nobody has said so.
func (r *run) author() []string {
	return []string{
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
	}
}

func (r *run) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, append(os.Environ(), r.author()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
