package crds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/controlplane"
)

var plane *controlplane.ControlPlane // one for the whole test binary, see TestMain

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, "../../bin", func(c *controlplane.ControlPlane) error {
		plane = c
		// So many objects, unless the command line asks for another number.
		if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
			if err := flag.Set("rapid.checks", "1000"); err != nil {
				return err
			}
		}
		return install()
	}))
}

// install applies deploy/crds, and waits until the API server serves them. A
// warning or a condition that is not as it should be is an error.
func install() error {
	files, err := filepath.Glob("../../deploy/crds/*.*.*.yaml")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no definitions in deploy/crds: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		objects, err := krm.Parse(&document.Source{Name: file, Data: data})
		if err != nil {
			return err
		}
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + objects[0].Name
		a, err := send(http.MethodPatch, path+"?fieldManager=test&fieldValidation=Strict", asApply, objects[0].Node)
		if err != nil {
			return err
		}
		if a.status >= http.StatusMultipleChoices || len(a.warnings) > 0 {
			return fmt.Errorf("%s: %d %s %s", file, a.status, a.warnings, a.body)
		}
		if err := errors.Join(plane.AwaitServed(context.Background()), healthy(path)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, namespace := range []string{"openebs", "rook-ceph", "b"} {
		body := document.Object(document.F("metadata", document.Object(document.F("name", document.Text(namespace)))))
		if a, err := send(http.MethodPost, "/api/v1/namespaces", asJSON, &body); err != nil || a.status != http.StatusCreated {
			return fmt.Errorf("namespace %s: %v %s", namespace, err, a.body)
		}
	}
	return nil
}

// healthy says which condition of a definition is not as it should be.
func healthy(path string) error {
	a, err := send(http.MethodGet, path, asJSON, nil)
	if err != nil {
		return err
	}
	var crd struct {
		Status struct {
			Conditions []struct{ Type, Reason, Message string }
		}
	}
	if err := json.Unmarshal(a.body, &crd); err != nil {
		return err
	}
	for _, c := range crd.Status.Conditions {
		if c.Type != "NamesAccepted" && c.Type != "Established" {
			return fmt.Errorf("condition %s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}

// answer is what the API server says to one request.
type answer struct {
	status   int
	warnings []string
	body     []byte
}

// What is sent, or wanted.
const (
	asJSON  = "application/json"
	asApply = "application/apply-patch+yaml"
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

// send makes one request. media is the type of what is sent, and where nothing is
// sent, of what is wanted.
func send(method, path, media string, n *document.Node) (answer, error) {
	var body io.Reader
	header := "Accept"
	if n != nil {
		body, header = bytes.NewReader(document.AppendJSON(nil, n)), "Content-Type"
	}
	request, err := http.NewRequest(method, plane.URL+path, body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set(header, media)
	response, err := plane.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Values("Warning"), data}, err
}

// message is the text of a refusal.
func (a answer) message() string {
	var status struct{ Message string }
	if err := json.Unmarshal(a.body, &status); err != nil {
		return string(a.body)
	}
	return status.Message
}

// deployed are the kinds that have a definition in deploy/crds, by name.
func deployed(t *testing.T, schemas *schema.Schemas) map[string]schema.Kind {
	t.Helper()
	kinds := map[string]schema.Kind{}
	for _, k := range schemas.Kinds() {
		if _, err := os.Stat("../../deploy/crds/" + k.Plural + "." + k.Group + ".yaml"); err == nil {
			kinds[k.Kind] = k
		}
	}
	if len(kinds) == 0 {
		t.Fatal("no kind has a definition")
	}
	return kinds
}

// resource is the path of the objects of a kind.
func resource(k schema.Kind, namespace string) string {
	if k.Scope == "Cluster" {
		return "/apis/" + k.APIVersion() + "/" + k.Plural
	}
	return "/apis/" + k.APIVersion() + "/namespaces/" + namespace + "/" + k.Plural
}

// create asks the API server for a strict creation, which it only tries.
func create(t testing.TB, k schema.Kind, n *document.Node) answer {
	t.Helper()
	namespace := n.Str("metadata", "namespace")
	if namespace == "" || strings.ContainsAny(namespace, "/?# ") {
		namespace = "openebs"
	}
	return request(t, http.MethodPost, resource(k, namespace)+"?dryRun=All&fieldValidation=Strict", asJSON, n)
}

// request makes one request, which must be answered.
func request(t testing.TB, method, path, media string, n *document.Node) answer {
	t.Helper()
	a, err := send(method, path, media, n)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
