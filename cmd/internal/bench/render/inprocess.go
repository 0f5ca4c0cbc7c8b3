package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/poolwright/poolwright/cmd/internal/bench"
	"github.com/poolwright/poolwright/cmd/internal/kustomize"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// inProcess does one of the jobs as a process of its own, and prints what it
// allocated. input is a ResourceList, or the folder of a package.
func inProcess(job, input string) error {
	jobs := map[string]func(string) error{
		"parse": parseOnly, "kyaml": kyamlFunction, "render": render, "fn": function, "build": build,
	}
	if err := jobs[job](input); err != nil {
		return err
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Fprintf(os.Stderr, "%s%d\n", bench.AllocatedPrefix, stats.TotalAlloc)
	return nil
}

func poolwright() *fn.Function { return fn.New(schema.Load(), systems.All()...) }

func render(dir string) error {
	p, findings, err := folder.Read(folder.Input{Dir: dir, Output: folder.Stdout})
	if err != nil {
		return err
	}
	return failure(append(findings, poolwright().Render(fn.Package{Objects: p.Objects, Output: p.Lock}).Findings...))
}

func function(list string) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	rl, err := krm.ReadResourceList(&document.Source{Name: list, Data: data})
	if err != nil {
		return err
	}
	findings := poolwright().Process(rl)
	if err := rl.Write(io.Discard, findings); err != nil {
		return err
	}
	return failure(findings)
}

func build(dir string) error {
	_, findings, err := kustomize.Build(dir, kustomize.Options{Process: poolwright().Process})
	if err != nil {
		return err
	}
	return failure(findings)
}

func failure(findings []finding.Finding) error {
	for _, f := range findings {
		if f.Severity == finding.Error {
			return errors.New(f.String())
		}
	}
	return nil
}

// kyamlFunction is what a function pays that is written with the usual library.
func kyamlFunction(list string) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	nothing := framework.ResourceListProcessorFunc(func(*framework.ResourceList) error { return nil })
	return framework.Execute(nothing, &kio.ByteReadWriter{Reader: bytes.NewReader(data), Writer: io.Discard})
}

// parseOnly is what any tool pays that reads YAML with the usual library.
func parseOnly(list string) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
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
