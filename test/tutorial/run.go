package tutorial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// blockTimeout is far above what any block of a tutorial takes.
const blockTimeout = 10 * time.Minute

// Options of a run.
type Options struct {
	Dir       string   // where the reader starts; empty: a new folder
	Env       []string // NAME=value, beside the environment of the test
	Meanwhile map[string]func(Shell) error
}

// Shell is where the reader stands after the last block.
type Shell struct {
	Dir string
	Env []string
}

// LookPath finds a program as the reader's shell does, "" if there is none.
func (s Shell) LookPath(program string) string {
	for _, e := range s.Env {
		path, found := strings.CutPrefix(e, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			if info, err := os.Stat(filepath.Join(dir, program)); found && err == nil && !info.IsDir() {
				return filepath.Join(dir, program)
			}
		}
	}
	return ""
}

// Run runs the commands of the Markdown file, and fails the test at the first
// block that does not do what the tutorial says.
func Run(t *testing.T, file string, o Options) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := complete(steps, o.Meanwhile); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	shell := Shell{Dir: o.Dir, Env: append(os.Environ(), o.Env...)}
	state := filepath.Join(t.TempDir(), "state")
	for _, s := range steps {
		if s.meanwhile != "" {
			if err := o.Meanwhile[s.meanwhile](shell); err != nil {
				t.Fatalf("%s:%d: %s: %v", file, s.line, s.meanwhile, err)
			}
			continue
		}
		out, code, err := shell.run(t.Context(), s.commands, state)
		switch {
		case err != nil:
			t.Fatalf("%s:%d: %v\n%s", file, s.line, err, out)
		case code != s.exit:
			t.Fatalf("%s:%d: exit %d instead of %d\n%s\n%s", file, s.line, code, s.exit, s.commands, out)
		case s.output != nil && !matches(*s.output, out):
			t.Fatalf("%s:%d: the output is not what the tutorial shows\n%s\nshown:\n%s\nprinted:\n%s", file, s.line, s.commands, *s.output, out)
		}
		t.Logf("%s:%d\n%s%s", file, s.line, s.commands, out)
	}
}

// complete reports a name without a function, and a function without a name.
func complete(steps []step, meanwhile map[string]func(Shell) error) error {
	used := map[string]bool{}
	for _, s := range steps {
		if s.meanwhile == "" {
			continue
		}
		if meanwhile[s.meanwhile] == nil {
			return fmt.Errorf("line %d: nothing is known to happen by the name of %s", s.line, s.meanwhile)
		}
		used[s.meanwhile] = true
	}
	for name := range meanwhile {
		if !used[name] {
			return fmt.Errorf("%s never happens", name)
		}
	}
	return nil
}

// run runs a block in a shell of its own, and remembers where it ended.
func (s *Shell) run(ctx context.Context, commands, state string) (out string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, blockTimeout)
	defer cancel()
	trap := "trap 'code=$?; { pwd; env -0; } >\"$TUTORIAL_STATE\"; exit $code' EXIT\n"
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", trap+commands)
	cmd.Dir = s.Dir
	cmd.Env = append(s.Env, "TUTORIAL_STATE="+state)
	cmd.WaitDelay = 5 * time.Second // a child that was left behind may hold the pipe
	printed, err := cmd.CombinedOutput()
	var exited *exec.ExitError
	if ctx.Err() != nil {
		return string(printed), 0, fmt.Errorf("still running after %s", blockTimeout)
	}
	if err != nil && !errors.As(err, &exited) && !errors.Is(err, exec.ErrWaitDelay) {
		return string(printed), 0, err
	}
	left, err := os.ReadFile(state)
	if err != nil {
		return string(printed), 0, err
	}
	dir, env, _ := strings.Cut(string(left), "\n")
	s.Dir = dir
	s.Env = strings.Split(strings.TrimRight(env, "\x00"), "\x00")
	return string(printed), cmd.ProcessState.ExitCode(), nil
}
