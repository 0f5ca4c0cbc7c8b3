package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// kube is a client of a user who may do everything.
type kube struct{ dynamic.Interface }

func connect(kubeconfig string) (kube, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return kube{}, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	return kube{client}, err
}

func (k kube) apply(text string) error {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		return err
	}
	plural, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	_, err := k.Resource(plural).Namespace(u.GetNamespace()).Apply(context.Background(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "bench", Force: true})
	return err
}

// define applies our definitions, and waits until Hydrations are served.
func (k kube) define() error {
	files, err := filepath.Glob("deploy/crds/*.*.*.yaml")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no definitions in deploy/crds: run it in the root of the repository")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = k.apply(string(text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return k.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: storage}}`)
}

// hydrate creates so many Hydrations, one for each branch.
func (k kube) hydrate(git *gitServer, count int) error {
	if err := k.apply(fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: git, namespace: storage}, stringData: {username: %q, password: %q}}`, git.User, git.Password)); err != nil {
		return err
	}
	for i := range count {
		text := fmt.Sprintf(`
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: h%d, namespace: storage}
spec:
  source: {url: "%s", branch: b%d, path: %s, interval: 1m, secretRef: {name: git}}
  publish: {mode: Branch}
  facts: {debounce: 0s}
`, i, git.Repository(), i, path)
		err := k.apply(text)
		for tries := 0; err != nil && i == 0 && tries < 100; tries++ { // the kind may not be served yet
			time.Sleep(200 * time.Millisecond)
			err = k.apply(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// node adds a node.
func (k kube) node(name string) error {
	return k.apply(fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}}`, name, name))
}

// way is a way to an API server that keeps the requests.
type way struct {
	*httptest.Server
	file string // the kubeconfig

	mu    sync.Mutex
	paths []string
}

func newWay(kubeconfig, work string) (*way, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.FlushInterval = -1
	if forward.Transport, err = rest.TransportFor(config); err != nil {
		return nil, err
	}
	w := &way{file: filepath.Join(work, "kubeconfig")}
	w.Server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
		w.mu.Lock()
		w.paths = append(w.paths, req.Method+" "+req.URL.Path)
		w.mu.Unlock()
		forward.ServeHTTP(answer, req)
	}))
	made := api.NewConfig()
	made.Clusters["way"] = &api.Cluster{Server: w.URL}
	made.Contexts["way"] = &api.Context{Cluster: "way"}
	made.CurrentContext = "way"
	return w, clientcmd.WriteToFile(*made, w.file)
}

// Close ends the watches, too.
func (w *way) Close() {
	w.CloseClientConnections()
	w.Server.Close()
}

// take returns the requests since the last call.
func (w *way) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.paths = nil }()
	return w.paths
}
