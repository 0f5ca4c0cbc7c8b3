package worker

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The program of these tests prints what it has: its process, its arguments, its folder, a variable and its input.
func TestMain(m *testing.M) {
	if Is() {
		fmt.Fprintln(os.Stderr, Serve(say))
		os.Exit(1)
	}
	testscript.Main(m, map[string]func(){"said": func() { os.Exit(say(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }})
}

func say(args []string, in, out, errs *os.File) int {
	dir, _ := os.Getwd()
	text, _ := io.ReadAll(in)
	fmt.Fprintf(out, "%v %s %s %s %s", args, filepath.Base(dir), os.Getenv("SAY"), text, map[bool]string{true: "worker", false: "alone"}[filepath.Base(os.Args[0]) == "said" && len(os.Args) == 1])
	fmt.Fprintln(errs, "talk")
	return len(args)
}

// TestWorker: a verb has the arguments, folder, variables and streams of its caller, who gets its exit code; one with
// limits of its own is not for a worker; and a client that goes ends no worker.
func TestWorker(t *testing.T) {
	program, err := exec.LookPath("said")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Start(program)
	if err != nil {
		t.Fatal(err)
	}
	env := &testscript.Env{Vars: []string{"PATH=" + os.Getenv("PATH")}}
	w.Serve(env)
	dir := filepath.Join(t.TempDir(), "here")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	run := func(script string) string {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.Env = dir, append(env.Vars, "SAY=this")
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%s%v", out, err)
	}
	for range 20 { // each of the workers
		if got, want := run("echo in | said a b"), "[a b] here this in\n workertalk\nexit status 2"; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if got := run("ulimit -f 100; echo in | said a b"); !strings.Contains(got, "here this in\n alonetalk") {
		t.Errorf("with a limit: %q", got)
	}
	if got, want := run("echo 1 | said a | said b | said"), "talk\ntalk\n"; !strings.HasPrefix(got, want) || !strings.Contains(got, "[b] here this [a] here") {
		t.Errorf("a pipe: %q", got)
	}
}
