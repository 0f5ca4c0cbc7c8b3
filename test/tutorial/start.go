package tutorial

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

// Start starts the cluster of a tutorial, with three nodes, and makes the machine of
// its reader: poolwright on the PATH, a KUBECONFIG, git, and an empty repository at
// $REPOSITORY. root is that of Poolwright's repository, $POOLWRIGHT to the reader;
// definitions are names of upstream files beside those of cStor, and tools are
// programs that the tutorial runs. The test is skipped where something is missing,
// unless none may be.
func Start(t *testing.T, root string, definitions []string, tools ...string) (Cluster, Options) {
	t.Helper()
	cluster, root := StartCluster(t, root, definitions, append(tools, "bash", "git")...)
	if err := cluster.Join("stor-1", "stor-2", "stor-3"); err != nil {
		t.Fatal(err)
	}
	o := reader(t, root)
	o.Env = append(o.Env, "KUBECONFIG="+cluster.Kubeconfig)
	return cluster, o
}

// StartAlone makes the machine of a reader who has no cluster. It skips as Start does.
func StartAlone(t *testing.T, root string, tools ...string) Options {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	need(t, append(tools, "bash", "git")...)
	o := reader(t, root)
	o.Env = append(o.Env, "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	return o
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short leaves out what runs other programs")
	}
	for _, program := range tools {
		tool.Need(t, program)
	}
}

// reader has poolwright and what make built on the PATH, and an empty repository.
func reader(t *testing.T, root string) Options {
	t.Helper()
	bin := t.TempDir()
	if _, err := tool.Build(root, bin); err != nil {
		t.Fatal(err)
	}
	return Reader(t, root, bin)
}

// Reader makes the machine of a reader with an empty repository, and with the programs of a folder and those that
// make built on the PATH.
func Reader(t *testing.T, root, bin string) Options {
	t.Helper()
	home := t.TempDir()
	repository, settings := filepath.Join(home, "storage.git"), filepath.Join(home, "gitconfig")
	command(t, home, "git", "init", "--quiet", "--bare", "--initial-branch=main", repository)
	const user = "[user]\n\tname = Reader\n\temail = reader@example.com\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(settings, []byte(user), 0o666); err != nil {
		t.Fatal(err)
	}
	return Options{Env: []string{
		"HOME=" + home, "REPOSITORY=" + repository, "POOLWRIGHT=" + root,
		"GIT_CONFIG_GLOBAL=" + settings, "GIT_CONFIG_NOSYSTEM=1",
		"PATH=" + bin + string(filepath.ListSeparator) + filepath.Join(root, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
	}}
}

// StartCluster starts an empty cluster with the definitions of cStor and those named,
// and returns it with root as an absolute path. It skips as Start does.
func StartCluster(t *testing.T, root string, definitions []string, tools ...string) (Cluster, string) {
	t.Helper()
	need(t, tools...)
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := tool.Need(t, "kubectl")
	files := tool.Upstream(t, append([]string{"openebs-cstor.yaml", "openebs-ndm.yaml"}, definitions...)...)
	plane := controlplane.ForTest(t)
	cluster := Cluster{Kubeconfig: plane.Kubeconfig, Kubectl: kubectl}
	for _, file := range files {
		if err := cluster.kubectl(nil, nil, "apply", "--server-side", "-f", file); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(plane.AwaitServed(t.Context()), cluster.Namespace(Namespace)); err != nil {
		t.Fatal(err)
	}
	return cluster, root
}

// Checkout clones what is in the repository now, as an engine does.
func (o Options) Checkout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	cmd := exec.Command("bash", "-c", `git clone --quiet --branch main "$REPOSITORY" "$0"`, dir)
	cmd.Env = append(os.Environ(), o.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	return dir
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}
