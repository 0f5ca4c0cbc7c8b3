package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/poolwright/poolwright/test/tool"
)

// ErrNotBuilt says that the programs are not there.
var ErrNotBuilt = errors.New("the control plane is not built")

// errEnded says that a program ended by itself.
var errEnded = errors.New("ended")

// readyTimeout is far above the two or three seconds that a start takes.
const readyTimeout = 15 * time.Minute

// ControlPlane is a running control plane.
type ControlPlane struct {
	Kubeconfig string // of a user who may do everything
	Version    string // of the API server, as it says itself
	URL        string
	Client     *http.Client // as that user
	Dir        string       // for what is to go with it

	processes []*process
}

// Start runs a control plane from the programs in bin. Stop ends it. The error
// is ErrNotBuilt if a program is missing.
func Start(bin string) (*ControlPlane, error) {
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			return nil, fmt.Errorf("%w: %s is not in %s; run make control-plane", ErrNotBuilt, program, bin)
		}
	}
	for tries := 5; ; tries-- {
		c, err := startOnce(bin)
		if !errors.Is(err, errEnded) || tries == 1 {
			return c, err
		}
		// With other ports, if these are not free any more. On a busy machine, the API server gives up.
	}
}

func startOnce(bin string) (*ControlPlane, error) {
	dir, err := os.MkdirTemp("", "poolwright-control-plane-")
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{Dir: dir}
	if err := c.start(bin); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(bin string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	ca, err := newAuthority(c.Dir)
	if err != nil {
		return err
	}
	c.URL = "https://127.0.0.1:" + ports[2]
	for user, groups := range map[string][]string{
		"admin": {"system:masters"}, "kube-apiserver": nil, "system:kube-controller-manager": nil,
	} {
		if err := ca.issue(user, user, groups...); err != nil {
			return err
		}
	}
	if c.Kubeconfig, err = ca.kubeconfig("admin", c.URL); err != nil {
		return err
	}
	manager, err := ca.kubeconfig("system:kube-controller-manager", c.URL)
	if err != nil {
		return err
	}
	if c.Client, err = ca.client("admin"); err != nil {
		return err
	}

	etcd := "http://127.0.0.1:" + ports[0]
	peer := "http://127.0.0.1:" + ports[1]
	if err := c.run(bin, "etcd",
		"--data-dir", filepath.Join(c.Dir, "etcd"),
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync", "--heartbeat-interval=50", "--election-timeout=500", "--log-level=warn",
	); err != nil {
		return err
	}
	if err := c.await(http.DefaultClient, etcd+"/health"); err != nil {
		return err
	}
	if err := c.run(bin, "kube-apiserver",
		"--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+ports[2],
		"--tls-cert-file="+ca.path("kube-apiserver.crt"), "--tls-private-key-file="+ca.path("kube-apiserver.key"),
		"--client-ca-file="+ca.path("ca.crt"), "--cert-dir="+filepath.Join(c.Dir, "certs"),
		"--service-account-key-file="+ca.path("sa.pub"), "--service-account-signing-key-file="+ca.path("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", // no kubelet makes a Node ready
		"--enable-priority-and-fairness=false", "--profiling=false", "--allow-privileged=true",
	); err != nil {
		return err
	}
	if err := c.await(c.Client, c.URL+"/readyz"); err != nil {
		return err
	}
	if err := c.run(bin, "kube-controller-manager",
		"--kubeconfig="+manager, "--authentication-kubeconfig="+manager, "--authorization-kubeconfig="+manager,
		"--service-account-private-key-file="+ca.path("sa.key"), "--root-ca-file="+ca.path("ca.crt"),
		"--use-service-account-credentials=true", "--pvclaimbinder-sync-period=1s", "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=0",
		// Without a kubelet no node is ever ready, and this one taints what is not.
		"--controllers=*,-node-lifecycle-controller",
	); err != nil {
		return err
	}
	var version struct{ GitVersion string }
	if err := c.ask(context.Background(), "/version", nil, &version); err != nil {
		return err
	}
	c.Version = version.GitVersion
	return nil
}

// Stop ends the processes that Start began, and removes what they wrote.
func (c *ControlPlane) Stop() error {
	for _, p := range c.processes {
		p.kill()
	}
	return os.RemoveAll(c.Dir)
}

// run starts a program with its log in the folder of the control plane.
func (c *ControlPlane) run(bin, program string, args ...string) error {
	log, err := os.Create(filepath.Join(c.Dir, program+".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Stdout, cmd.Stderr = log, log
	// Much garbage, of which little stays: a fifth of the processor time. The environment may say otherwise.
	cmd.Env = append([]string{"GOGC=400", "GOMEMLIMIT=1GiB"}, os.Environ()...)
	cmd.SysProcAttr = tool.DieWithParent()
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	p := &process{cmd: cmd, log: log, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // it is killed in the end, or its log is read
	}()
	c.processes = append(c.processes, p)
	return nil
}

// process is one of the programs.
type process struct {
	cmd   *exec.Cmd
	log   *os.File
	ended chan struct{}
}

// kill does not ask: the API server takes ten seconds to stop once etcd is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.log.Close()
}

// await polls a health address until it answers, or the program last started ends.
func (c *ControlPlane) await(client *http.Client, url string) error {
	p := c.processes[len(c.processes)-1]
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	for {
		if answers(ctx, client, url) {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s %w: %s", filepath.Base(p.cmd.Path), errEnded, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %s", filepath.Base(p.cmd.Path), readyTimeout, p.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Do does a request, again if its answer was lost: on a busy machine a connection is reset, and that says
// nothing about the object. What is asked has to come to the same if it was done already.
func (c *ControlPlane) Do(request *http.Request) (*http.Response, error) {
	for end := time.Now().Add(readyTimeout); ; time.Sleep(200 * time.Millisecond) {
		response, err := c.Client.Do(request)
		if err == nil || request.Context().Err() != nil || time.Now().After(end) {
			return response, err
		}
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// answers asks once. Whoever has taken the port may never answer.
func answers(ctx context.Context, client *http.Client, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (p *process) tail() string {
	data, _ := os.ReadFile(p.log.Name())
	return strings.TrimSpace(string(data[max(0, len(data)-1500):]))
}

// client makes requests as a user.
func (a *authority) client(user string) (*http.Client, error) {
	cert, err := tls.LoadX509KeyPair(a.path(user+".crt"), a.path(user+".key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &http.Client{
		Timeout:   readyTimeout,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots}},
	}, nil
}

// freePorts asks the kernel for ports on loopback that nobody uses.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
