package apply

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/cstor/story"
	"github.com/poolwright/poolwright/test/tool"
	"github.com/poolwright/poolwright/test/worker"
)

// TestStoriesApply applies what every story renders, step after step: nothing is refused or
// pruned, and a part of a CStorVolumeConfig changes nothing but its pools.
func TestStoriesApply(t *testing.T) {
	define(t, tool.Upstream(t, "openebs-cstor.yaml", "openebs-ndm.yaml"))
	apply(t, parse(t, "namespace.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: openebs}\n"))[0])
	for name, steps := range tell(t, "*.txtar") {
		t.Run(name, func(t *testing.T) {
			var kept []*krm.Object
			for i, step := range steps {
				for _, o := range parseAll(t, step.Volumes) {
					operate(t, o)
					kept = append(kept, o)
				}
				for _, o := range parseAll(t, step.Manifests) {
					if o.Annotation(krm.AnnotationLocalConfig) == "true" {
						continue
					}
					var stored *document.Node
					if o.Kind == "CStorVolumeConfig" {
						stored = applyPart(t, "poolwright-test", o)
					} else {
						stored = apply(t, o)
					}
					if o.Kind == "PersistentVolumeClaim" {
						bind(t, o)
					}
					if path := lost(o.Node, stored); path != "" {
						t.Errorf("step %d: %s: the API server pruned or changed %s", i+1, o.Ref, path)
					}
					kept = append(kept, o)
				}
				if t.Failed() {
					return
				}
			}
			if t.Logf("%d objects applied in %d steps", len(kept), len(steps)); len(kept) == 0 {
				t.Error("the story applies nothing")
			}
			for _, o := range kept {
				erase(t, o)
			}
		})
	}
}

// tell runs the stories of a pattern, and collects what they apply.
func tell(t *testing.T, pattern string) map[string][]story.Step {
	t.Helper()
	workers, err := worker.Start(testProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(tool.Root(t), "cmd/poolwright/testdata/story", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d stories: %v", pattern, len(files), err)
	}
	told := map[string][]story.Step{}
	var lock sync.Mutex
	t.Run("told", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Files:               files,
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			Setup: func(env *testscript.Env) error {
				workers.Serve(env)
				return story.Setup(env)
			},
			Cmds: story.Commands(func(s story.Step) {
				lock.Lock()
				defer lock.Unlock()
				told[s.Story] = append(told[s.Story], s)
			}),
		})
	})
	return told
}

// testProgram is the program of the tests of cmd/poolwright, which serves the verbs of scripts.
func testProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "poolwright")
	cmd := exec.Command("go", "test", "-vet=off", "-c", "-o", program, "./cmd/poolwright")
	cmd.Dir = tool.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func parseAll(t *testing.T, documents [][]byte) []*krm.Object {
	t.Helper()
	var objects []*krm.Object
	for i, text := range documents {
		objects = append(objects, parse(t, fmt.Sprintf("document %d", i), text)...)
	}
	return objects
}

// erase takes an object away, whoever holds it.
func erase(t *testing.T, o *krm.Object) {
	t.Helper()
	free, err := http.NewRequest(http.MethodPatch, resource(o), strings.NewReader(`{"metadata":{"finalizers":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	free.Header.Set("Content-Type", "application/merge-patch+json")
	gone, err := http.NewRequest(http.MethodDelete, resource(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []*http.Request{free, gone} {
		if status, _, answer := do(t, request); status >= http.StatusMultipleChoices && status != http.StatusNotFound {
			t.Fatal(errors.New(string(answer)))
		}
	}
}

// define has the API server serve upstream definitions.
func define(t *testing.T, files []string) {
	t.Helper()
	for _, file := range files {
		for _, o := range read(t, file) {
			if o.Kind == "CustomResourceDefinition" {
				apply(t, o)
			}
		}
	}
	if err := plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
}
