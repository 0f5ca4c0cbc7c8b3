package checks

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// TestCEL runs every health check of Flux over its table.
func TestCEL(t *testing.T) {
	verdicts := map[string]status.Status{
		"current": status.CurrentStatus, "progressing": status.InProgressStatus, "degraded": status.InProgressStatus,
		"failed": status.FailedStatus, "suspended": status.InProgressStatus,
	}
	reader := statusReader(t)
	for _, c := range checks() {
		t.Run(c.kind, func(t *testing.T) {
			if !reader.Supports(schema.GroupKind{Group: c.group, Kind: c.kind}) {
				t.Fatal("Flux is told nothing of this kind")
			}
			for _, r := range c.rows(t) {
				got := read(t, reader, r.Object)
				if r.Object["status"] == nil && missing(got) {
					got.Status = status.InProgressStatus
				}
				want := verdicts[cmp.Or(r.Flux, r.Want)]
				if got.Status != want {
					t.Errorf("%s: %s (%v) instead of %s", r.Name, got.Status, got.Error, want)
				}
			}
		})
	}
}

// TestCELNonsense holds that what is not understood is never taken for the end of
// waiting: neither current nor failed without the words that say so. Records are
// current until something says otherwise.
func TestCELNonsense(t *testing.T) {
	reader := statusReader(t)
	for _, c := range checks() {
		t.Run(c.kind, func(t *testing.T) {
			for _, r := range c.rows(t) {
				spoilt(r.Object, func(object map[string]any) {
					if s, ok := object["status"].(map[string]any); ok && len(s) > 0 {
						return // what is left of the status may well say so
					}
					object["apiVersion"], object["kind"] = c.group+"/v1", c.kind
					got := read(t, reader, object).Status
					if got == status.CurrentStatus && !c.record() || got == status.FailedStatus {
						t.Errorf("%s: %v: %s", r.Name, object, got)
					}
				})
			}
		})
	}
}

// missing reports whether the expressions found no status, which no expression can
// ask for without an error: Flux takes the error for unknown, and waits.
func missing(s *event.ResourceStatus) bool {
	return s.Status == status.UnknownStatus && s.Error != nil && strings.Contains(s.Error.Error(), "no such attribute(s): status.")
}

// TestExamples holds that the expressions of the examples are those of deploy/, and
// are there for each kind that they apply and Flux does not know.
func TestExamples(t *testing.T) {
	known := map[string]kustomize.CustomHealthCheck{}
	for _, e := range expressions(t) {
		known[e.Kind] = e
	}
	files, err := filepath.Glob("../../examples/*/flux/sync.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no examples", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, kustomization, _ := strings.Cut(string(text), "\n---\n")
		var object struct {
			Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
		}
		if err := yaml.Unmarshal([]byte(kustomization), &object); err != nil {
			t.Fatal(err)
		}
		got, want := map[string]bool{}, map[string]bool{}
		for _, e := range object.Spec.HealthCheckExprs {
			got[e.Kind] = true
			if e != known[e.Kind] {
				t.Errorf("%s: %s is judged otherwise than in deploy/flux/health", file, e.Kind)
			}
		}
		objects := rendered(t, filepath.Join(filepath.Dir(file), "../rendered"))
		volumes := filepath.Join(filepath.Dir(file), "../volumes") // what a person wrote to be applied
		if _, err := os.Stat(volumes); err == nil {
			objects = append(objects, manifests(t, volumes)...)
		}
		for _, r := range objects {
			if !r.local && r.group != "" && !static(r.kind) {
				want[r.kind] = true
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: checks of %v instead of %v", file, got, want)
		}
	}
}

// statusReader is what the Kustomization controller makes of our expressions.
func statusReader(t *testing.T) engine.StatusReader {
	t.Helper()
	construct, err := cel.NewStatusReader(expressions(t))
	if err != nil {
		t.Fatal(err)
	}
	return construct(meta.NewDefaultRESTMapper(nil))
}

func expressions(t *testing.T) []kustomize.CustomHealthCheck {
	t.Helper()
	var patch []struct{ Value []kustomize.CustomHealthCheck }
	readYAML(t, "../../deploy/flux/health/exprs.yaml", &patch)
	if len(patch) != 1 {
		t.Fatalf("exprs.yaml: %d operations instead of one", len(patch))
	}
	return patch[0].Value
}

func read(t *testing.T, reader engine.StatusReader, object map[string]any) *event.ResourceStatus {
	t.Helper()
	// Numbers as a client reads them.
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	// The API server says of every object who wrote what of it.
	writers := []metav1.ManagedFieldsEntry{{Manager: "kustomize-controller", Operation: metav1.ManagedFieldsOperationApply}}
	if status, ok := object["status"].(map[string]any); ok && len(status) > 0 {
		writers = append(writers, metav1.ManagedFieldsEntry{Manager: "operator", Operation: metav1.ManagedFieldsOperationApply, Subresource: "status"})
	}
	u.SetManagedFields(writers)
	got, err := reader.ReadStatusForObject(t.Context(), nil, u)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
