package keeper_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/test/gitserver"
	"github.com/poolwright/poolwright/test/tool"
)

// process is the program as it goes on.
type process struct {
	cmd   *exec.Cmd
	log   *log
	ended chan struct{}
}

func start(t *testing.T, namespace string, args ...string) *process {
	t.Helper()
	p := &process{log: &log{}, ended: make(chan struct{})}
	p.cmd = exec.Command(program, append([]string{
		"controller", "--kubeconfig", plane.Kubeconfig, "--namespace", namespace, "--allow-host", "127.0.0.1", "--listen", "127.0.0.1:0",
	}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = tool.DieWithParent()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its state is looked at
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.ended
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

// end waits for the end, and gives the exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("does not end\n%s", p.log)
		return 0
	}
}

func (p *process) says(t *testing.T, text string) {
	t.Helper()
	await(t, "said: "+text, func() bool { return strings.Contains(p.log.String(), text) })
}

// checked wants the branch to be what a person with a shell would have made of it.
func checked(t *testing.T, server *gitserver.Server) {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work")
	if out, err := exec.Command("git", "clone", "-q", server.Dir, work).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program, "render", filepath.Join(work, dir), "--check").CombinedOutput(); err != nil {
		t.Errorf("render --check: %v\n%s", err, out)
	}
	server.Git(t, "fsck", "--strict")
}

// sound wants one line of commits in which each of the people's is, and none of ours twice.
func sound(t *testing.T, server *gitserver.Server, theirs []string) {
	t.Helper()
	all := strings.Fields(server.Git(t, "rev-list", "main"))
	for _, commit := range theirs {
		if !slices.Contains(all, commit) {
			t.Errorf("the commit %s of a person is lost", commit)
		}
	}
	if merges := server.Git(t, "rev-list", "--merges", "main"); merges != "" {
		t.Errorf("merges: %s", merges)
	}
	last := ""
	for line := range strings.Lines(server.Git(t, "log", "--reverse", "--format=%H %(trailers:key=Poolwright-Output,valueonly,separator=%x2C)", "main")) {
		commit, output, _ := strings.Cut(strings.TrimSpace(line), " ")
		if output == "" {
			continue
		}
		if output == last {
			t.Errorf("the commit %s publishes the output of the one before again", commit)
		}
		last = output
	}
}

// TestLease: of two controllers one works. Where it dies, the other goes on; where it slept and the
// lease has passed on, it stops before it publishes anything.
func TestLease(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "lease", "prod"
	server := gitserver.New(t, filesOf(ns))
	k.member(t, ns, "lease-0")
	hydrate(t, k, server, ns, name)
	args := []string{"--lease-namespace", ns, "--lease-duration", "3s"}
	as := func(pod string) []string {
		k.must(t, `{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s}, spec: {containers: [{name: controller, image: none}]}}`, pod, ns)
		return append(slices.Clone(args), "--pod", pod)
	}
	leaders := func(want ...string) {
		t.Helper()
		await(t, fmt.Sprintf("the pods %q have the label", want), func() bool {
			list, err := k.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "poolwright.io/leader=true"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list.Items {
				got = append(got, list.Items[i].GetName())
			}
			return slices.Equal(got, want)
		})
	}
	first := start(t, ns, as("pod-1")...)
	first.says(t, "holding the lease lease/poolwright-controller")
	k.becomes(t, ns, name, "Published", "UpToDate")
	second := start(t, ns, as("pod-2")...)
	second.says(t, "waiting for the lease")
	leaders("pod-1")

	first.signal(syscall.SIGSTOP)
	second.says(t, "holding the lease")
	k.member(t, ns, "lease-1")
	await(t, "the second publishes", func() bool { return len(commits(t, server)) == 3 })
	first.signal(syscall.SIGCONT)
	if code := first.end(t); code != 1 || !strings.Contains(first.log.String(), "lease/poolwright-controller: the lease was lost; another process goes on") {
		t.Errorf("the first ends with %d\n%s", code, first.log)
	}

	// A Service selects the pod of the leader, so that webhooks are not sent to the others.
	leaders("pod-2")
	third := start(t, ns, as("pod-3")...)
	third.says(t, "waiting for the lease")
	second.signal(syscall.SIGTERM) // gives the lease back
	if code := second.end(t); code != 0 {
		t.Errorf("SIGTERM ends it with %d", code)
	}
	third.says(t, "holding the lease")
	leaders("pod-3")
	k.member(t, ns, "lease-2")
	await(t, "the third publishes", func() bool { return len(commits(t, server)) == 4 })
	sound(t, server, nil)
	checked(t, server)
}

