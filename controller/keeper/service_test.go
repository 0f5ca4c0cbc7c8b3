package keeper_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/poolwright/poolwright/test/gitserver"
	"github.com/poolwright/poolwright/test/tool"
)

// serving is a poolwright serve.
type serving struct {
	cmd *exec.Cmd
	log *log
}

// serve starts one at an address.
func serve(t *testing.T, address string) *serving {
	t.Helper()
	s := &serving{cmd: exec.Command(program, "serve", "--listen", address), log: &log{}}
	s.cmd.Stderr = s.log
	s.cmd.SysProcAttr = tool.DieWithParent()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	await(t, "the service listens", func() bool { return strings.Contains(s.log.String(), "listening on ") })
	return s
}

func (s *serving) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = s.cmd.Wait()
	}
}

// TestService: with --service the package is rendered there, and nothing is published while the service is
// away.
func TestService(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	k.node(t, "n1")
	server := gitserver.New(t, files())
	const ns, name = "served", "prod"
	hydrate(t, k, server, ns, name)
	service := serve(t, "127.0.0.1:0")
	address := regexp.MustCompile(`http://(\S+)`).FindStringSubmatch(service.log.String())[1]
	controller := start(t, ns, "--leader-elect=false", "--service", "http://"+address)
	k.becomes(t, ns, name, "Published")
	checkMetrics(t, regexp.MustCompile(`listening on (\S+)`).FindStringSubmatch(controller.log.String())[1]+"/metrics")
	if !strings.Contains(service.log.String(), "route=/v1/fn code=200") {
		t.Errorf("the service rendered nothing:\n%s", service.log.String())
	}
	if got := server.Show(t, "main", dir+"/rendered/volumetemplate.logs/volume.yaml"); !strings.Contains(got, "n1") {
		t.Errorf("rendered\n%s", got)
	}
	service.stop()
	server.Commit(t, "main", "larger", map[string]string{dir + "/logs.yaml": strings.Replace(template, "1Gi", "2Gi", 1)})
	head := server.Head(t, "main")
	k.reconcile(t, ns, name)
	h := k.becomes(t, ns, name, "ServiceUnavailable")
	if c := h.Status.Condition("Ready"); !strings.HasPrefix(c.Message, "the package was not rendered: "+address+" (--service) cannot be asked: ") || h.Status.Condition("Reconciling").Status != "True" {
		t.Errorf("the condition is %+v", c)
	}
	if server.Head(t, "main") != head {
		t.Error("something was published")
	}
	serve(t, address)
	k.becomes(t, ns, name, "Published")
	if got := server.Show(t, "main", dir+"/rendered/volumetemplate.logs/volume.yaml"); !strings.Contains(got, "2Gi") {
		t.Errorf("rendered\n%s", got)
	}
}

// checkMetrics holds that test/monitoring knows what is exported: all metrics of ours, and what it needs of Go's.
func checkMetrics(t *testing.T, url string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `).FindAllStringSubmatch(string(text), -1) {
		line := found[1]
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(found[2], -1) {
			line += " " + label[1]
		}
		exported[line] = true
	}
	const file = "../../test/monitoring/testdata/metrics.txt"
	known, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(known)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && !exported[line] {
			t.Errorf("%s has %q, which is not exported", file, line)
		}
		delete(exported, line)
	}
	for line := range exported {
		if strings.HasPrefix(line, "poolwright_") {
			t.Errorf("%s lacks %q", file, line)
		}
	}
}
