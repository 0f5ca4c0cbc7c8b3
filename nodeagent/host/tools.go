package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrMissing says that the machine lacks a program.
var ErrMissing = errors.New("is not on the node")

// ErrDeadline says that a program has not ended in time. One that only reads has been
// killed; one that writes still runs, as killing it could leave worse than waiting does.
var ErrDeadline = errors.New("has not ended in time")

const (
	readDeadline  = 30 * time.Second
	writeDeadline = 5 * time.Minute
	killed        = 2 * time.Second // for a program that was killed to end
	maxOutput     = 32 << 20
)

// DefaultFolders are where programs are looked for: those of common distributions, of
// NixOS, and of the vendors of RAID controllers.
func DefaultFolders() []string {
	return []string{
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
		"/run/current-system/sw/bin", "/opt/MegaRAID/storcli", "/opt/MegaRAID/storcli2",
		"/opt/MegaRAID/perccli", "/opt/MegaRAID/perccli2", "/opt/smartstorageadmin/ssacli/bin",
	}
}

// Tools are the machine's programs.
type Tools struct {
	Root    string   // the machine's /
	Folders []string // where programs are looked for, on the machine
	Enter   bool     // run in the namespaces of process 1
	// Deadline, if not zero, stands for those of reading and of writing programs.
	Deadline time.Duration
	// At, if not nil, is called before each run.
	At func(Command)
}

// Command is one run of a program.
type Command struct {
	Name   string
	Args   []string
	Writes bool
	// Files are open files that the program gets as descriptors 3, 4 and so on. A lock
	// held through one of them is held until the program has ended, whatever becomes of
	// the agent.
	Files []*os.File
}

// String is the command as one would type it.
func (c Command) String() string { return strings.Join(append([]string{c.Name}, c.Args...), " ") }

// Result is what a program answered.
type Result struct {
	Stdout, Stderr []byte
	Code           int
}

// Find is the path of a program on the machine. The error wraps ErrMissing.
func (t *Tools) Find(name string) (string, error) {
	for _, folder := range t.Folders {
		path := filepath.Join(folder, name)
		info, err := os.Stat(filepath.Join(t.Root, path))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
		// A link that leads out of the machine's root when it is followed from here.
		if link, err := os.Lstat(filepath.Join(t.Root, path)); err == nil && link.Mode()&os.ModeSymlink != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s %w: looked in %s", name, ErrMissing, strings.Join(t.Folders, ", "))
}

// Run runs a program. A code that is not zero is no error: what it means is for the
// caller to judge, by what the program printed and by what then is. The error wraps
// ErrMissing or ErrDeadline where it is one of these.
func (t *Tools) Run(ctx context.Context, c Command) (Result, error) {
	if t.At != nil {
		t.At(c)
	}
	line, err := t.Line(c)
	if err != nil {
		return Result{}, err
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{
		"LC_ALL=C", "HOME=/", "LVM_SUPPRESS_FD_WARNINGS=1",
		"PATH=" + strings.Join(t.Folders, ":"),
	}
	cmd.Dir = "/"
	cmd.ExtraFiles = c.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out, errs limited
	cmd.Stdout, cmd.Stderr = &out, &errs
	// A child of the program that keeps its output open must not hold us. Where much else runs, what a
	// program has printed before it ended takes seconds to be read.
	cmd.WaitDelay = 10 * time.Second
	if err := t.start(cmd); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	ended := make(chan struct{})
	var waited error
	go func() {
		waited = cmd.Wait()
		close(ended)
	}()
	timer := time.NewTimer(t.deadline(c))
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		kill(c, cmd, ended)
		return Result{}, fmt.Errorf("%s %w (process %d)", c.Name, ErrDeadline, cmd.Process.Pid)
	case <-ctx.Done():
		kill(c, cmd, ended)
		return Result{}, ctx.Err()
	}
	result := Result{Stdout: out.bytes(), Stderr: errs.bytes(), Code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if waited != nil && !errors.As(waited, &exit) {
		return result, fmt.Errorf("%s: %w", c.Name, waited)
	}
	return result, nil
}

// kill ends a program that only reads. One that waits for a device which does not answer ends when that does:
// it is left alone.
func kill(c Command, cmd *exec.Cmd, ended <-chan struct{}) {
	if c.Writes {
		return
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-ended:
	case <-time.After(killed):
	}
}

// Output is what a program that only reads prints. A code that is not zero is an error
// with what it said.
func (t *Tools) Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	result, err := t.Run(ctx, Command{Name: name, Args: args})
	if err != nil {
		return nil, err
	}
	return result.Stdout, result.Failure(name)
}

// Failure is an error where the code is not zero, with what the program said.
func (r Result) Failure(name string) error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("%s: exit %d: %s", name, r.Code, r.Said())
}

// Said is the first line of what a program complained of.
func (r Result) Said() string {
	for _, text := range [][]byte{r.Stderr, r.Stdout} {
		if line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n"); line != "" {
			return line[:min(len(line), 300)]
		}
	}
	return "it said nothing"
}

func (t *Tools) deadline(c Command) time.Duration {
	switch {
	case t.Deadline > 0:
		return t.Deadline
	case c.Writes:
		return writeDeadline
	}
	return readDeadline
}

// Line is what is run for a command. One that writes gets a unit of its own, where systemd is: kubelet
// kills every process of a pod that it ends, and lvcreate must not die of that. The error wraps
// ErrMissing.
func (t *Tools) Line(c Command) ([]string, error) {
	path, err := t.Find(c.Name)
	if err != nil {
		return nil, err
	}
	line := append([]string{path}, c.Args...)
	if !c.Writes || !t.Enter {
		return line, nil
	}
	if _, err := os.Stat(filepath.Join(t.Root, "run/systemd/system")); err != nil {
		return line, nil
	}
	run, err := t.Find("systemd-run")
	if err != nil {
		return line, nil
	}
	return append([]string{run, "--scope", "--quiet", "--collect", "--slice=system.slice", "--"}, line...), nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := maxOutput - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (l *limited) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.buf.Bytes())
}
