package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// TestDeployedCRDs holds deploy/crds against the definitions that it is made of.
func TestDeployedCRDs(t *testing.T) {
	const dir = "../../deploy/crds"
	want := map[string][]byte{}
	list := document.List()
	schemas := schema.Load()
	for _, k := range schemas.Kinds() {
		if !k.HasCRD() {
			continue
		}
		var out bytes.Buffer
		if err := exportKind(program{streams: streams{out: &out}}, schemas, k.Kind, string(schema.CRD)); err != nil {
			t.Fatal(err)
		}
		name := k.Plural + "." + k.Group + ".yaml"
		want[name] = out.Bytes()
		list.Add(document.Text(name))
	}
	kustomization := document.Object(
		document.F("apiVersion", document.Text("kustomize.config.k8s.io/v1beta1")),
		document.F("kind", document.Text("Kustomization")),
		document.F("resources", list),
	)
	want["kustomization.yaml"] = document.Append([]byte("# Made by: make generate\n"), &kustomization, 0)
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range want {
		file := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; make generate writes it", err)
		} else if !bytes.Equal(got, data) {
			t.Errorf("%s is not what the definitions say; make generate writes it", file)
		}
	}
	files, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if want[filepath.Base(file)] == nil {
			t.Errorf("%s is of no kind; remove it", file)
		}
	}
}

// TestDeployedCRDsAreProtected: to delete a definition is to delete every object.
func TestDeployedCRDsAreProtected(t *testing.T) {
	files, err := filepath.Glob("../../deploy/crds/*.*.*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"argocd.argoproj.io/sync-options: Prune=confirm,Delete=confirm",
			"kustomize.toolkit.fluxcd.io/prune: disabled",
			"client.lifecycle.config.k8s.io/deletion: detach",
		} {
			if !strings.Contains(string(data), line) {
				t.Errorf("%s: no annotation %s", file, line)
			}
		}
	}
}
