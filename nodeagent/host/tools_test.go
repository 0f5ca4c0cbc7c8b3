package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/host"
)

func program(t *testing.T, script string) *host.Tools {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &host.Tools{Root: "/", Folders: []string{dir, "/usr/bin", "/bin"}}
}

func TestRun(t *testing.T) {
	tools := program(t, `echo out; echo "it is broken" >&2; exit 3`)
	result, err := tools.Run(context.Background(), host.Command{Name: "tool"})
	if err != nil || result.Code != 3 || string(result.Stdout) != "out\n" {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := tools.Output(context.Background(), "tool"); err == nil || !strings.Contains(err.Error(), "exit 3: it is broken") {
		t.Errorf("%v", err)
	}
	if _, err := tools.Run(context.Background(), host.Command{Name: "none"}); !errors.Is(err, host.ErrMissing) {
		t.Errorf("%v", err)
	}
}

// TestDeadline: a program that reads is killed when its time is over; one that writes goes on,
// and keeps the lock that it was given.
func TestDeadline(t *testing.T) {
	for _, writes := range []bool{false, true} {
		mine := filepath.Join(t.TempDir(), "pid")
		tools := program(t, "echo $$ >"+mine+"; exec sleep 300")
		tools.Deadline = 500 * time.Millisecond
		lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		_, err = tools.Run(context.Background(), host.Command{Name: "tool", Writes: writes, Files: []*os.File{lock}})
		if !errors.Is(err, host.ErrDeadline) {
			t.Fatalf("%v", err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := os.Open(lock.Name())
		if err != nil {
			t.Fatal(err)
		}
		locked := errors.Is(unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
		if locked != writes {
			t.Errorf("writes %v: the lock is held: %v", writes, locked)
		}
		if writes {
			if err := syscall.Kill(readPID(t, mine), syscall.SIGKILL); err != nil {
				t.Errorf("the program that writes was killed: %v", err)
			}
		}
		_ = again.Close()
	}
}

// readPID waits for a program to say its process: a busy machine may start it only after its deadline.
func readPID(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n")); err == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
	}
	t.Fatal("the program that writes does not run")
	return 0
}
