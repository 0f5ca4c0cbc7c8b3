package watch_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// kube is a client of somebody who may do everything.
type kube struct {
	dynamic.Interface
	warnings warnings
}

// warnings keeps what the API server warns of.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func newKube(t *testing.T) *kube {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	k := &kube{}
	config.WarningHandler = &k.warnings
	config.QPS = -1
	k.Interface, err = dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var _ rest.WarningHandler = &warnings{}

func (k *kube) of(o *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	r := k.Resource(plural)
	if o.GetNamespace() != "" {
		return r.Namespace(o.GetNamespace())
	}
	return r
}

// apply applies documents server-side and strictly.
func (k *kube) apply(t *testing.T, text string) {
	t.Helper()
	for _, o := range parse(t, text) {
		options := metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict", Force: new(bool)}
		*options.Force = true
		data, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.of(o).Patch(t.Context(), o.GetName(), "application/apply-patch+yaml", data, options); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// status applies the status of documents, through the subresource.
func (k *kube) status(t *testing.T, text string) {
	t.Helper()
	for _, o := range parse(t, text) {
		if _, err := k.of(o).ApplyStatus(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test-status", Force: true}); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "test", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, o := range objects {
		nodes := []*document.Node{o.Node}
		if o.Kind == "Inventory" {
			nodes = nil
			items := o.Node.Seq("items")
			for i := range items {
				nodes = append(nodes, &items[i])
			}
		}
		for _, n := range nodes {
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON(document.AppendJSON(nil, n)); err != nil {
				t.Fatal(err)
			}
			u.SetUID("") // a snapshot has that of another cluster
			all = append(all, u)
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// define applies definitions, and waits until they are served.
func (k *kube) define(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		for _, o := range parse(t, read(t, file)) {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			data, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.of(o).Patch(t.Context(), o.GetName(), "application/apply-patch+yaml", data, metav1.PatchOptions{FieldManager: "test"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	settled(t, plane.AwaitServed)
}

// settled waits until the API server acts on what it was given.
func settled(t *testing.T, await func(context.Context) error) {
	t.Helper()
	if err := await(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func ownDefinitions(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../deploy/crds/*.*.*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions in deploy/crds", err)
	}
	return files
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const patience = 5 * time.Minute // far above what it takes on a busy machine
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// poolwright runs the program to its end.
func poolwright(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), talk.String(), cmd.ProcessState.ExitCode()
}

// running is the program as it goes on.
type running struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, talk   buffer
	read, heard int
}

// buffer is written by the program while the test reads.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(program, args...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.talk
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", r.out.String(), r.talk.String())
		}
	})
	return r
}

var blanks = regexp.MustCompile(" +")

// prints waits until a text is printed after the last that was waited for. How wide
// the columns are does not matter.
func (r *running) prints(text string) {
	r.t.Helper()
	await(r.t, "printed: "+text, func() bool {
		i := strings.Index(blanks.ReplaceAllString(r.out.String(), " ")[r.read:], text)
		if i >= 0 {
			r.read += i + len(text)
		}
		return i >= 0
	})
}

// says waits in the same way for what is said on the standard error.
func (r *running) says(text string) {
	r.t.Helper()
	await(r.t, "said: "+text, func() bool {
		i := strings.Index(r.talk.String()[r.heard:], text)
		if i >= 0 {
			r.heard += i + len(text)
		}
		return i >= 0
	})
}

// interrupt is what Ctrl-C does. The program must end well.
func (r *running) interrupt() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("interrupted: %v\n%s", err, r.talk.String())
	}
}