// TestPushers: 20 people push all the time, and the facts change. No commit is lost.
func TestPushers(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "pushers", "prod"
	server := gitserver.New(t, filesOf(ns))
	k.member(t, ns, "pushers-0")
	hydrate(t, k, server, ns, name)
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	var mu sync.Mutex
	var theirs []string
	var pushers sync.WaitGroup
	for who := range 20 {
		pushers.Go(func() {
			for i := range 3 {
				commit := server.Commit(t, "main", fmt.Sprintf("push %d of %d", i, who), map[string]string{fmt.Sprintf("team-%d/%d.txt", who, i): "text\n"})
				mu.Lock()
				theirs = append(theirs, commit)
				mu.Unlock()
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
	for i := range 3 {
		k.member(t, ns, fmt.Sprintf("pushers-%d", i+1))
		time.Sleep(300 * time.Millisecond)
	}
	pushers.Wait()
	await(t, "the last node is rendered", func() bool {
		return strings.Contains(server.Show(t, "main", dir+"/rendered/volumetemplate.logs/volume.yaml"), "pushers-3")
	})
	k.reconcile(t, ns, name)
	k.becomes(t, ns, name, "UpToDate")
	sound(t, server, theirs)
	checked(t, server)
}

// TestUsage is refused before anything is asked.
func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--debounce 1s":                "--debounce is for controller DIR; name the DIR, or remove the flag",
		"--max-source many":            `--max-source "many": write a size in bytes, such as 64Mi`,
		"--lease-duration 10ms":        "--lease-duration 10ms: write 1s or more",
		". --allow-file":               "--allow-file is for the controller without DIR; remove the flag, or the DIR",
		"--once --allow-file --author": "flag needs an argument: --author",
	} {
		cmd := exec.Command(program, append([]string{"controller"}, strings.Fields(args)...)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig)
		out, _ := cmd.CombinedOutput() // the exit code decides
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: exit %d: %s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// TestRole: the roles of deploy/ allow the controller everything that it does.
func TestRole(t *testing.T) {
	k := newKube(t)
	server := gitserver.New(t, files())
	const ns, name = "role", "prod"
	for _, file := range []string{"rbac/namespace.yaml", "rbac/role.yaml", "controller/namespace.yaml", "controller/rbac.yaml", "controller/deployment.yaml", "controller/policies.yaml"} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			k.must(t, "%s", part)
		}
	}
	k.node(t, "r0")
	hydrate(t, k, server, ns, name)
	config, err := clientcmd.LoadFromFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range config.AuthInfos {
		auth.Impersonate = "system:serviceaccount:poolwright-controller:poolwright-controller"
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	if err := plane.AwaitAllowed(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := start(t, ns, "--kubeconfig", kubeconfig, "--lease-namespace", "poolwright-controller")
	p.says(t, "holding the lease poolwright-controller/poolwright-controller")
	h := k.becomes(t, ns, name, "AuthenticationFailed")
	if got := h.Status.Condition("Ready").Message; !strings.Contains(got, "; permit it: kubectl create rolebinding poolwright-controller-secrets -n role --clusterrole poolwright-controller-secrets --serviceaccount poolwright-controller:poolwright-controller") {
		t.Errorf("the message is %q", got)
	}
	k.must(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: poolwright-controller, namespace: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: poolwright-controller-secrets}
subjects: [{kind: ServiceAccount, name: poolwright-controller, namespace: poolwright-controller}]
`, ns)
	if err := plane.AwaitAllowed(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.reconcile(t, ns, name)
	k.becomes(t, ns, name, "Published", "UpToDate")
	// Without the role for the facts the watch goes on until it is cut; another process finds out at once.
	if err := k.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}).Delete(t.Context(), "poolwright-controller-inventory", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := plane.AwaitAllowed(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "controller", "--once", "--kubeconfig", kubeconfig, "--namespace", ns, "--allow-host", "127.0.0.1").Output()
	if err == nil || !strings.HasPrefix(string(out), "role/prod FactsUnavailable: the facts of the cluster are not known: ") {
		t.Errorf("%v: %s", err, out)
	}
	await(t, "an event", func() bool { return strings.Contains(k.everything(t, ns), `"reason":"Published"`) })
}
