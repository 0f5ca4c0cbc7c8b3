package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/tool"
)

// controlledPackage is a repository with a package that is committed, and the cluster that it is for.
func controlledPackage(t *testing.T) (*liveScripts, *repositoryTest) {
	t.Helper()
	l := newLiveScripts(t)
	for _, text := range []string{liveBase, controlledDisk("n1")} {
		if err := l.apply(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", l.plane.Kubeconfig)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	r := &repositoryTest{t: t}
	r.spec("1")
	r.git("init", "-q", "-b", "main", ".")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "package")
	return l, r
}

// TestControllerFollows runs the controller against a real API server: a disk appears and is committed within
// the debounce, and then nothing more is. Killed and started again, it goes on where it was. SIGTERM ends it
// well.
func TestControllerFollows(t *testing.T) {
	l, r := controlledPackage(t)
	const debounce = time.Second
	run := r.start("--debounce", debounce.String(), "--max-age", "0")
	r.await(run, "committed ", 1)
	r.await(run, "no change", 1) // its own commit

	r.spec("2")
	r.git("commit", "-q", "-a", "-m", "two pools")
	r.await(run, "wants 2 pools", 1)
	start := time.Now()
	if err := l.apply(t.Context(), []byte(controlledDisk("n2"))); err != nil {
		t.Fatal(err)
	}
	r.await(run, "committed ", 2)
	if took := time.Since(start); took > debounce+10*time.Second {
		t.Errorf("the disk was committed after %v", took)
	}
	r.await(run, "no change", 2)
	head := r.git("rev-parse", "HEAD")
	time.Sleep(3 * debounce)
	if now := r.git("rev-parse", "HEAD"); now != head {
		t.Errorf("another commit without a change\n%s", r.git("log", "-p", "-1"))
	}

	// While the API server is lost, nothing is known of the cluster, and nothing is committed.
	l.plane.StopAPIServer()
	r.await(run, "the watch was cut", 1)
	r.write("store/cstor.yaml", strings.Replace(r.read("store/cstor.yaml"), "roThresholdLimit: 80", "roThresholdLimit: 81", 1))
	r.git("commit", "-q", "-a", "-m", "a limit")
	head = r.git("rev-parse", "HEAD")
	time.Sleep(3 * debounce)
	if now := r.git("rev-parse", "HEAD"); now != head {
		t.Errorf("a commit without facts\n%s", r.git("log", "-p", "-1"))
	}
	if err := l.plane.StartAPIServer(); err != nil {
		t.Fatal(err)
	}
	l.connect(t)
	r.await(run, "committed ", 3)

	// A person at work on a file is left alone, and the commit is taken up.
	r.spec("3")
	if err := l.apply(t.Context(), []byte(controlledDisk("n3"))); err != nil {
		t.Fatal(err)
	}
	r.await(run, "store/cstor.yaml has uncommitted changes", 1)
	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.cmd.Wait() // it was killed
	r.git("commit", "-q", "-a", "-m", "three pools")
	run = r.start("--debounce", debounce.String(), "--max-age", "0")
	r.await(run, "committed ", 1)

	if err := run.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := run.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	r.whole(8)
}

// TestControllerKilled kills passes of the controller at random points, between edits of a person. There is one
// commit for each change, and what is committed is what a render gives.
func TestControllerKilled(t *testing.T) {
	kills := tool.Share(125)
	_, r := controlledPackage(t)
	begin := time.Now()
	first := r.start("--once")
	if err := first.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, first.text())
	}
	whole := time.Since(begin)
	commits, killed := 2, 0
	for i := 0; killed < kills; i++ {
		// A limit of the pool changes its manifest, and nothing else.
		r.write("store/cstor.yaml", strings.Replace(r.read("store/cstor.yaml"), "roThresholdLimit: "+[]string{"80", "81"}[i%2], "roThresholdLimit: "+[]string{"81", "80"}[i%2], 1))
		r.git("commit", "-q", "-a", "-m", "edit")
		commits += 2
		for {
			run := r.start("--once")
			// Most of the work is at the end of a run.
			after := whole/2 + time.Duration((7919*(killed+1))%1000)*whole/1500
			timer := time.AfterFunc(after, func() { _ = run.cmd.Process.Kill() })
			err := run.cmd.Wait()
			timer.Stop()
			if err == nil {
				break
			}
			if run.cmd.ProcessState.Exited() {
				t.Fatalf("after %d kills: %v\n%s", killed, err, run.text())
			}
			killed++
		}
		run := r.start("--once")
		if err := run.cmd.Wait(); err != nil || run.text() != "no change\n" {
			t.Fatalf("after %d kills: %v\n%s", killed, err, run.text())
		}
	}
	r.whole(commits)
}

// controlledDisk is a node with a disk.
func controlledDisk(node string) string {
	return strings.ReplaceAll(`apiVersion: v1
kind: Node
metadata: {name: NODE, labels: {kubernetes.io/hostname: NODE}}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: openebs.io/v1alpha1
kind: BlockDevice
metadata: {name: disk-NODE, namespace: openebs, labels: {kubernetes.io/hostname: NODE}}
spec:
  capacity: {storage: 1099511627776, logicalSectorSize: 512}
  details: {deviceType: disk, driveType: SSD, serial: S-NODE}
  nodeAttributes: {nodeName: NODE}
  path: /dev/sdb
status: {claimState: Unclaimed, state: Active}
`, "NODE", node)
}

// repositoryTest is a repository with a package, and the controller on it.
type repositoryTest struct{ t *testing.T }

func (r *repositoryTest) write(name, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repositoryTest) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// spec writes a spec of as many pools.
func (r *repositoryTest) spec(pools string) {
	r.write("store/cstor.yaml", `apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata: {name: prod, namespace: openebs}
spec:
  minPoolCount: `+pools+`
  maxPoolCount: 3
  diskConfig: {minCapacity: 1Ti, minCount: 1, local: {}}
  poolConfig: {raidType: stripe, roThresholdLimit: 80}
`)
}

func (r *repositoryTest) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// controlled is a controller that runs, with what it prints.
type controlled struct {
	cmd *exec.Cmd
	out string // a file: what is printed survives a kill
}

func (c *controlled) text() string {
	text, _ := os.ReadFile(c.out)
	return string(text)
}

func (r *repositoryTest) start(flags ...string) *controlled {
	r.t.Helper()
	program, err := exec.LookPath("poolwright")
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := os.CreateTemp(r.t.TempDir(), "out")
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close()
	c := &controlled{cmd: exec.Command(program, append([]string{"controller", "store"}, flags...)...), out: out.Name()}
	c.cmd.Stdout, c.cmd.Stderr = out, out
	if err := c.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
		if r.t.Failed() {
			r.t.Logf("poolwright controller %v printed\n%s", flags, c.text())
		}
	})
	return c
}

// await waits until a text was printed as often.
func (r *repositoryTest) await(c *controlled, text string, times int) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(c.text(), text) < times; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%q was not printed %d times", text, times)
		}
	}
}

// whole checks the repository after as many commits.
func (r *repositoryTest) whole(commits int) {
	r.t.Helper()
	if log := r.git("log", "--format=%s"); strings.Count(log, "\n") != commits {
		r.t.Errorf("%d commits, want %d:\n%s", strings.Count(log, "\n"), commits, log)
	}
	if status := r.git("status", "--porcelain"); status != "" {
		r.t.Errorf("git status says\n%s", status)
	}
	r.git("fsck", "--strict")
	if out, err := exec.Command("poolwright", "render", "store", "--check").CombinedOutput(); err != nil {
		r.t.Errorf("render --check: %v\n%s", err, out)
	}
}
