package apply

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/tool"
)

var plane *controlplane.ControlPlane // one for the whole test binary, see TestMain

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, "../../bin", func(c *controlplane.ControlPlane) error {
		plane = c
		return nil
	}))
}

// TestExamplesApply applies what the examples render to, server-side and
// strictly, against the upstream definitions: nothing is refused, nothing warned
// of, nothing pruned.
func TestExamplesApply(t *testing.T) {
	upstream := tool.Upstream(t, "openebs-cstor.yaml", "openebs-ndm.yaml", "openebs-diskpool.yaml", "csi-snapshot.yaml", "rook-ceph.yaml", "csi-ceph.yaml", "cdi.yaml")
	for _, name := range []string{"openebs", "shop", "rook-ceph"} {
		apply(t, parse(t, "namespace.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n"))[0])
	}
	const own = "../../deploy/crds/" // nobody else defines what the node agent knows beyond MetalK8s
	define(t, append(upstream, own+"volumes.storage.metalk8s.scality.com.yaml", own+"volumegroups.storage.metalk8s.scality.com.yaml"))
	applied := 0
	for _, pattern := range []string{"../../examples/*/rendered/*/*.yaml", "../../examples/*/rendered/*/*/*.yaml", "../../examples/cstor-cloud/commits/*/rendered/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, o := range read(t, file) {
				if o.Annotation(krm.AnnotationLocalConfig) == "true" {
					continue
				}
				stored := apply(t, o)
				if path := lost(o.Node, stored); path != "" {
					t.Errorf("%s: %s: the API server pruned or changed %s", file, o.Ref, path)
				}
				applied++
				if o.Kind == "StorageClass" { // it cannot change, and other tests have one of its name
					t.Cleanup(func() { erase(t, o) })
				}
			}
		}
	}
	t.Logf("%d objects applied to Kubernetes %s", applied, plane.Version)
	if applied < 20 {
		t.Fatal("the examples have more than this to apply")
	}
}

func read(t *testing.T, file string) []*krm.Object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, file, data)
}

func parse(t *testing.T, name string, data []byte) []*krm.Object {
	t.Helper()
	src := &document.Source{Name: name, Data: data}
	objects, err := krm.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func resource(o *krm.Object) string {
	url := plane.URL + "/apis/" + o.APIVersion
	if o.Group() == "" {
		url = plane.URL + "/api/" + o.APIVersion
	}
	if o.Namespace != "" {
		url += "/namespaces/" + o.Namespace
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: o.Kind})
	return url + "/" + plural.Resource + "/" + o.Name
}

// tryApply does a strict server-side apply in the name of a manager.
func tryApply(t *testing.T, manager string, o *krm.Object) (status int, header http.Header, answer []byte) {
	t.Helper()
	body := document.AppendJSON(nil, o.Node)
	request, err := http.NewRequest(http.MethodPatch, resource(o)+"?fieldManager="+manager+"&fieldValidation=Strict&force=true", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	return do(t, request)
}

// apply does a strict server-side apply, and returns what was stored.
func apply(t *testing.T, o *krm.Object) *document.Node {
	t.Helper()
	return applyAs(t, "poolwright-test", o)
}

func applyAs(t *testing.T, manager string, o *krm.Object) *document.Node {
	t.Helper()
	status, header, answer := tryApply(t, manager, o)
	if status >= http.StatusMultipleChoices {
		t.Fatalf("%s is refused: %s", o.Ref, answer)
	}
	// The upstream definitions have defects of their own.
	if warnings := header.Values("Warning"); len(warnings) > 0 && o.Kind != "CustomResourceDefinition" {
		t.Errorf("%s: %s", o.Ref, strings.Join(warnings, "; "))
	}
	return parse(t, "answer", answer)[0].Node
}

func do(t *testing.T, request *http.Request) (int, http.Header, []byte) {
	t.Helper()
	response, err := plane.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, answer
}

// lost names the first field that is not in the stored object as it was sent.
func lost(sent, stored *document.Node) string {
	switch {
	case stored == nil || sent.Kind() != stored.Kind():
		return "."
	case sent.Kind() == document.Scalar && sent.Value() != stored.Value():
		return " (" + sent.Value() + " is now " + stored.Value() + ")"
	}
	for i := range sent.Fields() {
		f := &sent.Fields()[i]
		if path := lost(&f.Value, stored.Get(f.Key)); path != "" {
			return "." + f.Key + path
		}
	}
	for i := range sent.Items() {
		if i >= len(stored.Items()) {
			return fmt.Sprintf("[%d]", i)
		}
		if path := lost(&sent.Items()[i], &stored.Items()[i]); path != "" {
			return fmt.Sprintf("[%d]%s", i, path)
		}
	}
	return ""
}
