package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/controlplane"
)

// TestLiveScripts runs the behaviour tests of the verbs that talk to a cluster:
// one after the other, against one real control plane. Beside the usual commands
// a script has these:
//
//	apply PATH...         create or change the objects in files or folders; they are removed after the script
//	dump DIR KIND...      write what the API server answers to a list of each kind of the core group, or KIND.GROUP
//	proxy CONFIG MODE     write a kubeconfig for a server in front of the real one, that hands out lists two
//	                      objects a page, and with the second page of block devices: cut ends the connection
//	                      in the middle, expire says that the list has expired (once), stall creates
//	                      CONFIG.asked and never answers, pass does nothing
func TestLiveScripts(t *testing.T) {
	l := newLiveScripts(t)
	if err := l.apply(t.Context(), []byte(liveBase)); err != nil {
		t.Fatal(err)
	}
	l.applied = nil // for all scripts
	testscript.RunT(oneByOne{t}, testscript.Params{
		Dir:                 "testdata/live",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               l.setup,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"package":  fixture("packages"),
			"snapshot": fixture("snapshots"),
			"apply":    l.applyCommand,
			"dump":     l.dumpCommand,
			"proxy":    l.proxyCommand,
		},
	})
}

// oneByOne keeps scripts that share a cluster from running at the same time.
type oneByOne struct{ *testing.T }

func (oneByOne) Parallel()     {}
func (oneByOne) Verbose() bool { return testing.Verbose() }

func (t oneByOne) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(oneByOne{t}) })
}

// liveBase is what the cluster of all scripts has.
const liveBase = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: blockdevices.openebs.io
spec:
  group: openebs.io
  scope: Namespaced
  names: {kind: BlockDevice, plural: blockdevices}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: openebs
