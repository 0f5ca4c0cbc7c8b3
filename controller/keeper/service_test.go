package keeper_test

import (
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
	start(t, ns, "--leader-elect=false", "--service", "http://"+address)
	k.becomes(t, ns, name, "Published")
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
