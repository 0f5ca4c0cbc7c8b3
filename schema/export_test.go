package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/poolwright/poolwright/schema/document"
)

func TestExport(t *testing.T) {
	s := Load()
	for _, kind := range s.Kinds() {
		for _, name := range Formats() {
			f := Format(name)
			t.Run(kind.Kind+"/"+name, func(t *testing.T) {
				got, err := s.Export(kind.Kind, f)
				if f == CRD && !kind.HasCRD() {
					if err == nil {
						t.Fatal("want an error: this kind has no CustomResourceDefinition of ours")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				again, _ := Load().Export(kind.Kind, f)
				if !bytes.Equal(got, again) {
					t.Error("a second export differs")
				}
				// One kind shows every form; the others are checked by what they must be.
				if kind.Kind == "Storage" {
					golden(t, filepath.Join("testdata", "export", strings.ToLower(kind.Kind)+"."+string(f)), got)
				}
			})
		}
	}
}

func TestExportedCUEStandsAlone(t *testing.T) {
	s := Load()
	for _, kind := range s.Kinds() {
		text, err := s.Export(kind.Kind, CUE)
		if err != nil {
			t.Fatal(err)
		}
		v := cuecontext.New().CompileBytes(text)
		if err := v.Err(); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
		if !v.LookupPath(cue.ParsePath("#" + kind.Kind)).Exists() {
			t.Errorf("%s: the definition is not there", kind.Kind)
		}
	}
}

// A structural schema gives every value one type, and has either properties or
// additionalProperties.
func TestExportedCRDIsStructural(t *testing.T) {
	s := Load()
	for _, kind := range s.Kinds() {
		text, err := s.Export(kind.Kind, CRD)
		if err != nil {
			continue
		}
		docs, err := document.Parse(&document.Source{Name: "crd.yaml", Data: text})
		if err != nil {
			t.Fatal(err)
		}
		root := docs[0].Node.Seq("spec", "versions")[0].Get("schema", "openAPIV3Schema")
		structural(t, kind.Kind, root)
	}
}

func structural(t *testing.T, path string, n *document.Node) {
	t.Helper()
	if n.Str("type") == "" && n.Str("x-kubernetes-int-or-string") == "" && n.Str("x-kubernetes-preserve-unknown-fields") == "" {
		t.Errorf("%s: has no type", path)
	}
	if n.Get("properties") != nil && n.Get("additionalProperties") != nil {
		t.Errorf("%s: has both properties and additionalProperties", path)
	}
	if p := n.Get("properties"); p != nil {
		for i := range p.Fields() {
			structural(t, path+"."+p.Fields()[i].Key, &p.Fields()[i].Value)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner := n.Get(key); inner != nil {
			structural(t, path+"."+key, inner)
		}
	}
}

func TestExportErrors(t *testing.T) {
	s := Load()
	if _, err := s.Export("Storag", CUE); err == nil || !strings.Contains(err.Error(), "CStorClusterConfig") {
		t.Errorf("unknown kind: %v", err)
	}
	if _, err := s.Export("Storage", "xml"); err == nil || !strings.Contains(err.Error(), "jsonschema") {
		t.Errorf("unknown format: %v", err)
	}
}

func TestExportedJSONIsJSON(t *testing.T) {
	s := Load()
	for _, f := range []Format{JSONSchema, OpenAPI} {
		text, err := s.Export("CStorClusterConfig", f)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) {
			t.Errorf("%s: not JSON", f)
		}
	}
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; write it with go test ./schema -update", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from line %d on; look at it with go test ./schema -update and git diff",
			name, bytes.Count(got[:sharedPrefix(string(got), string(want))], []byte("\n"))+1)
	}
}
