package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/rook"
)

// operators is a command of the scripts: DIR [FAILURE] puts into the inventory of a package
// what its cluster has once all that is rendered was applied, and the operators of Rook and
// CDI have done what they could.
func operators(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: operators DIR [FAILURE]")
	}
	failed := rook.Failure("")
	if len(args) == 2 {
		failed = rook.Failure(args[1])
	}
	dir := ts.MkAbs(args[0])
	objects, err := applied(filepath.Join(dir, "rendered"))
	ts.Check(err)
	var text bytes.Buffer
	for _, o := range rook.Facts(objects, "rook-ceph", failed) {
		one, err := yaml.Marshal(o)
		ts.Check(err)
		fmt.Fprintf(&text, "---\n%s", one)
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "inventory", "live.yaml"), text.Bytes(), 0o666))
}

// applied reads what an engine applies of a folder of rendered files.
func applied(dir string) ([]rook.Object, error) {
	var objects []rook.Object
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			o := rook.Object{}
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if len(o) > 0 {
				objects = append(objects, o)
			}
		}
		return nil
	})
	return objects, err
}
