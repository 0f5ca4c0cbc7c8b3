// Package apiserver fills a real API server for the benchmarks.
package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// blockDevices is as much of a definition as it takes to store block devices.
const blockDevices = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "blockdevices.openebs.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for a benchmark"}},
	"spec": {
		"group": "openebs.io", "scope": "Namespaced",
		"names": {"kind": "BlockDevice", "plural": "blockdevices", "singular": "blockdevice"},
		"versions": [{"name": "v1alpha1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]
	}
}`

// api is an API server, and a client of a user who may do everything.
type api struct {
	url    string
	client *http.Client
}

// Populate creates the objects of an inventory in an API server.
func Populate(kubeconfig, inventory string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	a := api{config.Host, client}
	if err := a.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", []byte(blockDevices)); err != nil {
		return err
	}
	if err := a.create("/api/v1/namespaces", []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"openebs"}}`)); err != nil {
		return err
	}
	devices := "/apis/openebs.io/v1alpha1/namespaces/openebs/blockdevices"
	if err := a.await(devices); err != nil {
		return err
	}
	for name, path := range map[string]string{"nodes.yaml": "/api/v1/nodes", "blockdevices.yaml": devices} {
		data, err := os.ReadFile(filepath.Join(inventory, name))
		if err != nil {
			return err
		}
		objects, err := krm.Parse(&document.Source{Name: name, Data: data})
		if err != nil {
			return err
		}
		if err := a.createAll(path, objects[0].Node.Seq("items")); err != nil {
			return err
		}
	}
	return nil
}

func (a api) createAll(path string, items []document.Node) error {
	var workers sync.WaitGroup
	errs := make(chan error, 16)
	for w := range cap(errs) {
		workers.Go(func() {
			for i := w; i < len(items); i += cap(errs) {
				if items[i].Str("kind") == "Node" {
					asKubelet(&items[i])
				}
				if err := a.create(path, document.AppendJSON(nil, &items[i])); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(errs)
	return <-errs
}

// asKubelet adds to a node what a kubelet reports, about as much as a real one.
func asKubelet(n *document.Node) {
	var images []document.Node
	for i := range 40 {
		images = append(images, document.Object(
			document.F("names", document.List(
				document.Text(fmt.Sprintf("registry.example.com/team-%02d/service@sha256:%064x", i, i)),
				document.Text(fmt.Sprintf("registry.example.com/team-%02d/service:v1.%d.0", i, i)))),
			document.F("sizeBytes", document.Int(int64(i+1)<<20))))
	}
	var conditions []document.Node
	for _, c := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		conditions = append(conditions, document.Object(
			document.F("type", document.Text(c)), document.F("status", document.Text("True")),
			document.F("lastHeartbeatTime", document.Text("2026-01-01T00:00:00Z")),
			document.F("lastTransitionTime", document.Text("2026-01-01T00:00:00Z")),
			document.F("reason", document.Text("KubeletReady")),
			document.F("message", document.Text("kubelet is posting ready status"))))
	}
	n.Set("status", document.Object(
		document.F("capacity", document.Object(document.F("cpu", document.Text("64")), document.F("memory", document.Text("263856516Ki")))),
		document.F("conditions", document.List(conditions...)),
		document.F("images", document.List(images...))))
}

func (a api) create(path string, body []byte) error {
	answer, err := a.client.Post(a.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, text)
	}
	return err
}

// await waits until a resource is served.
func (a api) await(path string) error {
	for range 200 {
		answer, err := a.client.Get(a.url + path + "?limit=1")
		if err != nil {
			return err
		}
		var list struct{ Kind string }
		err = json.NewDecoder(answer.Body).Decode(&list)
		answer.Body.Close()
		if err == nil && strings.HasSuffix(list.Kind, "List") {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s is not served", path)
}
