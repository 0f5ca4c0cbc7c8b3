// Package worker runs the verbs of a program for the scripts of its tests in processes that are there already:
// to begin one, and to compile the definitions in it, takes seven times as long as a verb.
//
// A script runs the program below client, which hands its arguments, its folder, its environment and its three
// streams to a worker and ends as the verb ends. A worker is a process, because a folder and an environment are
// of a process: it does one verb at a time, with those of the script.
package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	socketVariable  = "POOLWRIGHT_TEST_SOCKET"  // where workers are reached
	programVariable = "POOLWRIGHT_TEST_PROGRAM" // for a client that no worker serves: one of another user
	workerVariable  = "POOLWRIGHT_TEST_WORKER"  // set in a worker
)

// Job is what a client sends, behind its length in four bytes. The streams go with the length.
type Job struct {
	Args, Env []string
	Dir       string
}

// Is reports whether this process is a worker.
func Is() bool { return os.Getenv(workerVariable) != "" }

// Serve does verbs until the process that has started this one ends. run returns the exit code.
func Serve(run func(args []string, in, out, errs *os.File) int) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its other end is closed when the tests end, however they do
		os.Exit(0)
	}()
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		// A client without an answer fails, and says so.
		if err := serve(conn.(*net.UnixConn), run); err != nil {
			fmt.Fprintln(os.Stderr, "test worker:", err)
		}
	}
}

func serve(conn *net.UnixConn, run func(args []string, in, out, errs *os.File) int) error {
	defer func() { _ = conn.Close() }() // the answer is written
	job, streams, err := receive(conn)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range streams {
			_ = f.Close()
		}
	}()
	os.Clearenv()
	for _, pair := range job.Env {
		name, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := os.Chdir(job.Dir); err != nil {
		return err
	}
	code := run(job.Args, streams[0], streams[1], streams[2])
	_, _ = conn.Write([]byte{byte(code)}) // who asked may have been killed
	return nil
}

// receive reads a job and its streams.
func receive(conn *net.UnixConn) (job Job, streams []*os.File, err error) {
	length, rights := make([]byte, 4), make([]byte, syscall.CmsgSpace(3*4))
	n, m, _, _, err := conn.ReadMsgUnix(length, rights)
	if err != nil || n != len(length) {
		return job, nil, errors.Join(err, fmt.Errorf("the length of a job has %d bytes", n))
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) != 1 {
		return job, nil, errors.Join(err, errors.New("a job has no streams"))
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 3 {
		return job, nil, errors.Join(err, fmt.Errorf("a job has %d streams", len(fds)))
	}
	for i, name := range []string{"/dev/stdin", "/dev/stdout", "/dev/stderr"} {
		syscall.CloseOnExec(fds[i])
		streams = append(streams, os.NewFile(uintptr(fds[i]), name))
	}
	text := make([]byte, binary.BigEndian.Uint32(length))
	if _, err := io.ReadFull(conn, text); err != nil {
		return job, streams, err
	}
	return job, streams, json.Unmarshal(text, &job)
}

// Workers are where a script finds them.
type Workers struct {
	Folder  string // of the client
	Socket  string
	Program string

	alive []io.Closer // the standard inputs, which end the workers when they are closed, also as garbage
}

// Serve has a script find the workers.
func (w Workers) Serve(env *testscript.Env) {
	env.Setenv("PATH", w.Folder+string(filepath.ListSeparator)+env.Getenv("PATH"))
	env.Setenv(socketVariable, w.Socket)
	env.Setenv(programVariable, w.Program)
}

// Start starts workers of a program whose TestMain serves (Is, Serve), and builds a client of its name. They end with
// this process. What is made is beside the program, in a folder for the tests alone.
func Start(program string) (w Workers, err error) {
	w = Workers{Program: program, Folder: filepath.Join(filepath.Dir(program), "client"), Socket: filepath.Join(filepath.Dir(program), "socket")}
	if err := os.Mkdir(w.Folder, 0o755); err != nil {
		return w, err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(w.Folder, filepath.Base(program)), "github.com/poolwright/poolwright/test/worker/client")
	if out, err := build.CombinedOutput(); err != nil {
		return w, fmt.Errorf("%w\n%s", err, out)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.Socket, Net: "unix"})
	if err != nil {
		return w, err
	}
	listener.SetUnlinkOnClose(false)
	defer func() { _ = listener.Close() }() // the workers have it
	file, err := listener.File()
	if err != nil {
		return w, err
	}
	defer file.Close()
	// As many scripts run at a time as there are processors, and a script may have a pipe of several verbs,
	// each of which waits for the next.
	for range 3 * runtime.GOMAXPROCS(0) {
		cmd := exec.Command(program)                                         // which starts itself under this name
		cmd.Env = append(os.Environ(), workerVariable+"=1", "HOME=/no-home") // as scripts have it
		cmd.ExtraFiles = []*os.File{file}
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return w, err
		}
		w.alive = append(w.alive, stdin)
		if err := cmd.Start(); err != nil {
			return w, err
		}
	}
	return w, nil
}
