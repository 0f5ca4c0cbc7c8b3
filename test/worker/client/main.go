// Command client hands a verb to a worker of package worker, and ends as the verb ends. It is small, so that it
// begins at once.
package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"syscall"
)

// job is worker.Job: that package is too large for a program that is to begin at once.
type job struct {
	Args, Env []string
	Dir       string
}

func main() { os.Exit(ask()) }

func ask() int {
	// A worker has the rights of its user and the limits of its process, and serves nobody with others.
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &files); err != nil {
		return failed(err)
	}
	conn, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return failed(err)
	}
	if limited := files.Cur < 1<<62; limited || syscall.Connect(conn, &syscall.SockaddrUnix{Name: os.Getenv("POOLWRIGHT_TEST_SOCKET")}) != nil {
		program := os.Getenv("POOLWRIGHT_TEST_PROGRAM")
		return failed(syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ()))
	}
	dir, err := os.Getwd()
	if err != nil {
		return failed(err)
	}
	text, err := json.Marshal(job{Args: os.Args[1:], Env: os.Environ(), Dir: dir})
	if err != nil {
		return failed(err)
	}
	if err := syscall.Sendmsg(conn, binary.BigEndian.AppendUint32(nil, uint32(len(text))), syscall.UnixRights(0, 1, 2), nil, 0); err != nil {
		return failed(err)
	}
	for len(text) > 0 {
		n, err := syscall.Write(conn, text)
		if err != nil {
			return failed(err)
		}
		text = text[n:]
	}
	code := make([]byte, 1)
	for {
		switch n, err := syscall.Read(conn, code); {
		case err == syscall.EINTR:
		case err != nil:
			return failed(err)
		case n == 0:
			return failed(syscall.ECONNRESET)
		default:
			return int(code[0])
		}
	}
}

// failed is for what no verb does.
func failed(err error) int {
	_, _ = os.Stderr.WriteString("client of a test worker: " + err.Error() + "\n")
	return 70
}
