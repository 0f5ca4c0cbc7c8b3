package worktree_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/controller/worktree"
	"github.com/poolwright/poolwright/test/tool"
)

var kills = flag.Int("kills", tool.Share(250), "in how many changes TestKills kills the controller")

// TestMain is the program that is killed, where it is asked for.
func TestMain(m *testing.M) {
	if change := os.Getenv("POOLWRIGHT_TEST_COMMIT"); change != "" {
		if err := commit("pkg", change); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// commit is what the controller does for one change: nothing where it was committed before.
func commit(dir, change string) error {
	w, err := worktree.Open(dir)
	if err != nil {
		return err
	}
	defer w.Close()
	head, err := w.Head()
	if err != nil {
		return err
	}
	root, err := w.Tree(head)
	if err != nil {
		return err
	}
	files, err := w.Package(root, func(string) bool { return true })
	if err != nil {
		return err
	}
	if err := w.Uncommitted(files, func(string) bool { return false }); err != nil {
		return err
	}
	if strings.TrimSpace(string(files["rendered/a.yaml"])) == change {
		return nil
	}
	changes := map[string][]byte{"inventory/nodes.yaml": []byte(change + "\n"), "rendered/a.yaml": []byte(change + "\n"), "rendered/sub/only-" + change + ".yaml": []byte(change)}
	for name := range files {
		if strings.HasPrefix(name, "rendered/sub/") {
			changes[name] = nil
		}
	}
	_, err = w.Commit(context.Background(), worktree.Commit{
		Base: head, Before: files, Changes: changes, Author: tree.Author{Name: "P", Email: "p@example.com"}, Time: time.Now(), Message: "change " + change + "\n",
	})
	return err
}

// repository is a clone with a package in it, and something that is staged beside it.
func repository(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tool.Missing(t, "there is no git on this machine")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "pkg/spec.yaml", "spec\n")
	write(t, "pkg/rendered/README.md", "mine\n")
	write(t, "other.txt", "one\n")
	git(t, "init", "-q", "-b", "main", ".")
	git(t, "add", "-A")
	git(t, "commit", "-q", "-m", "begin")
	write(t, "other.txt", "two\n")
	git(t, "add", "other.txt")
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func git(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs the program for a change, and kills it after a while; 0 for never.
func run(t testing.TB, change string, after time.Duration) (string, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "POOLWRIGHT_TEST_COMMIT="+change)
	var talk strings.Builder
	cmd.Stderr = &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	return talk.String(), err
}

// TestKills kills the controller at random points of its commits. The next run finds the work tree as it was,
// or makes it whole: one commit a change, nothing lost, and what is staged beside it stays staged. make
// kills-controller has a thousand changes.
func TestKills(t *testing.T) {
	repository(t)
	start := time.Now()
	if talk, err := run(t, "first", 0); err != nil {
		t.Fatal(err, talk)
	}
	whole := time.Since(start)
	random := rand.New(rand.NewPCG(1, 1))
	killed, made, repaired := 0, 0, 0
	for i := range *kills {
		change := fmt.Sprint("change-", i)
		before := git(t, "rev-parse", "HEAD")
		for { // kill, until it survives
			if _, err := run(t, change, time.Duration(random.Int64N(int64(whole*5/4)))+1); err == nil {
				break
			}
			killed++
			if git(t, "rev-parse", "HEAD") != before {
				made++
				if left, _ := filepath.Glob(".git/poolwright-index-*"); len(left) > 0 {
					repaired++
				}
			}
		}
		if talk, err := run(t, change, 0); err != nil {
			t.Fatalf("after a kill in change %d: %v\n%s", i, err, talk)
		}
		if parent := git(t, "rev-parse", "HEAD~1"); parent != before {
			t.Fatalf("change %d: its commit is not on that of the change before\n%s", i, git(t, "log", "--oneline", "-5"))
		}
		if status := git(t, "status", "--porcelain"); status != "M  other.txt\n" {
			t.Fatalf("change %d: git status says\n%s", i, status)
		}
		if files := git(t, "ls-files", "pkg"); files != "pkg/inventory/nodes.yaml\npkg/rendered/README.md\npkg/rendered/a.yaml\npkg/rendered/sub/only-"+change+".yaml\npkg/spec.yaml\n" {
			t.Fatalf("change %d: git ls-files says\n%s", i, files)
		}
		if i%10 == 0 {
			git(t, "fsck", "--strict")
		}
	}
	t.Logf("%d kills, %d after the commit was made, %d of them before its files were there; a run takes %v", killed, made, repaired, whole)
	if left, _ := filepath.Glob("pkg/.*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestTwo: a second controller in the same work tree ends at once, and so does one in the middle of a merge.
func TestTwo(t *testing.T) {
	dir := repository(t)
	w, err := worktree.Open("pkg")
	if err != nil {
		t.Fatal(err)
	}
	if talk, err := run(t, "other", 0); err == nil || !strings.Contains(talk, "another controller commits to this work tree") {
		t.Errorf("%v %s", err, talk)
	}
	// Another work tree of the repository has a controller of its own.
	git(t, "worktree", "add", "-q", "-b", "side", filepath.Join(dir, "side"))
	t.Chdir(filepath.Join(dir, "side"))
	if talk, err := run(t, "side", 0); err != nil {
		t.Errorf("%v %s", err, talk)
	}
	if status := git(t, "status", "--porcelain"); status != "" {
		t.Errorf("git status says\n%s", status)
	}
	if log := git(t, "log", "--format=%s"); log != "change side\nbegin\n" {
		t.Errorf("git log says\n%s", log)
	}
	w.Close()
	t.Chdir(dir)
	if talk, err := run(t, "main", 0); err != nil {
		t.Errorf("when the first is gone: %v %s", err, talk)
	}
}

// TestMoved: the branch moves by compare-and-swap, and a lock of git is respected.
func TestMoved(t *testing.T) {
	repository(t)
	w, err := worktree.Open("pkg")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	head, err := w.Head()
	if err != nil {
		t.Fatal(err)
	}
	git(t, "commit", "-q", "-m", "a person's")
	c := worktree.Commit{Base: head, Changes: map[string][]byte{"rendered/a.yaml": []byte("a\n")}, Author: tree.Author{Name: "P", Email: "p@example.com"}, Time: time.Now(), Message: "mine\n"}
	if _, err := w.Commit(t.Context(), c); !errors.Is(err, worktree.ErrMoved) {
		t.Errorf("the branch was moved: %v", err)
	}
	if c.Base, err = w.Head(); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{".git/index.lock", ".git/refs/heads/main.lock"} {
		write(t, lock, "")
		if _, err := w.Commit(t.Context(), c); err == nil || !strings.Contains(err.Error(), filepath.Base(lock)+" is there: another git command ") {
			t.Errorf("with %s: %v", lock, err)
		}
		if err := os.Remove(lock); err != nil {
			t.Errorf("a lock of git was removed: %v", err)
		}
	}
	write(t, "pkg/rendered/a.yaml", "b\n")
	if _, err := w.Commit(t.Context(), c); !errors.As(err, new(*worktree.UncommittedError)) {
		t.Errorf("a file that somebody is at work on: %v", err)
	}
	if err := os.Remove("pkg/rendered/a.yaml"); err != nil {
		t.Fatal(err)
	}
	// Packed references, an index of version 4, and one with flags that a person has set.
	git(t, "pack-refs", "--all")
	git(t, "update-index", "--index-version", "4")
	git(t, "update-index", "--assume-unchanged", "other.txt")
	git(t, "update-index", "--skip-worktree", "pkg/rendered/README.md")
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if flags := git(t, "ls-files", "-v"); flags != "h other.txt\nH pkg/rendered/a.yaml\nS pkg/rendered/README.md\nH pkg/spec.yaml\n" && flags != "h other.txt\nS pkg/rendered/README.md\nH pkg/rendered/a.yaml\nH pkg/spec.yaml\n" {
		t.Errorf("git ls-files -v says\n%s", flags)
	}
	if status := git(t, "status", "--porcelain"); status != "" {
		t.Errorf("git status says\n%s", status)
	}
	git(t, "fsck", "--strict")
}

// TestRoot: the package may be the whole repository, and its objects may be packed.
func TestRoot(t *testing.T) {
	repository(t)
	t.Chdir("pkg")
	git(t, "init", "-q", "-b", "main", ".")
	git(t, "add", "-A")
	git(t, "commit", "-q", "-m", "begin")
	git(t, "gc", "-q")
	for _, change := range []string{"one", "two"} {
		if err := commit(".", change); err != nil {
			t.Fatal(err)
		}
	}
	if files := git(t, "ls-files"); files != "inventory/nodes.yaml\nrendered/README.md\nrendered/a.yaml\nrendered/sub/only-two.yaml\nspec.yaml\n" {
		t.Errorf("git ls-files says\n%s", files)
	}
	if status := git(t, "status", "--porcelain"); status != "" {
		t.Errorf("git status says\n%s", status)
	}
}

// TestExtensions: a repository in a format that is not read is refused.
func TestExtensions(t *testing.T) {
	repository(t)
	git(t, "config", "core.repositoryFormatVersion", "1")
	git(t, "config", "extensions.refStorage", "reftable")
	_, err := worktree.Open("pkg")
	if err == nil || err.Error() != "pkg: the repository has the extension refStorage = reftable, which is not supported; use a clone in the default format" {
		t.Errorf("%v", err)
	}
}

// TestAttributes: a file that git itself has changed on the way to the disk has no changes of a person, and one
// that a person has changed does.
func TestAttributes(t *testing.T) {
	repository(t)
	git(t, "config", "core.autocrlf", "true")
	git(t, "config", "filter.upper.smudge", "tr a-z A-Z")
	git(t, "config", "filter.upper.clean", "tr A-Z a-z")
	write(t, "pkg/lines.yaml", "a: b\n")
	write(t, "pkg/upper.yaml", "a: b\n")
	write(t, ".gitattributes", "upper.yaml filter=upper -text\n")
	git(t, "add", "-A")
	git(t, "commit", "-q", "-m", "filtered")
	for _, name := range []string{"pkg/lines.yaml", "pkg/upper.yaml"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(1100 * time.Millisecond) // git trusts no file of the second in which it wrote the index
	git(t, "checkout", "-q", "--", "pkg")
	for name, want := range map[string]string{"pkg/lines.yaml": "a: b\r\n", "pkg/upper.yaml": "A: B\n"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Fatalf("%s is %q, %v", name, text, err)
		}
	}
	if err := commit("pkg", "filtered"); err != nil {
		t.Error(err)
	}
	if status := git(t, "status", "--porcelain"); status != "" {
		t.Errorf("git status says\n%s", status)
	}
	write(t, "pkg/upper.yaml", "A: C\n")
	if err := commit("pkg", "changed"); err == nil || !strings.HasPrefix(err.Error(), "pkg/upper.yaml has uncommitted changes, and a render reads it") {
		t.Errorf("a change of a person: %v", err)
	}
}

// TestRepacked: after git gc, objects are found in packs that were not there before.
func TestRepacked(t *testing.T) {
	repository(t)
	git(t, "gc", "-q")
	w, err := worktree.Open("pkg")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	look := func() {
		t.Helper()
		if err := w.Repair(); err != nil {
			t.Fatal(err)
		}
		head, err := w.Head()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tree(head); err != nil {
			t.Errorf("after git gc: %v", err)
		}
	}
	look()
	git(t, "commit", "-q", "-m", "a person's")
	git(t, "gc", "-q")
	look()
}

// TestUnreadable: a commit that was interrupted stays to be finished while it cannot be read.
func TestUnreadable(t *testing.T) {
	repository(t)
	if err := commit("pkg", "one"); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(git(t, "rev-parse", "HEAD"))
	note := ".git/poolwright-index-" + head // as a kill leaves it
	object := ".git/objects/" + head[:2] + "/" + head[2:]
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	write(t, note, "")
	if err := os.Chmod(object, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, object, "no object")
	if err := commit("pkg", "one"); err == nil {
		t.Error("a commit that cannot be read is no error")
	}
	if _, err := os.Stat(note); err != nil {
		t.Errorf("what is to be finished is forgotten: %v", err)
	}
	write(t, object, string(data))
	if err := os.Remove("pkg/rendered/a.yaml"); err != nil {
		t.Fatal(err)
	}
	git(t, "fsck")
	if err := commit("pkg", "two"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(note); err == nil {
		t.Error("what was finished is still noted")
	}
}