`

type liveScripts struct {
	plane   *controlplane.ControlPlane
	cluster *cluster.Cluster
	applied []func(context.Context) error // undo
	uids    []string                      // of fixtures, each followed by that which the server gave instead
}

func newLiveScripts(t *testing.T) *liveScripts {
	t.Helper()
	l := &liveScripts{plane: controlplane.ForTest(t)}
	l.connect(t)
	return l
}

func (l *liveScripts) connect(t *testing.T) {
	t.Helper()
	var err error
	if l.cluster, err = cluster.Connect(cluster.Options{Kubeconfig: l.plane.Kubeconfig}); err != nil {
		t.Fatal(err)
	}
}

func (l *liveScripts) setup(env *testscript.Env) error {
	env.Defer(func() {
		var failed error
		for _, undo := range l.applied {
			if err := undo(context.Background()); !apierrors.IsNotFound(err) {
				failed = errors.Join(failed, err)
			}
		}
		l.applied, l.uids = nil, nil
		if failed != nil {
			env.T().Fatal(failed)
		}
	})
	for _, who := range []string{"AUTHOR", "COMMITTER"} { // of the commits that scripts make
		env.Setenv("GIT_"+who+"_NAME", "A Person")
		env.Setenv("GIT_"+who+"_EMAIL", "person@example.com")
	}
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("KUBECONFIG", l.plane.Kubeconfig)
	env.Setenv("SERVER", l.plane.URL)
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		return err
	}
	env.Setenv("DEPLOY", deploy)
	return setup(env)
}

func (l *liveScripts) applyCommand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		files := []string{ts.MkAbs(name)}
		if more, err := filepath.Glob(filepath.Join(files[0], "*.yaml")); err == nil && len(more) > 0 {
			files = more
		}
		for _, file := range files {
			ts.Check(l.apply(context.Background(), []byte(ts.ReadFile(file))))
		}
	}
}

func (l *liveScripts) dumpCommand(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	served, err := l.cluster.Served(ctx)
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for _, name := range args[1:] {
		kind, group, _ := strings.Cut(name, ".")
		r, found, err := served.Find(group, kind)
		ts.Check(err)
		if !found {
			ts.Fatalf("%s is not served", name)
		}
		list, err := l.cluster.Dynamic().Resource(r.GVR()).List(ctx, metav1.ListOptions{})
		ts.Check(err)
		data, err := list.MarshalJSON()
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, name+".json"), data, 0o644))
	}
}

// apply creates or changes objects server-side. Once it returns, a definition is served,
// and what a role allows is. Where a fixture gives an object a uid such as uid-p1, that of
// the server takes its place in what is applied after it.
func (l *liveScripts) apply(ctx context.Context, data []byte) error {
	objects, err := krm.Parse(&document.Source{Data: data})
	if err != nil {
		return err
	}
	for _, o := range objects {
		r, err := l.find(ctx, o)
		if err != nil {
			return err
		}
		client := l.cluster.Dynamic().Resource(r.GVR()).Namespace(o.Namespace)
		uid := o.Node.Str("metadata", "uid")
		if uid != "" {
			o.Node.Get("metadata").Delete("uid")
		}
		body, force := []byte(strings.NewReplacer(l.uids...).Replace(string(document.AppendJSON(nil, o.Node)))), true
		options := metav1.PatchOptions{FieldManager: "test", Force: &force}
		made, err := client.Patch(ctx, o.Name, types.ApplyPatchType, body, options)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Ref, err)
		}
		if strings.HasPrefix(uid, "uid-") {
			l.uids = append(l.uids, uid, string(made.GetUID()))
		}
		if o.Node.Get("status") != nil {
			// Not every kind has a status apart.
			_, err := client.Patch(ctx, o.Name, types.ApplyPatchType, body, options, "status")
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s: %w", o.Ref, err)
			}
		}
		l.applied = append(l.applied, func(ctx context.Context) error {
			if err := client.Delete(ctx, o.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			return l.awaitGone(ctx, client, o)
		})
		if err := l.settle(ctx, o.Kind); err != nil {
			return fmt.Errorf("%s: %w", o.Ref, err)
		}
	}
	return nil
}

// settle waits until the API server acts on what was applied.
func (l *liveScripts) settle(ctx context.Context, kind string) error {
	switch kind {
	case "CustomResourceDefinition":
		return l.plane.AwaitServed(ctx)
	case "ClusterRole", "ClusterRoleBinding":
		return l.plane.AwaitAllowed(ctx)
	}
	return nil
}

// awaitGone waits until the finalizers of an object are done.
func (l *liveScripts) awaitGone(ctx context.Context, client dynamic.ResourceInterface, o *krm.Object) error {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if gone, err := l.gone(ctx, client, o); gone || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s is not gone", o.Ref)
}

// gone reports whether an object is, and what it defines.
func (l *liveScripts) gone(ctx context.Context, client dynamic.ResourceInterface, o *krm.Object) (bool, error) {
	if _, err := client.Get(ctx, o.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return false, err
	}
	if o.Kind != "CustomResourceDefinition" {
		return true, nil
	}
	served, err := l.cluster.Served(ctx)
	if err != nil {
		return false, err
	}
	_, found, err := served.Find(o.Node.Str("spec", "group"), o.Node.Str("spec", "names", "kind"))
	return !found && err == nil, nil
}

func (l *liveScripts) find(ctx context.Context, o *krm.Object) (cluster.Resource, error) {
	served, err := l.cluster.Served(ctx)
	if err != nil {
		return cluster.Resource{}, err
	}
	r, found, err := served.Find(o.Group(), o.Kind)
	if err == nil && !found {
		err = fmt.Errorf("%s is not served", o.Ref)
	}
	return r, err
}

func (l *liveScripts) proxyCommand(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: proxy CONFIG cut|expire|stall|pass")
	}
	server := httptest.NewServer(l.proxy(args[1], ts.MkAbs(args[0]+".asked")))
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config := fmt.Sprintf(`{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`, server.URL)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(config), 0o600))
}

func (l *liveScripts) proxy(mode, asked string) http.Handler {
	forward, err := l.plane.Forward()
	if err != nil {
		panic(err)
	}
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("limit") != "" {
			query.Set("limit", "2")
			r.URL.RawQuery = query.Encode()
		}
		if query.Get("continue") == "" || !strings.HasSuffix(r.URL.Path, "/blockdevices") {
			forward.ServeHTTP(w, r)
			return
		}
		switch mode {
		case "cut":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"List","items":[`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "expire":
			expired := false
			once.Do(func() { expired = true })
			if expired {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusGone)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"The provided continue parameter is too old"}`)
				return
			}
			forward.ServeHTTP(w, r)
		case "stall":
			if err := os.WriteFile(asked, nil, 0o600); err != nil {
				panic(err)
			}
			<-r.Context().Done()
		default:
			forward.ServeHTTP(w, r)
		}
	})
}
