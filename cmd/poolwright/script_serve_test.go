package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// serving is a command of the scripts: serving LOG FLAG... runs poolwright serve on any port until
// the script ends. Its stderr is in the file LOG once it has ended.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serving LOG FLAG...")
	}
	program, err := exec.LookPath("poolwright")
	ts.Check(err)
	cmd := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir = ts.Getenv("WORK")
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	ended := make(chan error, 1)
	log := ts.MkAbs(args[0])
	go func() {
		rest, _ := io.ReadAll(lines) // what was read is compared
		err := cmd.Wait()
		_ = os.WriteFile(log, fmt.Appendf(nil, "%s%s%v\n", first, rest, err), 0o666)
		ended <- err
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill() // it may have ended
		if err := <-ended; err != nil {
			ts.Logf("poolwright serve: %v", err)
		}
	})
	_, url, found := strings.Cut(strings.TrimSpace(first), "listening on ")
	if err != nil || !found {
		ts.Fatalf("poolwright serve does not listen: %v %s", err, first)
	}
	ts.Setenv("URL", strings.TrimSuffix(url, `"}`))
	ts.Setenv("SERVER", fmt.Sprint(cmd.Process.Pid))
}

// signalled is a command of the scripts: it ends what serving runs by SIGTERM, and waits for its LOG.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: signalled LOG")
	}
	pid, err := strconv.Atoi(ts.Getenv("SERVER"))
	ts.Check(err)
	http.DefaultClient.CloseIdleConnections()
	ts.Check(syscall.Kill(pid, syscall.SIGTERM))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("poolwright serve does not end")
}

// request is a command of the scripts: request FILE METHOD PATH [BODY [HEADER: VALUE]...] writes the
// status, the headers of Poolwright and the body of the answer to FILE.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: request FILE METHOD PATH [BODY [HEADER: VALUE]...]")
	}
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(ts.ReadFile(args[3]))
	}
	req, err := http.NewRequest(args[1], ts.Getenv("URL")+args[2], body)
	ts.Check(err)
	req.Header.Set("Content-Type", "application/yaml")
	for _, h := range args[min(4, len(args)):] {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	ts.Check(err)
	head := res.Status + "\n"
	for _, name := range []string{"Content-Type", "Poolwright-Exit-Code", "Allow"} {
		if value := res.Header.Get(name); value != "" {
			head += name + ": " + value + "\n"
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(head+"\n"+string(text)), 0o666))
}
