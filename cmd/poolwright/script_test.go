package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/test/worker"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// Inside the scripts, poolwright is this test binary, at work already (test/worker).
func TestMain(m *testing.M) {
	if worker.Is() {
		function := fn.New(schema.Load(), systems.All()...)
		fmt.Fprintln(os.Stderr, worker.Serve(func(args []string, in, out, errs *os.File) int {
			return guard(errs, func() int {
				return program{streams: streams{in: in, out: out, err: errs}, function: function}.run(args)
			})
		}))
		os.Exit(1)
	}
	testscript.Main(m, map[string]func(){"poolwright": main})
}

// workers are those of all scripts, and the folder of their client.
var workers = sync.OnceValues(func() (worker.Workers, error) {
	program, err := exec.LookPath("poolwright")
	if err != nil {
		return worker.Workers{}, err
	}
	return worker.Start(program)
})

// TestScripts runs the behaviour tests: input, command, standard output and
// standard error in one file each. A bug becomes a script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"package":   fixture("packages"),
			"snapshot":  fixture("snapshots"),
			"operators": operators,
			"serving":   serving,
			"signalled": signalled,
			"request":   request,
		},
	})
}

// fixture is a command of the scripts: NAME DIR copies a fixture into a folder.
func fixture(kind string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: %s NAME DIR", strings.TrimSuffix(kind, "s"))
		}
		ts.Check(copyFixture(kind, args[0], ts.MkAbs(args[1])))
	}
}

// copyFixture copies one of the packages or snapshots in testdata, at the top of the
// repository, into a folder, over what is there.
func copyFixture(kind, name, dir string) error {
	from := filepath.Join("../../testdata", kind, name)
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, below)
		if e.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	})
}

// setup gives scripts the program nobody, which runs its arguments as a user to
// whom permissions mean something, even where the tests run as root.
func setup(env *testscript.Env) error {
	w, err := workers()
	if err != nil {
		return err
	}
	script := "#!/bin/sh\nexec \"$@\"\n"
	if os.Getuid() == 0 {
		script = "#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"\n"
		for _, dir := range []string{w.Folder, env.WorkDir} {
			if err := letIn(dir); err != nil {
				return err
			}
		}
	}
	bin := filepath.Join(env.WorkDir, ".bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	w.Serve(env)
	env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
	env.Setenv("NO_COLOR", "")
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	return os.WriteFile(filepath.Join(bin, "nobody"), []byte(script), 0o755)
}

// letIn opens a temporary folder and those around it to all users, up to the
// one that holds all temporary files, and touches no other.
func letIn(dir string) error {
	for {
		rel, err := filepath.Rel(os.TempDir(), dir)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
		dir = filepath.Dir(dir)
	}
}
