package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

// resourceList writes the package as a function receives it, and the function's
// own configuration for kustomize.
func resourceList(dir, poolwright string) (string, error) {
	var buf bytes.Buffer
	buf.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for _, name := range []string{"cstor.yaml", "inventory/nodes.yaml", "inventory/blockdevices.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		lead := "- "
		for line := range bytes.Lines(data) {
			buf.WriteString(lead)
			buf.Write(line)
			lead = "  "
		}
	}
	function := fmt.Sprintf("apiVersion: poolwright.io/v1alpha1\nkind: RenderConfig\nmetadata:\n  name: poolwright\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: %s}\n", poolwright)
	if err := os.WriteFile(filepath.Join(dir, "function.yaml"), []byte(function), 0o644); err != nil {
		return "", err
	}
	list := dir + ".resourcelist"
	return list, os.WriteFile(list, buf.Bytes(), 0o644)
}

const allocatedPrefix = "allocated: "

// inProcess does one of the jobs to compare with, as a process of its own.
func inProcess(job, file string) {
	data, err := os.ReadFile(file)
	if err == nil {
		switch job {
		case "parse":
			err = parseOnly(data)
		case "kyaml":
			err = framework.Execute(framework.ResourceListProcessorFunc(func(*framework.ResourceList) error { return nil }),
				&kio.ByteReadWriter{Reader: bytes.NewReader(data), Writer: io.Discard})
		default:
			err = fmt.Errorf("no job %q", job)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Fprintf(os.Stderr, "%s%d\n", allocatedPrefix, stats.TotalAlloc)
}

// parseOnly is what any tool pays that reads YAML with the usual library.
func parseOnly(data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
