package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestConsole: one line on stdout signs in, the token is in no log, and a signal ends it with 0. A port that is taken
// is a failure.
func TestConsole(t *testing.T) {
	out, in := io.Pipe()
	var talk bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"console", "../../examples/localvolumes", "--listen", "127.0.0.1:0"}, streams{in: strings.NewReader(""), out: in, err: &talk})
		_ = in.Close()
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	link := strings.TrimSpace(line)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+/login\?token=[A-Za-z0-9_-]{43}$`).MatchString(link) {
		t.Errorf("the link is %q", link)
	}
	base, token, _ := strings.Cut(link, "/login?token=")
	request, err := http.NewRequest("GET", base+"/api/v1/overview", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(text), `"specs":{"ok":0,"progressing":4,"error":0}`) {
		t.Errorf("%v %d %s", err, res.StatusCode, text)
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	var failed bytes.Buffer
	taken := strings.TrimPrefix(base, "http://")
	if code := run([]string{"console", "../../examples/localvolumes", "--listen", taken}, streams{in: strings.NewReader(""), out: io.Discard, err: &failed}); code != exitFailed || !strings.Contains(failed.String(), "address already in use") {
		t.Errorf("a port that is taken: %d %s", code, &failed)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, err := lines.ReadString('\n'); err != io.EOF || rest != "" {
		t.Errorf("more on stdout: %q %v", rest, err)
	}
	if code := <-ended; code != exitFine {
		t.Errorf("after a signal: %d\n%s", code, &talk)
	}
	if strings.Contains(talk.String(), token) {
		t.Errorf("the token is in the log:\n%s", &talk)
	}
}
